"""The paper's experiments, run again with fairshap, with the published figures beside ours.

::

    plan (jobs) -> processes -> records.jsonl -> finish -> CSV, Markdown, PNG, SVG, versions.json

Run ``make paper``, or ``python -m paper --help`` for all options. Each experiment is a module of two
functions: ``plan(options)`` returns jobs and ``finish(records, options)`` returns findings; ``run`` lists
them. ``jobs`` keeps the records of finished jobs, so that an interrupted run resumes. ``settings`` has the
tables as the paper encoded them, ``methods`` every call of fairshap, ``tables`` the published figures and
the comparison with them, ``figures`` the drawings.
"""
