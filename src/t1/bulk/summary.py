"""What became of many files: as JSON, and as one HTML page with the worst columns first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from t1.bulk.files import FileOutcome
from t1.bulk.record import PAGE, SUMMARY
from t1.data.atomic import open_target
from t1.durations import duration

MOST_ROWS = 500  # of columns on the page; the JSON has all
HEADS = ("file", "column", "missing", "error / spread", "error", "linear's error", "methods", "not tested")
STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;
background:#fff}table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;
border-bottom:1px solid #d0d7de;vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
h2{margin-top:2rem}pre{white-space:pre-wrap;margin:0;font:inherit}.bad{color:#a40e26}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}th,td{border-color:#30363d}.bad{color:#ff7b72}}"""


def summarise(outcomes: Sequence[FileOutcome], seconds: float) -> dict[str, Any]:
    """All that is known, as JSON can hold it; `columns` from the worst to the best, untested ones last."""
    counts = Counter(outcome.how for outcome in outcomes)
    columns = [
        {"file": outcome.name, **column}
        for outcome in outcomes
        for column in outcome.facts.get("columns", [])
    ]
    return {
        "files": len(outcomes),
        "filled": counts["filled"],
        "skipped": counts["was filled"],
        "failed": counts["failed"],
        "cells_filled": sum(outcome.facts.get("filled", 0) for outcome in outcomes),
        "seconds": round(seconds, 3),
        "failures": {outcome.name: str(outcome.error) for outcome in outcomes if outcome.error is not None},
        "columns": sorted(columns, key=_badness),
        "by_file": {
            outcome.name: {key: value for key, value in outcome.facts.items() if key != "columns"}
            for outcome in outcomes
            if outcome.facts
        },
    }


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write both beside the fills; names that begin with _ are skipped by readers of Parquet datasets."""
    with open_target(folder / SUMMARY) as stream:
        stream.write(json.dumps(summary, indent=1, allow_nan=False).encode())
    with open_target(folder / PAGE) as stream:
        stream.write(page(summary).encode(errors="replace"))


def headline(summary: Mapping[str, Any]) -> str:
    """One sentence about all files."""
    parts = [f"{summary['filled']:,} of {summary['files']:,} files filled"]
    if summary["skipped"]:
        parts.append(f"{summary['skipped']:,} were filled already")
    if summary["failed"]:
        parts.append(f"{summary['failed']:,} failed")
    return f"{', '.join(parts)}; {summary['cells_filled']:,} cells, {duration(summary['seconds'])}"


def page(summary: Mapping[str, Any]) -> str:
    """One page that needs nothing else: what failed, then the columns, the worst first."""
    failures = summary["failures"]
    parts = [f"<h1>{escape(headline(summary))}</h1>"]
    if failures:
        rows = ((name, f"<pre>{escape(why)}</pre>") for name, why in failures.items())
        parts += ['<h2 class="bad">Failed</h2>', _table(("file", "why"), ((escape(n), w) for n, w in rows))]
    columns = summary["columns"]
    shown = columns[:MOST_ROWS]
    parts += [
        "<h2>Columns, the worst first</h2>",
        "<p>The error is the mean absolute error on held-out cells, in the column's own units; beside it in units of "
        "the column's standard deviation, by which columns are sorted.</p>",
        _table(HEADS, map(_row, shown), numbers=(2, 3, 4, 5, 7)),
    ]
    if len(columns) > len(shown):
        parts.append(f"<p>{len(columns) - len(shown):,} better ones are in {SUMMARY}.</p>")
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Many files, filled</title>'
        f"<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _badness(column: Mapping[str, Any]) -> tuple[bool, float, str, str]:
    error = column["relative_error"]
    return error is None, -(error or 0.0), column["file"], column["column"]


def _row(column: Mapping[str, Any]) -> list[str]:
    return [
        escape(" · ".join(column[key] for key in ("file", "series") if key in column)),
        escape(column["column"]),
        f"{column['missing']:,} ({column['share_missing']:.1%})",
        _number(column["relative_error"], ".3f"),
        _number(column["mae"]),
        _number(column["linear_mae"]),
        escape(column["methods"]),
        f"{column['untested_cells']:,}",
    ]


def _number(x: float | None, how: str = ".4g") -> str:
    return "–" if x is None else format(x, how)


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]], numbers: Sequence[int] = ()) -> str:
    def line(cells: Iterable[str], tag: str) -> str:
        kinds = (' class="n"' if k in numbers else "" for k in range(len(heads)))
        return "<tr>" + "".join(f"<{tag}{k}>{c}</{tag}>" for k, c in zip(kinds, cells, strict=True)) + "</tr>"

    return "\n".join(
        [
            "<table><thead>",
            line(heads, "th"),
            "</thead><tbody>",
            *(line(r, "td") for r in rows),
            "</tbody></table>",
        ]
    )
