"""`python scripts/draw_synthetic.py`: make docs/synthetic.md and its pictures from `t1.synthetic`."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from t1.arrays import FloatArray
from t1.synthetic import FACTORS, SENSORS, draw_table
from t1.synthetic.factors import smooth

DOCS = Path(__file__).parents[1] / "docs"
ROWS, WIDTH, HEIGHT = 300, 600, 60  # rows of a picture; pixels of one series in it
PERIOD = 48.0

HEAD = """# Synthetic tables

`t1.synthetic` draws tables from a prior over time series. The pretrained T1 learns from them beside real
tables; they are also handy for tests, because the truth is known in every cell.

```python
import numpy as np
from t1.synthetic import draw_table

table = draw_table(np.random.default_rng(3), n_rows=1000, n_columns=8)
table.values  # (1000, 8), float32, each column with mean 0 and deviation 1, nothing missing
table.period  # the rows after which its seasons repeat, or None
```

A table is drawn in four steps:

1. In 60 % of the tables a period. One to five **factors**, each with the chance given below; with a period
   40 % of them, and at least one, are seasonal.
2. Every column is a sparse, random sum of the factors; a quarter of the columns lag behind by up to 24 rows,
   some are a product or an absolute value. In 12 % of the tables some columns form a chain in which each
   follows the one before late and damped, as gauges along a river do.
3. Every column gets a part of its own: white noise, noise with a memory, a random walk, or none.
4. Every column passes through each **sensor** with the chance given below.

This page and its pictures are made by `scripts/draw_synthetic.py`. A new kind is one function in
`src/t1/synthetic/factors.py` or `sensors.py`; the tests and this page find it by themselves.
"""


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def pages() -> dict[Path, str]:
    """Every file and what belongs into it."""
    files = {}
    lines = [HEAD, "## Whole tables", "", f"Five columns of three tables, {ROWS} rows each.", ""]
    for seed in (1, 12, 6):
        table = draw_table(np.random.default_rng(seed), ROWS, 5)
        files[f"table{seed}"] = picture(table.values.T.astype(np.float64))
        says = f"period {table.period}" if table.period else "no period"
        lines += [f"![A table, {says}](synthetic/table{seed}.svg)", ""]
    lines += [
        "## Factors",
        "",
        f"Three draws of each; where there is a season, its period is {PERIOD:g} rows.",
    ]
    for name, kind in FACTORS.items():
        rng = np.random.default_rng([1, len(files)])
        files[name] = picture(kind.draw(ROWS, rng, PERIOD) for _ in range(3))
        lines += section(
            name, kind.title, kind.chance, "seasonal factors" if kind.seasonal else "other factors"
        )
    lines += [
        "## Sensors",
        "",
        "Above the quantity, a smooth curve with a little noise; below what is recorded.",
    ]
    for name, kind in SENSORS.items():
        rng = np.random.default_rng([3, len(files)])
        quantity = smooth(ROWS, np.random.default_rng(5), 0.0) + 0.05 * rng.normal(size=ROWS)
        files[name] = picture([quantity, kind.draw(quantity, rng)])
        lines += section(name, kind.title, kind.chance, "columns")
    made = {DOCS / "synthetic" / f"{name}.svg": text for name, text in files.items()}
    made[DOCS / "synthetic.md"] = "\n".join(lines).rstrip() + "\n"
    return made


def section(name: str, title: str, chance: float, among: str) -> list[str]:
    return [
        "",
        f"### {name}",
        f"{title} ({chance * 100:.2g} % of {among})",
        "",
        f"![{name}](synthetic/{name}.svg)",
        "",
    ]


def picture(series: Iterable[FloatArray]) -> str:
    """The series (rows,) below each other, each in its own range, as an SVG."""
    lines = []
    for i, x in enumerate(series):
        spread = np.ptp(x) or 1.0
        y = (HEIGHT * i + 4 + (HEIGHT - 8) * (x.max() - x) / spread).round(1)
        at = np.arange(len(x)) * WIDTH / (len(x) - 1)
        points = " ".join(f"{a:g},{b:g}" for a, b in zip(at.round(0), y, strict=True))
        lines.append(f'<polyline fill="none" stroke="#3566a8" stroke-width="1.2" points="{points}"/>')
    size = f'width="{WIDTH}" height="{HEIGHT * len(lines)}"'
    paper = '<rect width="100%" height="100%" fill="white"/>'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', paper, *lines, "</svg>", ""])


if __name__ == "__main__":
    main()
