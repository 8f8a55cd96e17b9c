"""`t1 pretrain CORPUS -o FOLDER`: make the weights that fill any table, and export them."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from t1.cli.interrupt import interruptible
from t1.errors import InputError


def add_pretrain(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Pretrain T1 on a folder of tables and on synthetic ones. The run can be killed and resumed; "
        "torchrun --nproc-per-node N -m t1.cli pretrain ... shares it among N processes."
    )
    p.set_defaults(run=_pretrain)
    p.add_argument("corpus", nargs="?", help="a folder with CATALOG.csv and .npz files (docs/pretrained.md)")
    p.add_argument(
        "-o", "--output", required=True, metavar="FOLDER", help="of the run, or of the exported weights"
    )
    p.add_argument("--resume", action="store_true", help="go on with the run in FOLDER, with its settings")
    p.add_argument(
        "--export", metavar="RUN", help="write the weights of this run's folder, to ship or to use"
    )
    p.add_argument("--figures", metavar="FILE", help="JSON with figures for the card of exported weights")
    budget = p.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, help="end after so many steps")
    budget.add_argument(
        "--budget", metavar="TIME", help="end after so long, all sessions together: 90s, 30m, 10h"
    )
    made = p.add_argument_group("settings of a new run")
    made.add_argument("--start", metavar="WEIGHTS", help="begin with these exported weights, not at random")
    made.add_argument("--seed", type=int)
    made.add_argument("--channels", type=int, help="width of the network (default: 64)")
    made.add_argument("--learning-rate", type=float, metavar="RATE", help="(default: 0.0015)")
    made.add_argument(
        "--rows", type=int, metavar="N", help="windows times variables of a step (default: 128)"
    )
    made.add_argument(
        "--real-share", type=float, metavar="SHARE", help="of steps with real tables (default: 0.5)"
    )
    made.add_argument(
        "--told-share", type=float, metavar="SHARE", help="of steps told by a regression (default: 0.5)"
    )
    made.add_argument(
        "--cooldown", type=float, metavar="SHARE", help="of the budget, at its end (default: 0.25)"
    )
    made.add_argument(
        "--inputs", nargs="*", metavar="NAME", help="distance, roughness, season, relation (all)"
    )


def _pretrain(a: argparse.Namespace) -> int:
    if a.export is not None:
        return _export(a)
    if a.corpus is None:
        raise InputError("no corpus was given", cure="Give a folder of tables, or --export RUN.")
    if a.steps is None and a.budget is None:
        raise InputError("training would never end", cure="Give --steps N or --budget 1h.")
    names = ("seed", "channels", "learning_rate", "rows", "real_share", "told_share", "cooldown", "inputs")
    settings = {name: getattr(a, name) for name in names if getattr(a, name) is not None}
    with interruptible("keeping the run to be resumed") as should_stop:
        from t1.pretrain import pretrain
        from t1.progress import progress_line
        from t1.schedule import seconds_of

        with progress_line("T1 learns") as on_progress:
            result = pretrain(
                a.corpus,
                a.output,
                settings,
                steps=a.steps,
                seconds=None if a.budget is None else seconds_of(a.budget),
                resume=a.resume,
                start=a.start,
                on_progress=on_progress,
                should_stop=should_stop,
            )
    if os.environ.get("RANK", "0") != "0":  # torchrun started several: the first one tells
        return 0
    last = next((r.train_loss for r in reversed(result.history) if r.train_loss is not None), None)
    loss = "" if last is None else f", loss {last:.4f}"
    print(f"{result.steps:,} steps in {result.seconds:.0f} s{loss} (ended by: {result.reason}): {a.output}")
    return 0


def _export(a: argparse.Namespace) -> int:
    from t1.pretrain import export

    figures: dict[str, Any] = {}
    if a.figures is not None:
        try:
            figures = json.loads(Path(a.figures).read_bytes())
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read {a.figures}: {error}", cure="Give a file of JSON.") from None
    print(f"card: {export(a.export, a.output, figures)}")
    return 0
