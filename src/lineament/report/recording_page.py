"""The page of a recording: one self-contained HTML file."""

from pathlib import Path

import numpy as np
from markupsafe import Markup

from lineament import recording as rec
from lineament.core import arguments
from lineament.execution import files
from lineament.recording import Recording

from . import recording_figures, recording_layers, recording_tiles, site
from .embedding import embed

TITLES = {
    "curves": "Learning curves",
    "order": "Which examples come first",
    "bias": "Along which directions it learns",
    "layers": "The layers",
    "linear": "How long it is linear",
}
ABOUT = {
    "curves": "",
    "order": "The accessibility of an example is the share of the records at which it is classified correctly.",
    "bias": (
        "The outputs are followed along the principal components of the probe inputs, from where they were at the first "
        "record to where they are at the last."
    ),
    "layers": (
        "The effective rank is the exponential of the entropy of the singular values. Gradient flow conserves the "
        "unbalancedness of linear layers with nothing between them, not across an activation."
    ),
    "linear": (
        "What the network learnt since the first record is compared with the nearest linear map of the inputs, and, "
        "where it was recorded, with the network's own expansion to first order in its parameters."
    ),
}


def write(recording: Recording, path: str | Path, *, refresh: int | None = None) -> Path:
    """Write the page.

    Args:
        recording: What to tell of.
        path: The file to write, such as `report.html`; its folder is made if it is missing.
        refresh: After how many seconds a browser that shows the page reads it again; never by default.

    Returns:
        The path of the page.
    """
    path = arguments.path("path", path)
    files.writable(path.parent)
    return files.write(path, page(recording, refresh=refresh))


def page(recording: Recording, *, refresh: int | None = None) -> str:
    """The page as text."""
    arguments.instance("recording", recording, Recording)
    if refresh is not None:
        arguments.count("refresh", refresh)
    trouble = recording.trouble
    lost = trouble is not None and trouble.place == 0
    figures, missing = ({}, []) if lost else recording_figures.figures(recording)
    drawn = {name: (Markup(embed(figure, name)), figure.caption) for name, figure in figures.items()}
    todo = [one for one in rec.advice(recording) if one.kind != "trouble"]
    groups = ()
    try:
        suspects = next((one.rows for one in todo if one.kind == "labels"), ())
        groups = () if lost else recording_tiles.groups(recording, suspects)
    except ValueError as error:
        missing.append(str(error))
    return site.templates().get_template("recording.html.j2").render(
        title=f"{recording.about['model']} recorded" if "model" in recording.about else "A recorded run",
        recording=recording,
        trouble=trouble,
        todo=todo,
        figures=drawn,
        groups=groups,
        layers=() if lost else recording_layers.layers(recording),
        curve=(recording_layers.WIDTH, recording_layers.HEIGHT),
        titles=TITLES,
        about=ABOUT,
        missing=list(dict.fromkeys(missing)),
        facts=_facts(recording),
        settings=recording.about,
        refresh=refresh,
    )  # fmt: skip


def _facts(recording: Recording) -> dict[str, str]:
    """The numbers at the head of the page."""
    facts = {
        "Records": str(len(recording)),
        "Steps": f"{recording.steps[0]:g} to {recording.steps[-1]:g}",
        "Probe examples": f"{recording.examples:,}",
    }
    if recording.labels is not None:
        last = float(recording.error[-1])
        facts |= (
            {"Right at the end": f"{1 - last:.1%}"}
            if recording.predictions is not None
            else {"Squared error at the end": f"{last:.3g}"}
        )
    if np.isfinite(recording.overhead):
        facts["Time in the recorder"] = f"{recording.overhead:.1%} of training"
    return facts
