"""``python -m paper``: the command behind ``make paper``."""

import argparse
import sys
import warnings
from collections.abc import Sequence

from paper.run import EXPERIMENTS, CannotRunError, run
from paper.settings import SETTINGS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Run the paper's experiments and write tables and figures, the paper's beside ours. An "
        "interrupted run resumes where it stopped.",
    )
    what = "; ".join(f"{name}: {one.what}" for name, one in EXPERIMENTS.items())
    parser.add_argument("names", nargs="*", default=["all"], metavar="NAME", help=f"{what}; or all (default)")
    parser.add_argument("--out", default="results", metavar="DIR", help="folder to write to (%(default)s)")
    parser.add_argument("--settings", nargs="+", metavar="KEY", help=f"some of {', '.join(SETTINGS)}")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of the folds, or draws (%(default)s)")
    parser.add_argument("--folds", type=int, default=5, help="folds (%(default)s, as in the paper)")
    parser.add_argument("--seed", type=int, default=0, help="seed of other draws (%(default)s)")
    parser.add_argument("--jobs", type=int, help="processes (one for each core)")
    parser.add_argument("--quiet", action="store_true", help="print no line for each finished job")
    asked = parser.parse_args(arguments)
    # joblib warns of the jobs that an interrupt cancels.
    warnings.filterwarnings("ignore", message=".*have been cancelled", category=UserWarning)
    try:
        results = run(
            asked.names,
            asked.out,
            settings=asked.settings,
            seeds=asked.seeds,
            folds=asked.folds,
            random_state=asked.seed,
            n_jobs=asked.jobs,
            verbose=not asked.quiet,
        )
    except CannotRunError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        print("interrupted: finished jobs are kept, and the same command resumes.", file=sys.stderr)
        return 130
    for one in results:
        compared, far = (one.summary.get(name, 0) for name in ("compared", "far"))
        print(
            f"{one.name}: {one.jobs} jobs ({one.reused} done before), {one.seconds:.0f} CPU seconds; "
            f"{far} of {compared} figures are more than 2 standard deviations from the paper's"
        )
        print(*(f"  {path}" for path in one.files if path.suffix == ".md"), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
