"""`python scripts/model_card.py [WEIGHTS] > docs/model-card.md`: the card of pretrained weights as a page."""

import sys
from typing import Any

from t1.weights import read_card

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
