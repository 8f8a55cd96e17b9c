"""`python scripts/model_card.py [WEIGHTS] > docs/model-card.md`: the card of pretrained weights as a page."""

import sys
from typing import Any

from t1.weights import read_card

ABOUT = """
## What it is for

It fills gaps in tables of numbers over time, of any width, at any sampling rate, without being trained on them.
`t1 impute`, `t1.impute` and `T1Imputer` use it by default, blend it with simple methods by what a rehearsal on
the table shows, and tune it on the table where there is time. Its quantiles are calibrated on each table before
they are shown as intervals.

## Data and licences

Half of the training steps saw windows of 136 real tables of 26 domains (weather, energy, water, air, traffic,
finance, health, industry, space, ...): public domain or CC0, CC-BY, government open data, UCI (CC-BY 4.0), or
shipped in packages and repositories under an OSI licence; `simbench_*` is ODbL. The catalogue of the corpus
names the source and the licence of each table. The other half saw tables drawn from [a synthetic
prior](synthetic.md). No table of the corpus's held-out part, none of the paper's eleven datasets and nothing of
the bundled sample was trained on: figures on them are zero-shot. Tables hold no names, positions or identifiers
of persons.

## Limits

- It sees 96 rows at a time, the neighbouring periods of each column and what a linear regression of each column,
  learned from the whole table, says. What lies further away, and is neither periodic nor linear, it does not see.
  Longer gaps are filled at a coarser rate.
- Where linear interpolation is nearly exact it is no better; then the rehearsal leaves the gap to linear
  interpolation.
- Values are numbers on an even clock. Events, categories and text are none; angles and counters are handled
  around it.
- It was trained on the tables that were there: domains and shapes unlike them may be filled worse than the
  figures say. The scorecard of each fill says how well it went on that table.
"""
TITLES = {"network": "The network", "trained": "How it was trained", "figures": "Figures"}


def main(paths: list[str]) -> None:
    print(page(read_card(paths[0] if paths else None)), end="")


def page(card: dict[str, Any]) -> str:
    lines = [
        "# Model card: the pretrained T1",
        "",
        f"{card['parameters']:,} parameters, version {card['version']}, sha256 `{card['sha256']}`.",
        "",
    ]
    lines += [ABOUT.strip(), ""]
    for part, title in TITLES.items():
        lines += [f"## {title}", "", *rows(card[part]), ""]
    return "\n".join(lines)


def rows(part: dict[str, Any], above: str = "") -> list[str]:
    """A table of names and values; what is nested gets names with dots."""
    lines = [] if above else ["| | |", "|---|---|"]
    for name, value in part.items():
        if isinstance(value, dict):
            lines += rows(value, f"{above}{name}.")
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            lines.append(f"| {above}{name} | {shown} |")
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
