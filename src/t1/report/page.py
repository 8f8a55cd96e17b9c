"""The report: one HTML file that opens without a network."""

import json
import os
import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from t1.arrays import IntArray
from t1.data.atomic import check_target, open_target
from t1.errors import InputError
from t1.fill.filled import Filled
from t1.fill.scorecard import Score
from t1.report.figures import BARS, View, payload, unique_labels

TABLE_ROWS = 300
DRAWN = 12  # series drawn at once; page.js draws the others when they are chosen


def write_report(
    path: str | os.PathLike[str],
    filled: Filled,
    *,
    times: npt.NDArray[Any] | None,
    original_name: str,
    problems: Sequence[str] = (),
    title: str | None = None,
    series: Sequence[IntArray] | None = None,
    understood: Sequence[str] = (),
) -> None:
    """Write the page at once or not at all; `times` (time,) are dates, None for row numbers.

    `series` are the rows of each series of a panel: they are drawn one after the other. `understood` says how
    the table was read.
    """
    if times is not None and (np.asarray(times).dtype.kind != "M" or len(times) != len(filled.values)):
        raise InputError(
            f"expected one datetime64 per row ({len(filled.values)}), got {len(times)} of "
            f"{np.asarray(times).dtype}.\nGive times=None to draw over row numbers."
        )
    view = View.of(filled, times, series)
    figures = payload(view)
    data = json.dumps(figures, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":  # they occur in strings only, and must not end the script
        data = data.replace(char, f"\\u{ord(char):04x}")
    page = _put(
        _asset("page.html"),
        title=escape(_printable(title or f"{original_name}, filled")),
        css=_asset("page.css"),
        script=_asset("page.js"),
        plotly=_asset("plotly-basic.min.js"),
        data=data,
        headline=_headline(filled),
        verdict=escape(filled.scorecard.verdict),
        facts=_facts(view, original_name),
        understood=_understood(understood),
        problems=_problems(view, problems, times is not None),
        map_note=_map_note(figures["map"]["rows"]),
        map_key=_map_key(filled, figures["map"]["rows"]),
        band_key="" if filled.lo is None else '<span class="band">interval</span>',
        scorecard=_scorecard(filled),
        methods=_methods(filled),
        series_note=_series_note(filled),
        drawn=str(DRAWN),
    )
    with open_target(path, option="report") as stream:
        stream.write(
            page.encode("utf-8", errors="replace")
        )  # names may hold lone surrogates, which UTF-8 cannot


def check_report(path: str | os.PathLike[str]) -> None:
    """Refuse at once what could only fail after the work."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(
            f"a report is a web page, and {str(path)!r} is not called like one",
            cure="Give a name that ends in .html; a browser prints it as PDF.",
            option="report",
        )
    check_target(path, option="report")


def _asset(name: str) -> str:
    return (resources.files("t1.report") / name).read_text(encoding="utf-8")


def _put(template: str, **parts: str) -> str:
    """Replace each {{name}} once; what is put in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in str(text))


def _cells(n: int) -> str:
    return f"{n:,} cell{'' if n == 1 else 's'}"


def _headline(filled: Filled) -> str:
    made = int(np.count_nonzero(filled.method >= 0))
    empty = int(np.count_nonzero(np.isnan(filled.values)))
    if not made and not empty:
        return "Nothing was missing: no cell was filled."
    left = f"{_cells(empty)} {'was' if empty == 1 else 'were'} left empty" if empty else "none was left empty"
    return f"{_cells(made)} {'was' if made == 1 else 'were'} filled, {left}."


def _facts(view: View, original_name: str) -> str:
    n, n_vars = view.filled.values.shape
    facts = [_printable(original_name), f"{n:,} rows", f"{n_vars:,} column{'' if n_vars == 1 else 's'}"]
    if view.dated:
        first, last = (view.origin + view.unit * float(view.tick[i]) for i in (0, -1))
        stamps = np.array([first, last]).astype("int64").astype("datetime64[ms]").astype("datetime64[m]")
        facts.append(f"{stamps[0]} to {stamps[1]}".replace("T", " "))
    missing = float(np.mean(~view.filled.observed)) if n * n_vars else 0.0
    facts.append(f"{missing:.1%} of the cells missing")
    return "".join(f"<li>{escape(fact)}</li>" for fact in facts)


