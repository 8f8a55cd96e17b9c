"""What can go wrong, and whose fault it is.

T1Error
├── InputError        the user can fix it: exit code 2 on the command line; says what was expected,
│                     what came, where, and the cure on the next line
└── TrainingDiverged  the loss stopped being a number; the last good weights are kept
"""


class T1Error(Exception):
    """Anything this package raises on purpose."""


class InputError(T1Error, ValueError):
    """The input (a file, a table, a setting) cannot be used as it is; the message names the cure."""


class TrainingDiverged(T1Error, ArithmeticError):
    """The training loss became infinite or not a number."""
