"""`t1 bench table | figure | cost | paper | status`: what is known, without running anything."""

import argparse
import sys
from pathlib import Path


def add_table(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_table)
    p.add_argument("study", metavar="STUDY")
    p.add_argument("--data", type=names, default=None, metavar="A,B", help="only these datasets")
    p.add_argument("--models", type=names, default=None, metavar="A,B", help="only these models")
    p.add_argument("--metric", choices=("mse", "mae", "both"), default=None)
    p.add_argument("--format", default="md", help="md, html, latex or csv")
    add_store(p)


def add_figure(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_figure)
    p.add_argument("study", metavar="STUDY")
    p.add_argument("--data", type=names, default=None, metavar="A,B", help="only these datasets")
    p.add_argument(
        "-o",
        "--output",
        required=True,
        nargs="+",
        metavar="FILE",
        help="one or more .svg, .png or .pdf files",
    )
    add_store(p)


def add_cost(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_cost)
    p.add_argument("--data", required=True, metavar="NAME", help="one dataset")
    p.add_argument("--picture", metavar="FILE", help="draw error over training time: .svg or .png")
    p.add_argument("--format", default="md", help="md, html, latex or csv")
    add_store(p)


def add_paper(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_paper)
    p.add_argument("table", nargs="?", help="one of them (default: list their names)")
    p.add_argument("--format", default="md", help="md, html, latex or csv")


def add_status(p: argparse.ArgumentParser) -> None:
    p.set_defaults(run=_status)
    p.add_argument("--page", metavar="FILE", help="also write the page of all tables, with its pictures")
    add_store(p)


def add_store(p: argparse.ArgumentParser) -> None:
    p.add_argument("--store", default="results", metavar="FOLDER", help="where rows are (default: results)")


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
    from t1.bench.overview import status
    from t1.bench.page import compared_studies, measured_studies, picture_name, results_page
    from t1.bench.picture import cost_picture
    from t1.bench.sheet import render
    from t1.bench.show import draw
    from t1.bench.store import Store, latest
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


def names(text: str) -> list[str]:
    """The words of a list such as ETTh1,Weather."""
    return [name.strip() for name in text.split(",") if name.strip()]
