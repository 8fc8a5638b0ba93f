"""A part of the table of models: no operation changes what a model computes. All of it: `python -m benchmarks.models`."""

import pytest

pytest.importorskip("torch")

from benchmarks import models

SMALL = ("LSTM", "ViT", "GPT-2", "BERT", "timm mobilenetv2_050")


def share(cell):
    return float(cell.rstrip("%")) / 100


def test_models_that_people_have_are_not_changed():
    """In single precision to 1e-5; in half precision by no more than three times what the type itself rounds."""
    found = [models.row(case) for case in models.cases() if case.name in SMALL]
    assert "LSTM" in [row["model"] for row in found]
    for row in found:
        assert all(float(row[name]) < 1e-5 for name in ("expand", "collapse", "ntk")), row
        assert share(row["expand, bf16"]) <= max(3 * share(row["own rounding, bf16"]), 0.01), row


def test_the_page_has_a_line_for_each_model():
    rows = [{"model": "a", "expand": "1e-07"}, {"model": "b", "expand": "2e-07"}]
    assert models.page(rows).endswith("| a | 1e-07 |\n| b | 2e-07 |\n")
