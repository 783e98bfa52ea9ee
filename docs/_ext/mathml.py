"""Formulas as MathML, which browsers show by themselves: the site loads no script for them."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def visit_math(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    formula = tex2mathml(node.astext(), as_block=True)
    # A long one is scrolled on a phone, also by the keyboard.
    self.body.append(f'<div class="formula" tabindex="0" role="group" aria-label="formula">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
