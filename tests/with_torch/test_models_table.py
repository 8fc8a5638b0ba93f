"""A part of the table of models: no operation changes what a model computes. All of it: `python -m benchmarks.models`."""

import pytest

torch = pytest.importorskip("torch")

from benchmarks import device, models  # noqa: E402

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


def test_what_is_tried_on_a_device_is_tried_here():
    """All operations on a tiny recurrent network meet their bars, and a distance above its bar is told."""
    case = next(one for one in device.cases(tiny=True) if one.name == "LSTM")
    found = device.operations(case, torch.device("cpu"))
    assert device.passed(found) == []
    wrong = found | {"collapse": 1e-3, "expand, bf16": 0.5, "recorder": False}
    assert device.passed(wrong) == ["collapse", "expand, bf16", "recorder"]
    lost = {"own rounding, fp16": 1.0, "expand, fp16": float("nan")}
    assert device.passed(found | lost) == []
    assert device.passed(found | lost | {"own rounding, fp16": 0.1}) == ["expand, fp16"]
    row = device.kernels(case, torch.device("cpu"), rounds=1)
    assert row["gap"] < 1e-5
    assert "ratio" in device.cells([row, {"model": "other"}])
