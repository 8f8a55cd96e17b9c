"""`t1 data list | info | fetch`: the benchmark datasets on the command line."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t1.errors import InputError

if TYPE_CHECKING:
    from t1.data.spec_file import Spec


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands to the parser of `t1 data`."""
    parser.description = "The benchmark datasets: which there are, where they are, and how to get them."
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    p = commands.add_parser("list", help="all datasets, and which are on this machine")
    p.set_defaults(run=_list)
    p = commands.add_parser("info", help="everything about one dataset")
    p.set_defaults(run=_info)
    p.add_argument(
        "name", metavar="NAME", help="a dataset, such as ETTh1, or a .toml file that describes yours"
    )
    p = commands.add_parser("fetch", help="download a dataset and check it")
    p.set_defaults(run=_fetch)
    p.add_argument(
        "name", metavar="NAME", help="a dataset, such as ETTh1, or a .toml file that describes yours"
    )
    p.add_argument("--to", type=Path, metavar="DIR", help="the data folder (else $T1_DATA_DIR, else a cache)")


def _list(a: argparse.Namespace) -> int:
    from t1.data import catalog

    rows = [("name", "variables", "window", "scenarios", "files")]
    for name in catalog.names():
        spec = catalog.spec(name)
        here = "on disk" if _on_disk(spec) else "not here"
        rows.append((name, f"{spec.n_vars}", f"{spec.window}", ", ".join(spec.scenarios), here))
    widths = [max(len(row[j]) for row in rows) for j in range(5)]
    for row in rows:
        cells = [
            cell.rjust(width) if j in (1, 2) else cell.ljust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    return 0


def _on_disk(spec: "Spec") -> bool:
    from t1.data.catalog import find

    try:
        find(spec)
    except InputError:
        return False
    return True


def _info(a: argparse.Namespace) -> int:
    from t1.data import catalog

    spec = catalog.spec(a.name)
    training = spec.training
    facts = {
        "about": spec.about,
        "variables": f"{spec.n_vars}",
        "window": f"{spec.window} steps",
        "scenarios": ", ".join(spec.scenarios),
        "split": _plain(spec.split),
        "units": f"of the {'whole series' if spec.scale == 'series' else 'training rows'}",
        "training": f"learning rate {training.learning_rate:g}, batch {training.batch_size}, "
        f"hides {_plain(training.mask)}",
        "recipes": ", ".join(spec.recipes),
        "reader": f"{spec.reader} {_plain(spec.options)}".strip(),
        "home": spec.home,
        "licence": spec.licence,
    }
    print(spec.name)
    for key, text in facts.items():
        if text:
            print(f"  {key:<10} {text}")
    for file in spec.files:
        print(f"  {'file':<10} {file.path}: {_state(spec, file.path, file.sha256)}")
        if file.url:
            print(f"  {'':<10} {file.url}")
    if not _on_disk(spec):
        print(f"  {'windows':<10} not known without the files: t1 data fetch {spec.source or spec.name}")
        return 0
    data = catalog.load(spec)
    print(
        f"  {'windows':<10} {len(data.train):,} train / {len(data.valid):,} valid / {len(data.test):,} test"
    )
    missing = 1 - data.train.seen.mean()
    print(f"  {'missing':<10} {missing:.2%} of {len(data.train.rows):,} rows")
    if spec.split["kind"] == "window_share":
        print(f"  {'note':<10} neighbouring parts share up to {spec.window - 1} rows (the paper's protocol);")
        print(f"  {'':<10} load(..., split='disjoint') shares none")
    return 0


def _plain(table: Any) -> str:
    return ", ".join(f"{key} {value}" for key, value in table.items())


def _state(spec: "Spec", path: str, known: tuple[str, ...]) -> str:
    from t1.data.catalog import folders
    from t1.data.fetch import checksum

    here = next((folder / path for folder in folders(spec) if (folder / path).is_file()), None)
    if here is None:
        return "not here"
    if not known:
        return f"{here} (no checksum is known)"
    return f"{here} ({'checksum right' if checksum(here) in known else 'ANOTHER CHECKSUM than expected'})"


def _fetch(a: argparse.Namespace) -> int:
    from t1.data.catalog import folders, spec
    from t1.data.fetch import fetch

    chosen = spec(a.name)
    with _bar(chosen.name) as progress:
        files = fetch(chosen, a.to, progress=progress)
    parts = []
    for file in files:
        how = "" if file.downloaded else "was there already, "
        check = (
            "checksum right"
            if file.checked
            else f"NOT CHECKED, no checksum is known; got sha256 {file.sha256}"
        )
        parts.append(f"{file.path} ({how}{check})")
    print(f"{chosen.name}: {'; '.join(parts)}")
    if a.to is not None and a.to.resolve() not in [folder.resolve() for folder in folders(chosen)]:
        print(f"note: to use it, set T1_DATA_DIR={a.to.resolve()}", file=sys.stderr)
    return 0


@contextmanager
def _bar(title: str) -> Iterator[Any]:
    """A progress bar on stderr in the form that pooch wants, or False if stderr is no terminal."""
    if not sys.stderr.isatty():
        yield False
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(30), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)

        class Bar:
            """What pooch calls while it downloads; the size is 0 where the server does not tell it."""

            total = 0

            def update(self, n: int) -> None:
                bar.update(task, total=self.total or None, advance=n)

            def reset(self) -> None:
                bar.update(task, completed=0)

            def close(self) -> None:
                pass

        yield Bar()
