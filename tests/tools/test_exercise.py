"""Which tests a module needs."""

from pathlib import Path

import pytest
from tools.exercise import changed, exercising, module_of, unit_files


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])


def test_a_module_is_met_by_the_tests_that_import_it_its_namesake_first():
    found = exercising("lineament.theory.modes")
    assert found[0] == Path("tests/theory/test_modes.py")
    assert Path("tests/theory/test_units.py") in found, "which imports it too"
    assert Path("tests/theory/test_nuclear.py") not in found, "which does not"


def test_what_no_test_imports_is_met_through_what_imports_it():
    found = exercising("lineament.theory.riccati")
    assert Path("tests/theory/test_two_layer.py") in found


def test_every_package_is_exercised_by_its_own_directory():
    source = Path("src/lineament")
    for package in ("theory", "measure", "problems", "models", "starts", "train", "data", "torch", "forecasting"):
        modules = [module_of(path) for path in (source / package).glob("*.py") if path.stem != "__init__"]
        alone = [module for module in modules if not exercising(module)]
        assert alone == [], "no test reaches these"


def test_a_change_needs_its_tests_and_a_changed_test_itself():
    needed = changed([Path("src/lineament/theory/nuclear.py"), Path("tests/models/test_conv.py"), Path("README.md")])
    assert Path("tests/theory/test_nuclear.py") in needed
    assert Path("tests/models/test_conv.py") in needed
    assert Path("tests/theory/test_phases.py") not in needed
    assert changed([Path("src/lineament/theory/no_longer_there.py")]) == []


def test_claims_and_the_explorer_are_no_unit_tests():
    assert not any({"claims", "explorer"} & set(path.parts) for path in unit_files())
