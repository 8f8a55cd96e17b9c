"""Every trainable model by name; a model's module is imported only when it is asked for."""

import dataclasses
from importlib import import_module
from typing import TYPE_CHECKING, Any

from t1.errors import InputError
from t1.registry import Registry

if TYPE_CHECKING:
    from t1.models.base import Model

# name -> module and class; the class has its config beside it as `<class>.Config`
MODELS: Registry[tuple[str, str]] = Registry("model")
MODELS.add("t1")(("t1.models.t1", "T1"))


def model_class(name: str) -> "type[Model]":
    """The class of that name; an unknown one raises an InputError with the nearest right one."""
    module, attribute = MODELS[name]
    found: type[Model] = getattr(import_module(module), attribute)
    return found


def build(name: str, *, n_vars: int, window: int, **settings: Any) -> "Model":
    """A fresh model for windows of that shape; `settings` are fields of its config."""
    made = model_class(name)
    known = {field.name for field in dataclasses.fields(made.Config)}
    for setting in settings:
        if setting not in known:
            raise InputError(
                f"{name} has no setting {setting!r}.\n"
                f"It has: {', '.join(sorted(known - {'n_vars', 'window'}))}."
            )
    return made(made.Config(n_vars=n_vars, window=window, **settings))
