"""`t1 explain plant.csv --column flow --at "2024-03-01 12:00"`: what a fill was taken from."""

import argparse
import json
import sys
from pathlib import Path

from t1.cli.interrupt import interruptible
from t1.cli.shared_flags import add_learning, add_reading, fit_options, reading_options


def add_explain(p: argparse.ArgumentParser) -> None:
    p.description = (
        "Show from which columns and which rows one fill was taken: the cell is filled again without each of "
        "them, and what counts is how far the fill moves. Nothing is written but what is asked for."
    )
    p.set_defaults(run=_explain)
    p.add_argument("input", help="a .csv, .csv.gz, .tsv, .xlsx or .parquet file, or - for a pipe")
    p.add_argument("--column", required=True, metavar="COL", help="the column of the fill")
    p.add_argument("--at", required=True, metavar="TIME", help="its time stamp, or the row (the first is 0)")
    p.add_argument("--series", metavar="ID", help="which series, where there are several")
    add_reading(p)
    fill = p.add_argument_group("filling")
    fill.add_argument("--method", help="one for all: linear, seasonal, regression, t1, ... (t1 models)")
    fill.add_argument("--model", metavar="FOLDER", help="a folder that t1 train wrote: nothing is learned")
    add_learning(fill)
    tell = p.add_argument_group("telling")
    tell.add_argument("--picture", metavar="FILE", help="draw it: .svg, .png or .pdf")
    tell.add_argument("--table", metavar="FILE", help="write all numbers: .json, or the table as .csv")


def _explain(a: argparse.Namespace) -> int:
    from t1.data.atomic import check_target, open_target

    for target in filter(None, (a.picture, a.table)):  # told before time is spent
        check_target(target)
    if a.picture:
        from t1.drawing import check_picture

        check_picture(a.picture)
    with interruptible("explaining the best so far") as should_stop:
        from t1.explaining import explain_file
        from t1.progress import progress_line

        with progress_line("T1 learns") as on_progress:
            found = explain_file(
                a.input,
                a.column,
                a.at,
                series=a.series,
                reading=reading_options(a),
                options=fit_options(a),
                model=a.model,
                on_progress=on_progress,
                should_stop=should_stop,
            )
    print(found.to_text())
    if a.picture:
        found.picture(a.picture)
        print(f"picture: {Path(a.picture).resolve()}", file=sys.stderr)
    if a.table:
        with open_target(a.table) as stream:
            if str(a.table).endswith(".csv"):
                found.table.to_csv(stream, index=False)
            else:
                stream.write(json.dumps(found.to_dict(), indent=1, allow_nan=False).encode())
        print(f"table: {Path(a.table).resolve()}", file=sys.stderr)
    return 0
