"""What lines and points mean: names beside the lines, and legends, which never cover data, for what is left."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lineament.evidence.figure import Panel

from . import labels, style
from .cells import Grid
from .style import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

LINE, HANDLE = 0.18, 0.4  # height of a line of a legend, and width of what stands beside its text, in inches
PHONE = 3.8  # inches: a legend no wider than a phone's page is never shrunk on it
ORDER = ("measured", "theory", "reference")


def explain(picture: "Picture", grid: Sequence["Axes"], panels: Sequence[Panel], theme: Theme) -> None:
    """Write names and legends into a figure whose panels are drawn.

    Names stand beside lines where there is room for all of a panel. What is left has one legend for all panels if that
    can serve them all, or each panel its own: inside, if it covers nothing there, else below the axes.
    """
    if not any(mark.label and _in_legend(mark.kind) for panel in panels for mark in panel.marks):
        return
    picture.get_layout_engine().execute(picture)  # type: ignore[union-attr]  # only now is it known where things lie
    written = [write_names(axes, panel, theme) for axes, panel in zip(grid, panels, strict=True)]
    shared = _one_legend(panels)
    if shared and not all(
        _named(panel, "measured") <= set(names) for panel, names in zip(panels, written, strict=True)
    ):
        for axes, names in zip(grid, written, strict=True):
            _take_back(axes, names)
        written = [[] for _ in panels]
    left = [left_over(axes, panel, names) for axes, panel, names in zip(grid, panels, written, strict=True)]
    if shared:
        _below_all(picture, left, panels)
        return
    lines: dict[int, int] = {}
    for axes, panel, entries in zip(grid, panels, left, strict=True):
        if entries and not write_legend(axes, panel, entries):
            row = axes.get_subplotspec().rowspan.start  # type: ignore[union-attr]
            lines[row] = max(lines.get(row, 0), _below(axes))
    picture.set_figheight(picture.get_figheight() + LINE * sum(lines.values()))


def write_names(axes: "Axes", panel: Panel, theme: Theme) -> list[str]:
    """Write the names of a panel's lines beside them, if there is room for all; return those that are written."""
    wanted = _named(panel)
    lines = [line for line in axes.lines if line.get_label() in wanted]
    return labels.write(axes, lines, theme) if lines and not _on_field(panel) else []


def write_legend(axes: "Axes", panel: Panel, entries: dict[str, Any]) -> bool:
    """Write a legend inside a panel, and say whether it covers nothing there."""
    field: dict[str, Any] = {"facecolor": style.FIELD_HALO, "labelcolor": style.FIELD_INK} if _on_field(panel) else {}
    axes.legend(list(entries.values()), list(entries), ncols=2 if len(entries) > 6 else 1, **field)
    return not covers(axes)


def covers(axes: "Axes") -> bool:
    """Whether the legend of a panel lies on something that is drawn."""
    grid, legend = Grid(axes), axes.get_legend()
    return bool(legend is not None and grid.full[grid.under(legend.get_window_extent())].any())


def _named(panel: Panel, *roles: str) -> set[str]:
    """The labels that belong to one line each, of these roles if some are given, and can stand beside it.

    Where a line of the same role has no label, those that have one may speak for it too: a legend has to say so.
    """
    every = [mark.label for mark in panel.marks]
    lines = [mark for mark in panel.marks if mark.kind == "line"]
    vague = {mark.role for mark in lines if not mark.label and mark.role != "reference"}
    told = [mark for mark in lines if mark.label and mark.role not in vague and mark.role in (roles or ORDER)]
    return {mark.label for mark in told if every.count(mark.label) == 1}


def _take_back(axes: "Axes", names: Sequence[str]) -> None:
    for text in list(axes.texts):
        if text.get_text() in names:
            text.remove()


def _one_legend(panels: Sequence[Panel]) -> bool:
    """Whether one legend can serve all panels.

    It can if no label means two things, and every label of a measurement is in the panel that has most of them: panels
    with measurements of their own are easier to read with legends of their own.
    """
    if not all(_in_legend(mark.kind) for panel in panels for mark in panel.marks):
        return False
    told = list(filter(None, map(_meanings, panels)))
    meanings = set().union(*told)
    unique = len({label for label, _, _ in meanings}) == len(meanings)
    measured = [{label for label, role, _ in panel if role == "measured"} for panel in told]
    return len(told) > 1 and unique and set().union(*measured) in measured


def _meanings(panel: Panel) -> set[tuple[str, str, int]]:
    """What the labels of a panel mean: the role of their mark, and the colour of a measurement."""
    return {
        (mark.label, mark.role, mark.group if mark.role == "measured" else 0) for mark in panel.marks if mark.label
    }


def _in_legend(kind: str) -> bool:
    """The label of a heat map stands on its colour bar, that of an image under it."""
    return kind not in ("heat", "image")


def _on_field(panel: Panel) -> bool:
    return not all(_in_legend(mark.kind) for mark in panel.marks)


def left_over(axes: "Axes", panel: Panel, written: Sequence[str]) -> dict[str, Any]:
    """What a legend has to name: each label with what is drawn of it, measurements first, then theory, then guides."""
    roles = {mark.label: mark.role for mark in panel.marks}
    handles: dict[str, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        if label in roles and label not in written:
            handles.setdefault(label, handle)
    return {label: handles[label] for label in sorted(handles, key=lambda label: ORDER.index(roles[label]))}


def _below_all(picture: "Picture", left: Sequence[dict[str, Any]], panels: Sequence[Panel]) -> None:
    """One legend for all panels below them, for which the figure grows."""
    roles = {mark.label: mark.role for panel in panels for mark in panel.marks}
    entries = {label: handle for panel in reversed(left) for label, handle in panel.items()}
    order = list(dict.fromkeys(label for panel in left for label in panel))
    order.sort(key=lambda label: ORDER.index(roles[label]))
    if not order:
        return
    width = min(picture.get_figwidth(), PHONE)
    longest = max(map(len, order)) * 0.055 + HANDLE  # inches, at the size of letters in a legend
    rows = -(-len(order) // max(1, min(len(order), int(width // longest))))
    columns = -(-len(order) // rows)  # rows of equal length
    picture.legend(
        [entries[label] for label in order], order, loc="outside lower center", ncols=columns, frameon=False
    )
    picture.set_figheight(picture.get_figheight() + LINE * rows)


def _below(axes: "Axes") -> int:
    """Put the legend under the label of the x-axis, in as many columns as fit, and say how many lines it takes."""
    from matplotlib.transforms import ScaledTranslation

    old, picture = axes.get_legend(), axes.get_figure(root=True)
    assert old is not None
    assert picture is not None
    drawn = {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    names = [text.get_text() for text in old.get_texts()]
    frame, dots = axes.get_window_extent(), picture.dpi
    widest = max(text.get_window_extent().width for text in old.get_texts()) + HANDLE * dots
    columns = max(1, min(len(names), int(axes.get_tightbbox().width // widest)))  # type: ignore[union-attr]
    # The label's distance from the axes stays as it is, however large the axes become.
    drop = (frame.y0 - axes.xaxis.get_tightbbox().y0) / dots  # type: ignore[union-attr]
    under = axes.transAxes + ScaledTranslation(0, -drop, picture.dpi_scale_trans)
    axes.legend(
        [drawn[name] for name in names], names, loc="upper center", bbox_to_anchor=(0.5, 0.0),
        bbox_transform=under, ncols=columns, frameon=False, borderaxespad=0.2,
    )  # fmt: skip
    return -(-len(names) // columns)
