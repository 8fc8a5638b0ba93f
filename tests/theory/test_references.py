"""Closed forms against values in 25 digits, each by another route: quadrature, Taylor series, single steps, bisection.

The tables and the script that writes them are in `tests/reference`. A row holds its condition number: what is exact for
arguments changed by k units in the last place may be k × condition units off.
"""

import importlib
import json
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from lineament.theory import dual_activations, early_stopping, quadratic, spectral_filters

FOLDER = Path(__file__).parents[1] / "reference"
UNITS = 32
"""Units in the last place by which a formula of a few dozen operations may change its arguments."""

LOOSER = {
    ("phases", "log_threshold"): 1e-12,  # what its docstring promises
    ("two_layer", "trajectory"): 1e-13,  # an eigensystem: rounding times a few dimensions, of the largest entry
    ("quadratic", "trajectory"): 1e-10,  # integrated with a relative tolerance of 1e-12 a step
    ("large_steps", "largest_cycle"): 1e-11,  # brentq with xtol = 1e-12
    ("dual_activations", "quadrature_dual"): 1e-10,  # as the docstring of `kernels` promises
    ("kernels", "expansion"): 1e-10,  # a five-point difference of step 1e-3 and rounding of 1e-16 over it
    ("twin_constants", "constants"): 1e-12,  # by quadrature where nothing is closed, as documented
}
"""Bars of what is not a formula of a few operations, relative to the largest entry."""

ADAPTED = {
    ("spectral_filters", "flow"): lambda t, curvature, n: spectral_filters.flow(
        np.array([t]), np.array([curvature]), n
    ),
    ("spectral_filters", "descent"): lambda steps, curvature, n, step_size, momentum: spectral_filters.descent(
        np.array([float(steps)]), np.array([curvature]), n, step_size, momentum
    ),
    ("dual_activations", "quadrature_dual"): lambda **given: dual_activations.quadrature_dual("tanh", **given),
    ("quadratic", "trajectory"): lambda **given: quadratic.trajectory(**given).values[-1],
    ("early_stopping", "expected_error"): lambda times, d, **given: early_stopping.expected_error(
        times, early_stopping.task(d, **given), early_stopping.flow_rates(d)
    ),
}
"""Functions whose arguments are not those of the table."""

TABLES = {path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))}
FUNCTIONS = [(module, function) for module, table in TABLES.items() for function in table]


def flat(value):
    return np.concatenate([np.ravel(part) for part in value]) if isinstance(value, tuple) else np.ravel(value)


@pytest.mark.parametrize("name", FUNCTIONS, ids=".".join)
def test_values_in_many_digits(name):
    module, function = name
    call = ADAPTED.get(name) or getattr(importlib.import_module(f"lineament.theory.{module}"), function)
    for row in TABLES[module][function]:
        expected = [Decimal(entry) for entry in row["value"]]
        found = [Decimal(float(entry)) for entry in flat(call(**row["given"]))]
        bar = LOOSER.get(name, UNITS * np.finfo(float).eps * (1 + row["condition"]))
        off = max(abs(a - b) for a, b in zip(found, expected, strict=True)) / max(map(abs, expected))
        assert off <= bar, f"{row['given']}: {float(off):.2g} off, {float(bar):.2g} allowed"


def test_tables_are_what_the_script_writes(monkeypatch, tmp_path):
    """A table that is quick to compute is written again, byte by byte; every other one belongs to the script."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("make", "tables", "dynamics", "definitions"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    make, tables = importlib.import_module("make"), importlib.import_module("tables")
    assert set(make.TABLES) == set(TABLES)
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "argv", ["make.py", "certificates"])
    make.main()
    assert (tmp_path / "certificates.json").read_text() == (FOLDER / "certificates.json").read_text()
