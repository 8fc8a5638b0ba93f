"""The page of errata: statements that the stored evidence refutes as printed, beside the form that holds."""

from collections.abc import Iterable
from pathlib import Path

from markupsafe import Markup

from evidence import entries
from lineament.evidence import Check
from lineament.report import prose
from lineament.report.entries import MEASURED, Entry, errata
from lineament.report.site import must

HEAD = """# Errata

Statements that the stored evidence refutes as they are printed, each beside the form that holds: theorems by a counter-example,
experiments by a run on data that the paper speaks of. A correction is held to the same rule as any claim ({doc}`/claims`): every bar
says where it comes from, and where a bar, a measure or how a statement is read was settled only after numbers had been seen, the
claim's page says so. If you think one of these is wrong, {doc}`/dispute` says how to show it.
"""


def page(results: Path) -> str:
    """The page, one section for each corrected claim."""
    return "\n".join([HEAD, *map(_section, errata(entries(results)))])


def _section(entry: Entry) -> str:
    run = entry.corrected
    assert run is not None
    sides = Markup(
        '<div class="erratum"><p class="rubric">As printed</p><div class="statement">{}</div>{}'
        '<p class="rubric">Corrected</p><div class="statement">{}</div>{}</div>'
    ).format(
        prose.statement(entry.statement),
        _checks([check for check in run.printed if check.failed]),
        prose.statement(run.correction),
        _checks(run.checks),
    )
    remarks = Markup("").join(Markup("<p>{}</p>").format(prose.inline(remark)) for remark in run.remarks)
    heading = f"## {entry.paper.short}, {entry.place}"
    told = Markup("<p>{} (<code>lineament reproduce {}</code>)</p>").format(prose.inline(entry.title), entry.id)
    measured = [] if entry.kind == "theorem" else [f"<p>{MEASURED}</p>"]
    return "\n".join([heading, "", "```{raw} html", str(told), *measured, str(sides), str(remarks), "```", ""])


def _checks(checks: Iterable[Check]) -> Markup:
    told = Markup("<li>{} = {}, {}</li>")
    items = [told.format(prose.inline(check.name), prose.number(check.value), must(check)) for check in checks]
    return Markup("<ul>{}</ul>").format(Markup("").join(items))
