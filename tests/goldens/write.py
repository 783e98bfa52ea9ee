"""Write the files: ``python -m tests.goldens.write [NAME ...]``, from the root of the repository.

Without names, all of them. A change to one of them is a commit of its own that says why.
"""

import sys
import time

from tests.goldens.compute import compute, names
from tests.goldens.files import VERSIONS, path_of, to_text, versions


def main(asked: list[str]) -> None:
    """Write the files whose names start with one of those that are asked for."""
    for name in names():
        if not asked or any(name.startswith(one) for one in asked):
            start = time.process_time()
            text = to_text(compute(name))
            path = path_of(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            changed = not path.exists() or path.read_text(encoding="utf-8") != text
            path.write_text(text, encoding="utf-8")
            took = time.process_time() - start
            print(f"{name}: {len(text):,} characters, {took:.1f} s{', changed' if changed else ''}")
    VERSIONS.write_text(to_text(versions()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
