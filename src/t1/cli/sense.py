"""`t1 sense plant.csv --budget 20`: where to measure next, and which columns to keep."""

import argparse

from t1.cli.shared_flags import add_reading, reading_options


def add_sense(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Rank the missing cells of a file by how much measuring them would tell about all others, and its "
        "columns by what would be lost without them."
    )
    p.set_defaults(run=_sense)
    p.add_argument("input", help="a .csv, .csv.gz, .tsv, .xlsx or .parquet file, or - for a pipe")
    p.add_argument(
        "--budget", type=int, default=20, metavar="N", help="cells that can be measured (default: 20)"
    )
    p.add_argument(
        "--model", metavar="FOLDER", help="a folder that t1 train wrote (else it is fitted, untrained)"
    )
    p.add_argument("-o", "--output", metavar="FILE", help="write the cells as .csv")
    p.add_argument("--columns-output", metavar="FILE", help="write the columns as .csv")
    add_reading(p)


def _sense(a: argparse.Namespace) -> int:
    from t1.api import sense_file
    from t1.data.atomic import check_target, open_target

    for target in (a.output, a.columns_output):
        if target is not None:
            check_target(target)
    found = sense_file(a.input, reading=reading_options(a), budget=a.budget, model=a.model)
    for target, table in ((a.output, found.cells), (a.columns_output, found.columns)):
        if target is not None:
            with open_target(target) as stream:
                table.to_csv(stream, index=False)
    print(found.to_text())
    return 0
