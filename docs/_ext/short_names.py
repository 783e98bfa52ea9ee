"""Find a name of a docstring, such as ``NearestMatcher``, wherever the reference has it."""

from typing import Any

from docutils import nodes


def resolve(app: Any, env: Any, node: Any, content: nodes.Element) -> nodes.Element | None:
    """Return a link to the one documented name that ends in the given one."""
    if node.get("refdomain") != "py":
        return None
    domain, wanted = env.get_domain("py"), node["reftarget"].removeprefix("fairshap.")
    found = [name for name in domain.objects if name.endswith(f".{wanted}")]
    if node.get("py:class") and f"{node['py:class']}.{wanted}" in found:
        found = [f"{node['py:class']}.{wanted}"]
    if len(found) != 1:
        return None
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, node["reftype"], found[0], node, content
    ) or domain.resolve_xref(env, node["refdoc"], app.builder, "obj", found[0], node, content)


def setup(app: Any) -> dict[str, bool]:
    """Connect the search for names."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
