"""Errors name parameters of the Python API; on the command line the same things are options."""

import re

from fairshap.cli._options import quote

# Parameters that are options of the same name.
_SAME = (
    "sensitive|privileged|positive|target|drop|categorical|numeric|missing|format|delimiter|encoding|"
    "threshold|strategy|budget|frozen|editable|max_row_edits|direction|guard|max_rounds|matching|methods|"
    "objective|max_accuracy_drop|max_edits|settings|seeds|folds"
)
_OTHERS = {"n_folds": "folds", "thresholds": "thresholds", "augment": "augments", "augments": "augments"}

_GIVEN = re.compile(rf"\b({_SAME}|{'|'.join(_OTHERS)})=('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\[[^\]]*\]|[^\s,;)]+)")

# What is said without a value.
_PHRASES = {
    "or force to replace it": "or --force to replace it",
    "leave it out with drop": "leave it out with --drop",
    "left out by drop": "left out by --drop",
    "drop leaves no column": "--drop leaves no column",
    "name their texts in missing": "name their texts in --missing",
    "name them in missing": "name them in --missing",
    "name the column in categorical": "name the column in --categorical",
    "name it in drop": "name it in --drop",
    "out of X, or name it in sensitive too": "out with --drop, or name it with --sensitive too",
    "Give its encoding": "Give its --encoding",
    "format, delimiter and encoding are": "--format, --delimiter and --encoding are",
    "delimiter and encoding are": "--delimiter and --encoding are",
    "Rename it or give format": "Rename it or give --format",
    "methods is empty": "--methods is empty",
}


def reword(text: str) -> str:
    r"""Return an error's text with parameters as options.

    Examples
    --------
    >>> reword("the first line seems to be 3 names with ';' between them. Give delimiter=';'.")
    "the first line seems to be 3 names with ';' between them. Give --delimiter ';'."
    >>> reword("max_accuracy_drop=2 must be between 0 and 1.")
    '--max-accuracy-drop 2 must be between 0 and 1.'
    """
    for phrase, said in _PHRASES.items():
        text = text.replace(phrase, said)
    return _GIVEN.sub(_as_option, text)


def _as_option(match: re.Match[str]) -> str:
    name, value = match.groups()
    name = _OTHERS.get(name, name).replace("_", "-")
    end = ""
    if value[0] in "'\"" and len(value) > 1:
        value = quote(value[1:-1])
    elif value[-1] == ".":
        value, end = value[:-1], "."
    return f"--{name} {value}{end}"
