"""The tables and the picture of a study, whatever it compares."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t1.bench import show_attention, show_efficiency, show_variables
from t1.bench.picture import study_picture
from t1.bench.sheet import Sheet
from t1.bench.show_settings import DRAWN
from t1.bench.store import Store
from t1.bench.study import STUDIES
from t1.bench.tables import table

SPECIAL: dict[str, Any] = {
    "efficiency": show_efficiency,
    "grouped-heads": show_efficiency,
    "representation": show_attention,
    "physionet": show_variables,
}


def sheets(study: str, store: Store, *, data: Sequence[str] | None = None, **options: Any) -> list[Sheet]:
    """The tables of a study; `options` are those of `table`, for studies that compare errors."""
    name = STUDIES[study].name
    if name in SPECIAL:
        found: list[Sheet] = SPECIAL[name].tables(store.rows(), data)
        return found
    return [table(name, store.rows(), data=data, **options)]


def draw(study: str, store: Store, path: str | Path, data: Sequence[str] | None = None) -> None:
    """The picture of a study."""
    name = STUDIES[study].name
    if name in DRAWN:
        DRAWN[name](store.rows(), path, data)
    elif name not in SPECIAL:
        study_picture(name, store.rows(), path, data)
    elif SPECIAL[name] is show_efficiency:
        show_efficiency.picture(store.rows(), path, data)
    else:
        SPECIAL[name].picture(store.rows(), path, store, data)
