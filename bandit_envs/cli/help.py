"""The help texts of the command: what one needs first, and all options."""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

FIRST = ("positional arguments", "options")
"""The groups of options that --help shows; those with titles of their own are in --help all."""

ALL = "all"
"""The value of --help that shows all options and examples."""

EXAMPLES_FIRST = 2
"""How many examples are in --help; --help all has all."""

SYNTAX = """ENV and SPEC are ids that `bandit-envs list` shows, or your own MODULE:CLASS in the
current folder. Parameters follow as key=value,key=value, with values as in TOML;
texts that begin with a letter need no quotes."""


def format_examples(examples: Iterable[str], *texts: str) -> str:
    """Returns examples, what stands in them, and other texts, for the end of a help text."""
    lines = "".join(f"\n  {example}" for example in examples)
    return "\n\n".join([f"examples:{lines}", SYNTAX, *texts])


class FirstHelp(argparse.RawDescriptionHelpFormatter):
    """Formats the options of the groups that one needs first."""

    _is_first = True

    def start_section(self, heading: str | None) -> None:
        """Starts a group of options."""
        self._is_first = heading in FIRST
        super().start_section(heading)

    def add_argument(self, action: argparse.Action) -> None:
        """Adds an option, if its group is one of those."""
        if self._is_first:
            super().add_argument(action)


class ShowHelp(argparse.Action):
    """Shows what one needs first, or all options and examples of a parser, and ends."""

    def __call__(
        self, parser: argparse.ArgumentParser, _: Any, value: Any, __: str | None = None
    ) -> None:
        """Shows the help text, and ends the process."""
        if value == ALL:
            parser.formatter_class = argparse.RawDescriptionHelpFormatter
            parser.epilog = str(self.const)
        parser.print_help()
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose --help has what one needs first."""

    def error(self, message: str) -> NoReturn:
        """Ends with the message, and says where all options are."""
        option = "--help" if self.add_help else f"--help {ALL}"
        self.exit(2, f"{self.prog}: {message}; {self.prog} {option} shows all options\n")

    def option_names(self) -> list[str]:
        """Returns the names of the options, without dashes."""
        names = self._option_string_actions
        return [name.removeprefix("--") for name in names if name.startswith("--")]

    def group(self, title: str) -> argparse._ArgumentGroup:
        """Returns the group of a title, which --help leaves out and `--help all` shows."""
        for group in self._action_groups:
            if group.title == title:
                return group
        return self.add_argument_group(title)


class Subcommands:
    """The subcommands of a parser.

    Args:
        parser: the parser.
        examples: of each subcommand.
        called: the name of the only subcommand to add; all are added if it is not one of them.
    """

    def __init__(
        self,
        parser: Parser,
        examples: Mapping[str, Sequence[str]],
        called: str | None,
    ) -> None:
        self._examples = examples
        self._added = [called] if called in examples else [*examples]
        self._subparsers = parser.add_subparsers(
            required=True, dest="command", metavar="COMMAND", parser_class=Parser
        )

    def add(
        self,
        name: str,
        *,
        needed: str,
        text: str,
        function: str,
        add_options: Callable[[Parser], None],
    ) -> None:
        """Adds a subcommand if it is called, or if all are added.

        Args:
            name: of the subcommand.
            needed: what the user has to write after it.
            text: says what it does.
            function: does it, as `module:function`.
            add_options: adds its options to a parser.
        """
        if name not in self._added:
            return
        examples = self._examples[name]
        usage = " ".join(["bandit-envs", name, *needed.split(), "[OPTION]..."])
        more = f"bandit-envs {name} --help {ALL} shows all options and examples."
        parser = self._subparsers.add_parser(
            name,
            help=text,
            description=text,
            usage=usage,
            epilog=format_examples(examples[:EXAMPLES_FIRST], more),
            formatter_class=FirstHelp,
            add_help=False,
        )
        parser.add_argument(
            "-h",
            "--help",
            action=ShowHelp,
            nargs="?",
            const=format_examples(examples),
            metavar=ALL,
            dest=argparse.SUPPRESS,
            default=argparse.SUPPRESS,
            help=f"show the first options, or {ALL}, and exit",
        )
        parser.set_defaults(func=function, parser=parser)
        add_options(parser)
