"""The command ``fairshap``: audit, repair, evaluate, tune, apply, datasets, demo.

One module for each command, ``demo`` for the two about built-in tables. They share ``_options`` (what can be
asked for), ``_problem`` (the table), ``_models`` (the model), ``_files`` (what is written) and ``_output``
(what is printed). ``_main`` knows exit codes and signals.
"""

from fairshap.cli._main import main, run

__all__ = ["main", "run"]
