"""Truncated and expanded models leave PyTorch as they are: ONNX, run by its own runtime."""

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from lineament.torch import expand, truncate


def model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1, groups=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(256, 10),
    ).eval()  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [lambda net: truncate(net, parameters=0.5)[0], lambda net: expand(net, 3)[0]],
    ids=["truncated", "expanded"],
)
def test_onnx_computes_the_same(tmp_path, change):
    net, x = change(model()), torch.randn(2, 3, 8, 8)
    torch.onnx.export(net, (x,), tmp_path / "net.onnx", dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(found, net(x), rtol=1e-4, atol=1e-5)
