"""Messages as the command line says them: below it options go by their names in Python."""

import re
from dataclasses import fields

from t1.errors import InputError

# options whose flag is not simply their name
FLAGS = {"minimum": "--min", "maximum": "--max", "missing_values": "--missing-value", "settings": "--set"}
OTHERS = {"output", "budget", "data", "models", "study"}  # that messages name, besides those of reading


def flag(option: str) -> str:
    """The flag of an option: --header-row for header_row."""
    return FLAGS.get(option, f"--{option.replace('_', '-')}")


def in_flags(text: str) -> str:
    """A message whose options, in parentheses or after a colon, are written as flags."""
    from t1.data.reading import Reading

    options = OTHERS | {f.name for f in fields(Reading)}

    def replace(match: re.Match[str]) -> str:
        names = re.split(r",\s*", match[2])
        return match[1] + ", ".join(map(flag, names)) + match[3] if set(names) <= options else match[0]

    return re.sub(r"(\(|name it: )([a-z_]+(?:, [a-z_]+)*)(\))", replace, text)


def shown(error: InputError) -> str:
    """An error as one message; the option it concerns is named at the end unless it was named before."""
    text = in_flags(str(error))
    if error.option is None or re.search(rf"{flag(error.option)}(?![\w-])", text):
        return text
    return f"{text} ({flag(error.option)})"
