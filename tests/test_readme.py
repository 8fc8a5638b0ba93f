"""What the README and the guide show runs, and the README's table of claims is true."""

import importlib
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from matplotlib import pyplot

from lineament.claims import all_claims
from lineament.execution import store
from lineament.execution.reproduce import reproduce
from lineament.report.entries import gather

ROOT = Path(__file__).parents[1]


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(autouse=True)
def as_a_user():
    pyplot.switch_backend("Agg")
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
    pyplot.close("all")


def test_the_readme_opens_with_a_snippet_whose_forecast_is_right():
    (snippet,) = blocks("README.md")
    scope = {}
    exec(snippet, scope)
    np.testing.assert_allclose(scope["run"].singular_values, scope["forecast"], rtol=1e-5)
    np.testing.assert_allclose(scope["steps"].singular_values[-1], scope["problem"].modes, rtol=1e-2)


def test_the_claim_of_the_guide_runs(tmp_path, monkeypatch):
    (module,) = blocks("docs/claims.md")
    (tmp_path / "mine.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (claim,) = importlib.import_module("mine").CLAIMS
    result = reproduce(claim)
    assert result.verdict == "holds"
    assert result.evidence.checks[0].value < 0.1
    assert store.record(result).table == {"widths": [8, 32, 128], "draws": 20}


def test_the_guide_runs():
    scope = {}
    for snippet in blocks("docs/guide.md"):
        exec(snippet, scope)
    ranks = scope["run"].effective_rank.sel(step=500).values
    assert ranks.shape == (20,)
    trained, followed, waves = scope["trained"], scope["followed"], scope["waves"]
    assert (trained.loss[:, -1] < 0.2 * trained.loss[:, 0]).all()
    assert float(followed.loss[-1]) < float(followed.loss[0])
    f = lambda p: waves.end_to_end(p)(jax.numpy.asarray(scope["X"]))[:, 0]  # noqa: E731
    J = [leaf.reshape(50, -1) for leaf in jax.tree.leaves(jax.jacrev(f)(trained.final[0]))]
    np.testing.assert_allclose(scope["kernel"], sum(j @ j.T for j in J), atol=1e-10)


GUIDES = "guide_forecast", "guide_linearise", "guide_sweeps", "guide_torch", "neural_tangents"
FIRST = "study_1", "study_2", "table_1", "table_2"


@pytest.mark.parametrize("page", GUIDES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_other_guides_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    snippets = blocks(f"docs/{page}.md")
    assert snippets
    scope = {}
    for snippet in snippets:
        exec(snippet.replace('store="runs/")', 'store="runs/", workers=1)'), scope)  # processes would only take longer


def test_no_page_has_code_that_is_not_run():
    docs = ROOT / "docs"
    pages = {path.stem for folder in (docs, docs / "start") for path in folder.glob("*.md") if blocks(path)}
    assert pages == {"guide", "guide_recorder", "claims", *GUIDES, *FIRST}, (
        "guide_recorder is run beside the recorder's tests"
    )


def test_the_table_of_claims_lists_every_claim():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("<!-- claims:")[1].split("<!-- end of claims -->")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| [`")
    ]
    listed = {row[0]: (row[1], row[2]) for row in rows}
    assert listed == {
        f"[`{claim.id}`]({claim.source.path.relative_to(ROOT).as_posix()})": (claim.place, claim.title)
        for claim in all_claims().values()
    }
    records = store.load_folder(ROOT / "results")[0]
    listed_by_atlas = gather(records, all_claims())
    for size, column in (("quick", 3), ("full", 4)):
        labels = {entry.id: entry.label(size) for entry in listed_by_atlas if size in entry.runs}
        stated = {row[0].split("`")[1]: row[column] for row in rows}
        assert {id: stated[id] for id in labels if id in stated} == labels


@pytest.mark.parametrize("page", FIRST)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_first_pages_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for snippet in blocks(f"docs/start/{page}.md"):
        exec(snippet, scope)
    expected = {
        "study_1": lambda: scope["gap"] < 1e-5,
        "study_2": lambda: (scope["table"].half.diff("start_scale") < 0).all() and scope["drift"].max() < 0.2,
        "table_1": lambda: scope["comparison"].verdict == "holds" and scope["curve"].gain < 0.05,
        "table_2": lambda: scope["report"].measured.accuracy > 0.9 and scope["report"].measured.error < 0.15,
    }
    assert expected[page]()