def _understood(lines: Sequence[str]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{escape(_printable(line))}</li>" for line in lines)
    return f'<section id="understood"><h2>How the table was read</h2><ul>{items}</ul></section>'


def _problems(view: View, problems: Sequence[str], had_times: bool) -> str:
    found = [_printable(p) for p in problems]
    nothing = [label for label, empty in zip(view.labels, view.empty, strict=True) if empty]
    if nothing:
        more = f" and {len(nothing) - 10} more" if len(nothing) > 10 else ""
        found.append(f"Nothing was observed in {', '.join(nothing[:10])}{more}.")
    if had_times and not view.dated:
        found.append("The times run back and forth or are partly unknown: figures go by row number.")
    if not found:
        return "<p>None were found.</p>"
    return "<ul>" + "".join(f"<li>{escape(p)}</li>" for p in found) + "</ul>"


def _map_key(filled: Filled, rows: int) -> str:
    """Only the states that can occur."""
    words = ["observed", "partly filled" if rows > 1 else "", "mostly filled" if rows > 1 else "filled"]
    words.append("left empty" if np.isnan(filled.values).any() else "")
    return "".join(f'<span class="k{k}">{word}</span>' for k, word in enumerate(words) if word)


def _map_note(rows: int) -> str:
    return f"Each mark stands for up to {rows:,} rows." if rows > 1 else "Each mark is one row."


def _number(x: float | None) -> str:
    return "–" if x is None else f"{x:,.4g}"


def _scorecard(filled: Filled) -> str:
    """An HTML table of the scores, of the columns with the most missing cells where there are many."""
    card = filled.scorecard
    if not card.scores:
        return "<p>There is nothing to score.</p>"
    scores = list(card.scores)
    if len(scores) > TABLE_ROWS:
        most = sorted(range(len(scores)), key=lambda i: -scores[i].missing)[:TABLE_ROWS]
        scores = [scores[i] for i in sorted(most)]
    wide = any(s.coverage is not None for s in scores)
    names = dict(
        zip(unique := list(dict.fromkeys(s.column for s in scores)), unique_labels(unique), strict=True)
    )
    heads = ["Column", "Gap length", "MAE", "MAE of linear", "Against linear", "RMSE", "RMSE of linear"]
    heads += [*(["Coverage"] if wide else []), "Cells to fill", "Cells tested in gaps", "Method"]
    head = "".join(f'<th scope="col"{" class=word" if h == "Method" else ""}>{h}</th>' for h in heads)
    lines, previous = [], None
    for s in scores:
        lines.append(_score_row(s, names[s.column], wide, again=s.column == previous))
        previous = s.column
    note = ""
    if len(scores) < len(card.scores):
        note = f"<p>The {len(scores)} rows with the most cells to fill, of {len(card.scores):,}.</p>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    if any(not s.tested for s in scores):
        note += "<p>Not tested: gaps of this kind could not be rehearsed. Their intervals follow a rule.</p>"
    return f'{note}<div class="scroll" tabindex="0" role="region" aria-label="Scorecard">{table}</div>'


def _score_row(s: Score, label: str, wide: bool, *, again: bool) -> str:
    change, kind = "–", ""
    if np.isfinite(s.ratio):
        gain = s.ratio - 1
        change, kind = ("same", "") if abs(gain) < 0.0005 else (f"{gain:+.1%}".replace("-", "−"), "worse")
        kind = "better" if gain <= -0.0005 else kind
    name = f'<th scope="row" class="{"again" if again else "first"}">{escape(label)}</th>'
    every = ", ".join(f"{method} {_number(mae)}" for method, mae in s.by_method.items())
    row = f"{name}<td>{s.gap.replace('-', '–')}</td>"
    row += f"<td>{_number(s.mae)}</td><td>{_number(s.linear_mae)}</td>"
    row += f'<td class="{kind}">{change}</td><td>{_number(s.rmse)}</td><td>{_number(s.linear_rmse)}</td>'
    if wide:
        row += f"<td>{'–' if s.coverage is None else format(s.coverage, '.0%')}</td>"
    tested = f"{s.cells:,} in {s.events:,}" if s.cells else ""
    tested += "" if s.tested else f"{'; ' if tested else ''}<em>not tested</em>"
    method = f'<td class="word" title="MAE: {escape(every)}">{escape(s.method)}</td>'
    return f"<tr>{row}<td>{s.missing:,}</td><td>{tested}</td>{method}</tr>"


def _methods(filled: Filled) -> str:
    counts = [int(np.count_nonzero(filled.method == k)) for k in range(len(filled.method_names))]
    used = [f"{escape(name)} {n:,}" for name, n in zip(filled.method_names, counts, strict=True) if n]
    if not used:
        return "<p>No cell was filled.</p>"
    columns = int(np.count_nonzero(~filled.observed.all(axis=0)))
    note = f" The {BARS} columns with the most missing cells are drawn." if columns > BARS else ""
    return f"<p>Cells filled by each method or blend: {', '.join(used)}.{note}</p>{_every_method(filled)}"


def _every_method(filled: Filled) -> str:
    """The error of every method that was tried, also of those that fill nothing."""
    tried = filled.scorecard.by_method
    if not tried:
        return ""
    ours = filled.scorecard.scaled_mae
    errors = {**({"this fill": ours} if ours is not None else {}), **tried}
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{_number(error)}</td></tr>'
        for name, error in sorted(errors.items(), key=lambda item: item[1])
    )
    head = '<tr><th scope="col">Method</th><th scope="col">Mean absolute error</th></tr>'
    return (
        "<p>Every method on the same held-out cells, in units of each column's spread:</p>"
        f'<table class="every"><thead>{head}</thead><tbody>{rows}</tbody></table>'
    )


def _series_note(filled: Filled) -> str:
    card = filled.scorecard
    band = ""
    if card.level is not None:
        reached = "untested" if card.coverage is None else f"{card.coverage:.0%} of the held-out cells"
        band = f" Bands that hold the true value: asked {card.level:.0%}, reached {reached}."
    return f"Filled stretches are drawn apart from what was observed.{band}"
