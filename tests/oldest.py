"""Print the lower bounds of pyproject.toml as constraints, one exact version each; for `make test-oldest`."""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

# A requirement such as "dask[dataframe]>=2025.1": its name, and its smallest version.
_BOUND = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([^,;]+)")


def lower_bounds(text: str) -> dict[str, str]:
    """Return the smallest version of everything that fairshap, its extras and its tests ask for.

    Raises
    ------
    ValueError
        If two lists name different smallest versions: only one of them would be tested.
    """
    project = tomllib.loads(text)
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *(project["dependency-groups"][name] for name in ("paper", "test")),
    ]
    found: dict[str, str] = {}
    for requirement in (one for one in chain(*lists) if isinstance(one, str)):
        if match := _BOUND.match(requirement):
            name, version = match.groups()
            # xgboost-cpu is xgboost without its GPU packages: the tests install it in the extra's place.
            for one in (name, name.removesuffix("-cpu")):
                if found.setdefault(one, version) != version:
                    raise ValueError(
                        f"pyproject.toml asks for {one} {found[one]} and for {version}; make them one."
                    )
    return found


if __name__ == "__main__":
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    sys.stdout.writelines(
        f"{name}=={version}\n" for name, version in lower_bounds(pyproject.read_text()).items()
    )
