"""What the documents say holds: their code runs and prints what they show, and their links lead somewhere."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A block of Python, and the block of text after it, if there is one.
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?", flags=re.DOTALL)
LINK = re.compile(r"\]\(([^)]+)\)")
TITLE = re.compile(r"^#+ (.*)$", flags=re.MULTILINE)


# Pages with code that runs, and all documents with links; what `make docs` makes is none of them.
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/RESULTS.md"]
    if not {"_build", "auto_examples", "generated"} & set(path.parts)
)
WITH_CODE = [document for document in DOCUMENTS if "```python" in (ROOT / document).read_text()]


def test_the_guide_has_code_that_runs():
    assert len(WITH_CODE) >= 15


@pytest.mark.parametrize("document", WITH_CODE)
def test_code_prints_what_the_document_shows(document):
    blocks = BLOCK.findall((ROOT / document).read_text())
    assert any(shown for _, shown in blocks)
    for code, shown in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, document, "exec"), {})  # noqa: S102
        if shown:
            assert printed.getvalue() == shown


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    for link in LINK.findall((ROOT / document).read_text()):
        if link.startswith("http"):
            continue
        path, _, section = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        if section:
            titles = TITLE.findall(target.read_text())
            assert section in {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
