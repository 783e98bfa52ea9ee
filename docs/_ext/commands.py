"""The directive ``commands``: a section for each command of ``fairshap``, made from the command itself."""

from typing import Any

import typer.main
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from fairshap.cli._main import COMMANDS, make_app


def describe(name: str, command: Any) -> str:
    """Return the section of a command in Markdown."""
    placed = [parameter for parameter in command.params if not parameter.opts[0].startswith("-")]
    options = [
        parameter
        for parameter in command.params
        if parameter not in placed and "--help" not in parameter.opts
    ]
    usage = " ".join(["fairshap", name, *(parameter.metavar for parameter in placed)])
    lines = [
        f"## {name}",
        "",
        command.help,
        "",
        "```console",
        f"$ {usage}{' [OPTIONS]' * bool(options)}",
        "```",
    ]
    example = COMMANDS[name][2]
    if example:
        lines += ["", "For example:", "", "```console", f"$ fairshap {name} {example}", "```"]
    panels: dict[str, list[str]] = {}
    for parameter in placed:
        panels.setdefault("Arguments", []).append(row(f"`{parameter.metavar}`", parameter.help))
    # Those without a panel of their own come first, as in the help.
    for parameter in sorted(options, key=lambda parameter: parameter.rich_help_panel is not None):
        panels.setdefault(parameter.rich_help_panel or "Options", []).append(
            row(spell(parameter), tell(parameter))
        )
    for panel, rows in panels.items():
        lines += [
            "",
            "```{list-table}",
            ":widths: 32 68",
            ":header-rows: 1",
            ":width: 100%",
            ":class: options",
            "",
        ]
        lines += [f"* - {panel}\n  -", *rows, "```"]
    return "\n".join(lines)


def row(first: str, second: str) -> str:
    """Return a row of a table."""
    return f"* - {first}\n  - {second}"


def spell(parameter: Any) -> str:
    """Return the names of an option, and what stands for its value."""
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    return f"{names} `{parameter.metavar}`" if parameter.metavar else names


def tell(parameter: Any) -> str:
    """Return what an option does, whether it must be given, and its default."""
    text = parameter.help.replace("*", r"\*").replace("[", r"\[").replace("<", r"\<")
    if parameter.required:
        return f"{text} **Required.**"
    if parameter.default in (None, False, ""):
        return text
    return f"{text} Default: `{parameter.default}`."


class Commands(SphinxDirective):
    """Put a section for each command here."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        app: Any = typer.main.get_command(make_app(COMMANDS))
        text = "\n\n".join(describe(name, command) for name, command in app.commands.items())
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
