"""What the README and the guide show runs, and the README's table of claims is true."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest
from matplotlib import pyplot

from lineament.claims import all_claims
from lineament.execution import store

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


def test_the_guide_runs(monkeypatch):
    from lineament.claims import registry

    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    scope = {}
    for snippet in blocks("docs/guide.md"):
        exec(snippet, scope)
    ranks = scope["run"].effective_rank.sel(step=500).values
    assert ranks.shape == (20,)
    assert "gissin-mine" in registry._registry


@pytest.mark.parametrize("page", ["docs/guide_forecast.md", "docs/guide_torch.md"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_other_guides_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    snippets = blocks(page)
    assert snippets
    scope = {}
    for snippet in snippets:
        exec(snippet, scope)


def test_the_table_of_claims_lists_every_claim():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split("<!-- claims:")[1].split("<!-- end of claims -->")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `")
    ]
    listed = {row[0].strip("`"): (row[1], row[2]) for row in rows}
    assert listed == {claim.id: (claim.place, claim.title) for claim in all_claims().values()}
    full = {stored.id: stored.verdict for stored in store.load_folder(ROOT / "results")[0] if stored.size == "full"}
    assert {row[0].strip("`"): row[4] for row in rows} == {id: full.get(id, "–") for id in all_claims()}
