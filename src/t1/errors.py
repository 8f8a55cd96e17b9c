"""What can go wrong, and whose fault it is.

T1Error
├── InputError        the user can fix it: exit code 2 on the command line
└── TrainingDiverged  the loss stopped being a number; the last good weights are kept
"""


class T1Error(Exception):
    """Anything this package raises on purpose."""


class InputError(T1Error, ValueError):
    """The input (a file, a table, a setting) cannot be used as it is.

    The message says what was expected, what came and where; `cure` what to do about it; `option` which
    setting it concerns, by its name in Python. Each surface shows the option its own way: `budget` is
    `--budget` on the command line.

    >>> import numpy as np, t1
    >>> try:
    ...     t1.impute(np.ones((3, 2)), budget="soon")
    ... except t1.InputError as error:
    ...     print(error.option)
    budget
    """

    def __init__(self, message: str, *, cure: str | None = None, option: str | None = None) -> None:
        super().__init__(message if cure is None else f"{message}\n{cure}")
        self.message, self.cure, self.option = message, cure, option


class TrainingDiverged(T1Error, ArithmeticError):
    """The training loss became infinite or not a number."""
