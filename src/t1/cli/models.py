"""`t1 models`: every system, who made it, and what it costs."""

import argparse
import json
from collections.abc import Sequence
from importlib import resources


def add_models(p: argparse.ArgumentParser) -> None:
    """The one command `t1 models`."""
    p.description = "Every system that t1 bench and t1 impute --method know."
    p.set_defaults(run=_models)


def _models(a: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.table import Table

    from t1.methods.catalog import METHODS, MODELS

    file = resources.files("t1.models").joinpath("costs.json")
    costs = json.loads(file.read_text(encoding="utf-8"))
    table = Table(box=None, pad_edge=False)
    for head in ("name", "system", "family", "parameters", "a step", "small", "a step", "needs"):
        table.add_column(head, justify="right" if head in ("parameters", "a step", "small") else "left")
    for name, method in [*MODELS.items(), *((n, m) for n, m in METHODS.items() if n not in MODELS)]:
        cost = costs["systems"].get(name, {})
        size = _cost(cost.get("paper")) if name in MODELS else ("0", "–")
        title = f"{method.title}, {method.year}" if method.year else method.title
        needs = _needs(method.absent, method.needs)
        table.add_row(name, title, method.family, *size, *_cost(cost.get("small")), needs)
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)
    console.print(
        f"Parameters at 7 variables; a step relative to T1's, batch 16, window 96, one run of "
        f"benchmarks/models.py on {costs['threads']} threads, {costs['date']}."
    )
    papers = {name: f"{method.paper} {method.year}" for name, method in METHODS.items() if method.paper}
    for name, paper in papers.items():
        console.print(f"  {name}: {paper}", highlight=False)
    return 0


def _needs(absent: Sequence[str], needs: Sequence[str]) -> str:
    if absent:
        return f"{', '.join(absent)} (pip install 't1-impute[bench]')"
    return ", ".join(needs) or "nothing"


def _cost(found: dict[str, float] | None) -> tuple[str, str]:
    if found is None:
        return "–", "–"
    return f"{found['parameters']:,}", f"{found['relative_step']:.2g}x"
