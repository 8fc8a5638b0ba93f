"""A registry with small made-up claims, in a module of its own so that worker processes can import it too."""

import itertools

import pytest

from lineament.claims import registry

SOURCE = r'''
import math, os, time
import numpy as np
from typing import NamedTuple
from lineament.claims import Claim, sizes
from lineament.evidence import Evidence, at_least, at_most, figure as fig, within


def picture():
    t = np.linspace(0.1, 4, 30)
    marks = [m for g in range(2) for m in (fig.measured(t, t**g, f"$g={g}$", g), fig.theory(t, t**g, "theory", g))]
    panel = fig.Panel(tuple(marks), "time $t$", "$y$", "one", "log", "log")
    return fig.Figure((panel, panel), "Powers of <t>, $t^g$.", 2)


class Settings(NamedTuple):
    depths: tuple
    repeats: int


@sizes(quick=Settings((1, 2, math.inf), 3), full=Settings((1, 2, 3, math.inf), 9))
def a(settings, key):
    """Closed form against `odeint`.

    The second paragraph has $a<b$.
    """
    return Evidence(
        [at_most("gap", 3.2e-10, 1e-8, "the solver's accuracy"), within("slope", 1.98, 1.9, 2.1, "theory: 2 ± 5 %")],
        numbers={"bad": math.nan, "far": math.inf}, settings={"solver": "<Tsit5>"},
        protocol={"data": "Gaussian", "networks": f"{settings.repeats}"},
        figure=picture(), remarks=("It holds.",),
    )


def b(size, key):
    """Brackets the threshold."""
    return Evidence([at_most("excess", -0.1, 0)], [at_most("excess", 0.2, 0)], r"\sigma_0\le 2s", figure=picture())


def c(size, key):
    """Trains."""
    if "FAKED_INTERRUPT" in os.environ:
        raise KeyboardInterrupt
    if "FAKED_DIE" in os.environ:
        os._exit(3)
    if "FAKED_SLEEP" in os.environ:
        time.sleep(600)
    return Evidence([at_least("accuracy", 0.4, 0.9)])


def d(size, key):
    """Counts."""
    if "FAKED_RAISE" in os.environ:
        raise RuntimeError("the solver gave up")
    if "FAKED_FALSE" in os.environ:
        return Evidence([at_most("violations", 3, 0)])
    return Evidence([at_most("violations", 0, 0)])


PAPER = {"data": "Gaussian", "networks": "100"}


def made(name, id, place, title, statement, kind="theorem"):
    where = f"{__name__}:{name}"
    return Claim(id, place, title, statement, where, paper_setting=PAPER, kind=kind, quick="1 s", full="2 s")


CLAIMS = (
    made("d", "cohen-d", "Lemma 2", "A lemma", r"\det W>0"),
    made("a", "gissin-a", "Theorem 1", "A < B & so on",
         r"\dot\sigma=\sigma^{2-2/N}(\sigma^*-\sigma)\quad\text{for all } N\ge 1"),
    made("b", "gissin-b", "Theorem 2", "A bound", r"\sigma_0\le s"),
    made("c", "gissin-c", "Figure 3", "A figure", "x", kind="experiment"),
)
'''
_count = itertools.count()


def install(monkeypatch, folder):
    """Replace the registered claims by four made-up ones, from a new module in `folder`; returns its name."""
    name = f"faked_claims_{next(_count)}"
    (folder / f"{name}.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(registry, "BUILT_IN", (name,))
    monkeypatch.setattr(registry.metadata, "entry_points", lambda group: ())
    # The cache of compiled programs is the user's: tests leave it alone.
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(folder / "compiled"))
    return name


@pytest.fixture
def faked(monkeypatch, tmp_path_factory):
    """The registry with made-up claims only."""
    return install(monkeypatch, tmp_path_factory.mktemp("modules"))


@pytest.fixture(scope="module")
def faked_for_module(tmp_path_factory):
    """The same for all tests of a module that change nothing."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield install(monkeypatch, tmp_path_factory.mktemp("modules"))
