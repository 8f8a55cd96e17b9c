"""A worker process: it waits for work on a pipe, and ends when the server does.

Work runs in the main thread. A second thread listens: "stop" ends a training early, and a closed pipe (the
server was killed) ends the process at once, so that no job is ever run by two.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from t1.errors import InputError
from t1.serve.problems import Refused

MODELS_KEPT = 8  # in memory


def serve_pipe(pipe: Connection, memory: int, threads: int) -> None:
    """Do what comes through the pipe, one thing after the other; the target of a new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to answer
    _limit(memory)
    os.environ["OMP_NUM_THREADS"] = str(threads)  # before torch is imported
    asked: SimpleQueue[tuple[str, tuple[Any, ...]]] = SimpleQueue()
    stop = threading.Event()

    def listen() -> None:
        while True:
            try:
                kind, arguments = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            if kind == "stop":
                stop.set()
            else:
                stop.clear()
                asked.put((kind, arguments))

    threading.Thread(target=listen, daemon=True).start()
    work = _Desk(lambda event: pipe.send(("event", event)), stop.is_set)
    while True:
        kind, arguments = asked.get()
        try:
            answer = ("done", getattr(work, kind)(*arguments))
        except InputError as error:
            answer = ("refused", (422, error.message, error.cure, error.option, []))
        except Refused as error:
            p = error.problem
            answer = ("refused", (p.status, p.detail, p.cure, p.field, p.errors))
        except MemoryError:
            answer = ("refused", (413, "the table needs more memory than a worker has", None, "file", []))
        except OSError as error:
            answer = ("storage", (error.errno, error.strerror or type(error).__name__))
        except Exception as error:  # of this program: told without the message, which may quote the file
            where = "".join(traceback.format_tb(error.__traceback__)[-3:])
            sys.stderr.write(f"t1 serve: {type(error).__name__} in a worker\n{where}")
            answer = ("broken", type(error).__name__)
        pipe.send(answer)


class _Desk:
    """What a worker can be asked for."""

    def __init__(self, tell: Callable[[dict[str, Any]], None], should_stop: Callable[[], bool]) -> None:
        self.tell, self.should_stop = tell, should_stop
        self.models: OrderedDict[Path, Any] = OrderedDict()

    def warm(self) -> None:
        """Import what is slow to import, and load the shipped weights."""
        import numpy as np

        import t1

        table = np.sin(np.arange(200)[:, None] / [3.0, 5.0])
        table[50:60, 0] = np.nan
        t1.impute(table, budget="fast")

    def job(self, task: Any) -> dict[str, Any]:
        from t1.serve.work import carry_out

        return carry_out(task, self.tell, self.should_stop)

    def look(self, *arguments: Any) -> dict[str, Any]:
        from t1.serve.looking import look_at

        return look_at(*arguments)

    def explain(self, *arguments: Any) -> dict[str, Any]:
        from t1.serve.looking import explain_at

        return explain_at(*arguments)

    def fill(
        self, body: bytes, media: str, answer: str, query: dict[str, Any], most_cells: int, model: Path | None
    ) -> bytes:
        from t1.serve.tables import fill_table

        return fill_table(
            body, media, answer, query, most_cells, None if model is None else self._model(model)
        )

    def _model(self, folder: Path) -> Any:
        from t1.serve.tables import load_model

        if folder not in self.models:
            self.models[folder] = load_model(folder)
            while len(self.models) > MODELS_KEPT:
                self.models.popitem(last=False)
        self.models.move_to_end(folder)
        return self.models[folder]


def _limit(memory: int) -> None:
    """Let the system refuse more memory than that; where it cannot, nothing is limited."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
