"""Models that cannot be are refused when they are made, or when they are asked for what they have not."""

import jax.numpy as jnp
import pytest

from lineament.models import ConvNet, DeepLinear, Mirrored, TreeTensor
from lineament.models.collapsed import Collapsed


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ConvNet((4, 4, 1), (2,), (3,), kernels=((5, 3),), padding="circular"),
            "kernels must fit into the image",
        ),
        (
            lambda: ConvNet((4, 4, 1), (2,), (3,), kernels=((3, 5),), padding="circular"),
            "kernels must fit into the image",
        ),
        (lambda: TreeTensor((2, 2, 2), 2), "sizes must have 2, 4, 8, … axes"),
        (lambda: Mirrored(DeepLinear((2, 2)))._tappable, "plain must be a network whose layers can be tapped"),
        (
            lambda: Mirrored(DeepLinear((2, 2)))._function((jnp.eye(2),)),
            "plain must be a model whose maps are functions",
        ),
        (
            lambda: Collapsed(ConvNet((4, 4, 1), (2,), (3,), activation="relu")),
            "network must have the activation 'linear'",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
