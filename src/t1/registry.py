"""A dict of named things that says "did you mean ...?"."""

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from t1.errors import InputError

T = TypeVar("T")


def did_you_mean(name: object, names: Collection[object], otherwise: str | None = None) -> str:
    """A hint for a wrong name: the nearest right one; where none is near, `otherwise` or all of them."""
    near = nearest_name(name, names)
    if near is not None:
        return f"Did you mean {near!r}?"
    return otherwise or f"Known: {', '.join(map(str, names)) or 'none'}."


def nearest_name(name: object, names: Iterable[object]) -> str | None:
    """The one of `names` that was probably meant; capitals and spaces around it count least."""
    folded: dict[str, str] = {}
    for known in map(str, names):
        folded.setdefault(known.strip().lower(), known)
    near = difflib.get_close_matches(str(name).strip().lower(), folded, n=1, cutoff=0.5)
    return folded[near[0]] if near else None


class Registry(Mapping[str, T]):
    """Names to things of one kind; a wrong name raises an InputError that offers the nearest right one."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def add(self, name: str) -> Callable[[T], T]:
        """Use as a decorator: `@PATTERNS.add("point")`."""

        def register(item: T) -> T:
            if name in self._items:
                raise RuntimeError(f"{self.kind} {name!r} is registered twice")
            self._items[name] = item
            return item

        return register

    def __getitem__(self, name: str) -> T:
        if name in self._items:
            return self._items[name]
        hint = did_you_mean(name, sorted(self._items))
        raise InputError(f"unknown {self.kind} {name!r}.\n{hint}")

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
