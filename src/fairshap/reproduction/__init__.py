"""Reproduction: the paper's experiments, run again, with its figures beside ours.

::

    plan (jobs) -> processes -> records.jsonl -> finish -> CSV, Markdown, PNG, SVG, versions.json

``_reproduce`` lists the experiments, one module each; ``_settings`` has the tables as the paper encoded
them, ``_measuring`` one fold, ``_published`` the paper's figures, ``_tables`` the comparison with them.
"""

from fairshap.reproduction._published import published
from fairshap.reproduction._reproduce import EXPERIMENTS, Reproduction, reproduce
from fairshap.reproduction._settings import SETTINGS

__all__ = ["EXPERIMENTS", "SETTINGS", "Reproduction", "published", "reproduce"]
