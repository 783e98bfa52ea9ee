"""The command ``fairshap``: audit, repair, evaluate, tune, apply, datasets, demo.

One module for each command; around them ``_options`` (what can be asked), ``_problem`` (the table that is
asked about), ``_repaired`` (how a repaired table is marked and known again), ``_models`` and
``_model_files``, ``_output`` and ``_writing``, and ``_main``, which knows exit codes and signals.
"""

from fairshap.cli._main import main

__all__ = ["main"]
