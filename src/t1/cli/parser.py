"""Arguments that are not understood: what was meant, in one message."""

import argparse
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from t1.registry import did_you_mean


class Parser(argparse.ArgumentParser):
    """argparse's parser with messages that say what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Print one message with its cure, and end with code 2."""
        wrong = re.match(r"argument (\w+): invalid choice: '(.*)' \(choose from (.*)\)", message)
        if wrong:
            known = [word.strip(" '") for word in wrong[3].split(",")]
            message = f"there is no {wrong[1].lower()} {wrong[2]!r}.\n{did_you_mean(wrong[2], known)}"
        elif message.endswith("required: input"):
            message = (
                "no file was given.\n"
                f"It comes first, before options that take several values: {self.prog} FILE ..."
            )
        self.exit(2, f"t1: {message}\n")


def parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; one that no option takes is told with the option that is most like it."""
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        flags = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        if flags:
            known = sorted(set(_flags(parser, arguments.command)))
            if flags[0] in known:
                parser.error(f"{flags[0]} belongs to another command of t1 {arguments.command}.\nSee --help.")
            parser.error(f"there is no option {flags[0]}.\n{did_you_mean(flags[0], known, 'See --help.')}")
        parser.error(f"{unknown[0]!r} belongs to no option.\nSee t1 {arguments.command} --help.")
    return arguments


def _flags(parser: argparse.ArgumentParser, command: str | None = None) -> Iterator[str]:
    """The options of a command, with those of the commands below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                if command is None or name == command:
                    yield from _flags(below)
        else:
            yield from action.option_strings
