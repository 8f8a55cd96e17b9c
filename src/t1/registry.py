"""A dict of named things that says "did you mean ...?"."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from t1.errors import InputError

T = TypeVar("T")


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
        near = difflib.get_close_matches(str(name).lower(), self._items, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(self._items))}."
        raise InputError(f"unknown {self.kind} {name!r}.\n{hint}")

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
