"""`t1 bench run | score | table | figure | cost | paper | status`: the paper's experiments."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t1.cli.interrupt import interruptible
from t1.cli.many import add_on
from t1.errors import InputError, T1Error

if TYPE_CHECKING:
    from t1.bench.run import Limits, Outcome
    from t1.bench.study import Run


def add_bench(p: argparse.ArgumentParser) -> None:
    """The commands of `t1 bench`."""
    commands = p.add_subparsers(required=True, metavar="COMMAND")
    _add_run(commands.add_parser("run", help="train and score models on the paper's datasets"))
    _add_score(
        commands.add_parser("score", help="score kept weights again where a scenario lacks; no training")
    )
    _add_table(commands.add_parser("table", help="our figures beside the published ones"))
    _add_figure(commands.add_parser("figure", help="what a study compares, ours and published, as a picture"))
    _add_cost(commands.add_parser("cost", help="accuracy beside training time: a table and a picture"))
    _add_paper(commands.add_parser("paper", help="the tables that the paper prints"))
    _add_status(commands.add_parser("status", help="which runs are done, and how far"))


def _add_run(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Train each model on each dataset and score it in all the dataset's scenarios. What is done is "
        "skipped, what was killed goes on where it was. Without --budget: 300 epochs, or 30 without a better "
        "validation loss."
    )
    p.set_defaults(run=_run)
    p.add_argument(
        "study", metavar="STUDY", help="point, block, natural, ablation, ...; a wrong name lists all"
    )
    p.add_argument("--data", type=_names, default=[], metavar="A,B", help="datasets (default: the study's)")
    p.add_argument("--models", type=_names, default=[], metavar="A,B", help="default: the study's, mostly t1")
    p.add_argument("--seeds", type=_numbers, default=[102], metavar="N,N", help="default: 102")
    p.add_argument("--split", choices=("paper", "disjoint"), default="paper", help="disjoint: no shared rows")
    p.add_argument("--size", choices=("paper", "small"), default="paper", help="small where declared")
    p.add_argument("--recipe", default="paper", help="how to train: paper, plus, or one of the dataset's")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the model")
    p.add_argument("--budget", metavar="TIME", help="train each run at most so long: 30m")
    p.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="what counts the budget; cpu: processor time, which other work on the machine does not shorten",
    )
    p.add_argument("--epochs", type=int, default=300, metavar="N", help="at most so many (default: 300)")
    p.add_argument(
        "--afresh",
        action="store_true",
        help="train with this very --budget though a longer training is there: to compare equal budgets "
        "(always so in studies that compare settings)",
    )
    p.add_argument(
        "--jobs", type=int, metavar="N", help="runs at a time, the threads shared out (default: 1)"
    )
    add_on(p)
    p.add_argument("--dry-run", action="store_true", help="show what would run and how long it may take")
    _add_scoring(p)


def _add_scoring(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "--score-every",
        type=int,
        default=1,
        metavar="N",
        help="score every N-th test window: for systems that take minutes to fill one (default: 1)",
    )
    p.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    _add_store(p)


def _add_score(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Score the weights of all finished trainings in the scenarios that have no row yet, or none of this "
        "version: after a change that concerns scoring alone. Nothing is trained."
    )
    p.set_defaults(run=_score, jobs=None, on=None)
    p.add_argument("--study", help="only its runs, also in what it measures besides: representation")
    p.add_argument("--data", type=_names, default=[], metavar="A,B", help="only these datasets")
    p.add_argument("--models", type=_names, default=[], metavar="A,B", help="only these models")
    _add_scoring(p)


def _add_table(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_table)
    p.add_argument("study", metavar="STUDY")
    p.add_argument("--data", type=_names, default=None, metavar="A,B", help="only these datasets")
    p.add_argument("--models", type=_names, default=None, metavar="A,B", help="only these models")
    p.add_argument("--metric", choices=("mse", "mae", "both"), default=None)
    p.add_argument("--format", default="md", help="md, html, latex or csv")
    _add_store(p)


def _add_figure(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_figure)
    p.add_argument("study", metavar="STUDY")
    p.add_argument("--data", type=_names, default=None, metavar="A,B", help="only these datasets")
    p.add_argument(
        "-o",
        "--output",
        required=True,
        nargs="+",
        metavar="FILE",
        help="one or more .svg, .png or .pdf files",
    )
    _add_store(p)


def _add_cost(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_cost)
    p.add_argument("--data", required=True, metavar="NAME", help="one dataset")
    p.add_argument("--picture", metavar="FILE", help="draw error over training time: .svg or .png")
    p.add_argument("--format", default="md", help="md, html, latex or csv")
    _add_store(p)


def _add_paper(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_paper)
    p.add_argument("table", nargs="?", help="one of them (default: list their names)")
    p.add_argument("--format", default="md", help="md, html, latex or csv")


def _add_status(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_status)
    p.add_argument("--page", metavar="FILE", help="also write the page of all tables, with its pictures")
    _add_store(p)


def _add_store(p: argparse.ArgumentParser) -> None:
    p.add_argument("--store", default="results", metavar="FOLDER", help="where rows are (default: results)")


def _run(a: argparse.Namespace) -> int:
    from t1.bench.run import Limits
    from t1.bench.store import Store
    from t1.bench.study import STUDIES
    from t1.schedule import seconds_of

    study = STUDIES[a.study]
    if a.afresh and a.budget is None:
        raise InputError("--afresh needs a --budget.\nAdd for example --budget 8m.")
    chosen = {key: getattr(a, key) for key in ("data", "models", "seeds", "split", "size", "recipe")}
    if "cost" in study.kinds:
        return _measure(a, chosen)
    runs = study.runs(**chosen, settings=_settings(a.set))
    limits = Limits(
        max_epochs=a.epochs,
        seconds=None if a.budget is None else seconds_of(a.budget),
        clock=a.clock,
        score_every=_every(a),
        afresh=a.afresh or (bool(study.changes) and a.budget is not None),
        measures=study.measures,
    )
    if a.dry_run:
        return _dry_run(runs, Store(a.store), limits, a.device)
    return _carry_out(runs, limits, a)


def _measure(a: argparse.Namespace, chosen: dict[str, Any]) -> int:
    """The study of costs trains nothing."""
    from t1.bench.efficiency import about_seconds, cost_runs, is_measured, measure, time_t1_step
    from t1.bench.store import Store
    from t1.durations import duration

    runs, store = cost_runs(**chosen), Store(a.store)
    if a.dry_run:
        step, total = time_t1_step(), 0.0
        for run in runs:
            done = is_measured(run, store)
            seconds = 0.0 if done else about_seconds(run, step)
            total += seconds
            print(f"{run.id}  {run}: {'done' if done else f'about {duration(seconds)}'}")
        print(f"in all about {duration(total)} on this machine as busy as it is now")
        return 0
    failed = []

    def tell(run: "Run", end: "str | T1Error") -> None:
        if isinstance(end, T1Error):
            failed.append(end)
            print(f"t1: {run}: {end}", file=sys.stderr, flush=True)
        else:
            print(f"{run.id}  {run}: {end}", flush=True)

    with interruptible("keeping what was measured") as should_stop:
        measure(runs, store, tell=tell, should_stop=should_stop)
        if should_stop():
            return 130
    return 1 if failed else 0


def _score(a: argparse.Namespace) -> int:
    from t1.bench.run import Limits
    from t1.bench.store import Store
    from t1.bench.study import STUDIES

    study = None if a.study is None else STUDIES[a.study]
    kept = Store(a.store).kept()
    if study is not None:
        wanted = {run.id for run in study.runs(data=a.data, models=a.models)}
        kept = [run for run in kept if run.id in wanted]
    for option in ("data", "models"):
        known = {run.dataset if option == "data" else run.model for run in kept}
        for name in getattr(a, option):
            if name not in known:
                raise InputError(
                    f"no weights of {name} are kept in {a.store}.\n"
                    f"There are some of: {', '.join(sorted(known)) or 'nothing'}."
                )
    runs = [r for r in kept if r.dataset in (a.data or [r.dataset]) and r.model in (a.models or [r.model])]
    measures = () if study is None else study.measures
    return _carry_out(runs, Limits(score_every=_every(a), train=False, measures=measures), a)


def _every(a: argparse.Namespace) -> int:
    if a.score_every < 1:
        raise InputError(f"--score-every must be at least 1, got {a.score_every}.\nLeave it out for all.")
    return int(a.score_every)


def _carry_out(runs: list["Run"], limits: "Limits", a: argparse.Namespace) -> int:
    from t1.bench.pool import run_all
    from t1.bench.store import Store
    from t1.jobs import executor_of

    ends = list["Outcome | T1Error"]()

    def tell(run: "Run", end: "Outcome | T1Error") -> None:
        ends.append(end)
        if isinstance(end, T1Error):
            print(f"t1: {run}: {end}", file=sys.stderr, flush=True)
        else:
            print(f"{run.id}  {run}: {end}", flush=True)

    with interruptible("keeping each run for the next time") as should_stop:
        run_all(
            runs,
            Store(a.store),
            limits,
            jobs=a.jobs or 1,
            device=a.device,
            on=None if a.on is None else executor_of(a.on, a.jobs),
            tell=tell,
            should_stop=should_stop,
        )
    if "stopped" in ends:
        return 130
    failed = [end for end in ends if isinstance(end, T1Error)]
    return (2 if any(isinstance(end, InputError) for end in failed) else 1) if failed else 0


def _dry_run(runs: list["Run"], store: Any, limits: "Limits", device: str) -> int:
    from t1.bench.estimate import estimate
    from t1.bench.run import is_done

    total, failed = 0.0, False
    for run in runs:
        try:
            if is_done(run, store, limits):
                print(f"{run.id}  {run}: done")
                continue
            cost = estimate(run, limits, device)
        except T1Error as error:  # such as a system whose library is absent; the others can be told
            print(f"t1: {run}: {error}", file=sys.stderr, flush=True)
            failed = True
            continue
        total += cost.total
        print(f"{run.id}  {run}: {cost}", flush=True)
    print(f"in all at most {total / 3600:.1f} h, one after the other, on this machine as busy as it is now")
    return 2 if failed else 0


def _table(a: argparse.Namespace) -> int:
    from t1.bench.sheet import render
    from t1.bench.show import sheets
    from t1.bench.store import Store

    found = sheets(a.study, Store(a.store), data=a.data, models=a.models, metric=a.metric)
    print("\n\n".join(render(sheet, a.format) for sheet in found))
    return 0


def _figure(a: argparse.Namespace) -> int:
    from t1.bench.show import draw
    from t1.bench.store import Store

    for path in a.output:
        draw(a.study, Store(a.store), path, a.data)
        print(f"picture: {Path(path).resolve()}", file=sys.stderr)
    return 0


def _cost(a: argparse.Namespace) -> int:
    from t1.bench.cost import cost_table
    from t1.bench.picture import cost_picture
    from t1.bench.sheet import render
    from t1.bench.store import Store
    from t1.bench.study import dataset_name
    from t1.data.catalog import spec

    rows = Store(a.store).rows()
    name = dataset_name(spec(a.data), a.data)
    print(render(cost_table(rows, name), a.format))
    if a.picture:
        cost_picture(rows, name, a.picture)
        print(f"picture: {Path(a.picture).resolve()}", file=sys.stderr)
    return 0


def _paper(a: argparse.Namespace) -> int:
    from t1.bench.paper import printed, printed_names
    from t1.bench.sheet import render

    print("\n".join(printed_names()) if a.table is None else render(printed(a.table), a.format))
    return 0


def _status(a: argparse.Namespace) -> int:
    from t1.bench.cost import compared
    from t1.bench.page import compared_studies, measured_studies, picture_name, results_page
    from t1.bench.picture import cost_picture
    from t1.bench.sheet import render
    from t1.bench.show import draw
    from t1.bench.store import Store, latest
    from t1.bench.tables import status
    from t1.data.atomic import open_target

    store = Store(a.store)
    rows = store.rows()
    print(render(status(latest(rows), store.claimed), "md"))
    for run_id, title, hours in store.unfinished():
        now = "in training now" if store.claimed(run_id) else "not finished: the same command goes on"
        print(f"\n{run_id}  {title}: {hours:.2f} h of training so far, {now}")
    if a.page:
        page = Path(a.page).resolve()
        with open_target(a.page) as stream:
            stream.write(results_page(rows).encode())
            for name in compared(rows):
                cost_picture(rows, name, page.parent / picture_name(name))
            for name in (*compared_studies(rows), *measured_studies(rows)):
                for kind in ("svg", "png"):
                    draw(name, store, page.parent / f"{name}.{kind}")
        print(f"page: {page}", file=sys.stderr)
    return 0


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[int]:
    return [int(number) for number in _names(text)]


def _settings(given: list[str]) -> dict[str, Any]:
    """KEY=VALUE, the value a number, true, false, a list or else a word."""
    import json

    settings: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise InputError(f"--set {text!r} is not KEY=VALUE.\nGive for example --set n_channels=64.")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return settings
