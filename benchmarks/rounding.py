"""What rounded factors gain and cost: st-VGG ensembles in TF32, bfloat16 and float32, by speed and by order of learning.

`python -m benchmarks.rounding`, on a host with a GPU that need have nothing but JAX and PyTorch, in a few minutes. Two
ensembles of each precision, with starts and batches of their own, are trained on one task. If precision does not matter,
two ensembles of different precision learn examples in orders as alike as two of the same.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from lineament import train
from lineament.core.precision import Precision
from lineament.train.epochs import PREDICTIONS, Watched

from .harness import wall_seconds
from .st_vgg import BATCH, CLASSES, EXAMPLES, FLOPS, MEMBERS, NET, PRECISIONS, eager, matmul_rate, start

WATCHED = 500
EPOCHS = np.array([1, 2, 3, 4, 6, 8, 10, 12])


class Learnt(NamedTuple):
    """Trained images per second, and how early each network learnt each watched example: its accessibility there."""

    images_per_second: float
    accessibility: np.ndarray


def task(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of images, each a smooth pattern of its class, shifted, of its own strength, under noise; and the classes."""
    rng = np.random.default_rng(seed)
    count = EXAMPLES + WATCHED
    patterns, noise = _smooth(rng, CLASSES), _smooth(rng, count)
    y, strength = rng.integers(CLASSES, size=count), rng.uniform(0.1, 1.0, count)
    shifts = rng.integers(-4, 5, (count, 2))
    shifted = np.stack([np.roll(patterns[k], shift, (0, 1)) for k, shift in zip(y, shifts, strict=True)])
    X = strength[:, None, None, None] * shifted + noise + 0.5 * rng.normal(size=noise.shape)
    return (X / X.std()).reshape(count, -1).astype(np.float32), y


def _smooth(rng: np.random.Generator, count: int) -> np.ndarray:
    """Random images without their high frequencies."""
    frequency = np.fft.fftfreq(32) * 32
    kept = np.exp(-(frequency[:, None] ** 2 + frequency**2) / 18)[..., None]
    white = rng.normal(size=(count, 32, 32, 3))
    images = np.fft.ifft2(np.fft.fft2(white, axes=(1, 2)) * kept, axes=(1, 2)).real
    return images / images.std()


def learn(precision: Precision, seed: int) -> Learnt:
    """Train an ensemble with starts and batches of its own, and predict the watched examples as it goes."""
    X, y = task()
    problem = Watched(jnp.asarray(X), jnp.asarray(y[:EXAMPLES]), CLASSES, unwatched=EXAMPLES)
    begin, at = jax.block_until_ready(start(seed)), EPOCHS * (EXAMPLES // BATCH)
    begun = time.perf_counter()
    run = train.descend(
        NET, problem, begin, step_size=0.02, steps=int(at[-1]), at=at, record=(PREDICTIONS,), batch_size=BATCH,
        key=jax.random.key(1000 + seed), precision=precision,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    right = run.predictions.values == y[EXAMPLES:]
    return Learnt(MEMBERS * BATCH * int(at[-1]) / seconds, right.mean(axis=1))


class Order(NamedTuple):
    """Correlations of accessibility between ensembles, and by how much those across lie above those within."""

    one: float
    other: float
    across: float
    change: float


def order(one: Sequence[np.ndarray], other: Sequence[np.ndarray]) -> Order:
    """How alike the orders of learning are, of two ensembles (member, example) each of one precision and of another."""
    r = np.corrcoef([scores.mean(axis=0) for scores in (*one, *other)])
    across = r[:2, 2:].mean()
    return Order(r[0, 1], r[2, 3], across, across - (r[0, 1] + r[2, 3]) / 2)


def error(one: Sequence[np.ndarray], other: Sequence[np.ndarray], resamples: int = 500) -> float:
    """The standard error of the change: over networks and examples drawn anew."""
    rng = np.random.default_rng(0)

    def anew() -> float:
        examples = rng.integers(WATCHED, size=WATCHED)
        drawn = [
            [scores[rng.integers(MEMBERS, size=MEMBERS)][:, examples] for scores in pair] for pair in (one, other)
        ]
        return order(*drawn).change

    return float(np.std([anew() for _ in range(resamples)]))


def main() -> None:
    """Print images per second of eager PyTorch and by precision, and each two precisions' orders of learning."""
    print(f"on {jax.devices()[0].device_kind}, JAX {jax.__version__}", flush=True)
    X, y = task()
    for bf16 in (False, True):
        rate = MEMBERS * BATCH * 30 / wall_seconds(eager(X[:EXAMPLES], y[:EXAMPLES], 30, bf16))
        print(f"eager PyTorch{', autocast to bfloat16' * bf16}: {rate:,.0f} images/s", flush=True)
    scores: dict[Precision, tuple[np.ndarray, np.ndarray]] = {}
    for precision in PRECISIONS:
        begun = time.perf_counter()
        first, again = learn(precision, 0), learn(precision, 1)
        scores[precision] = first.accessibility, again.accessibility
        share = again.images_per_second * FLOPS / matmul_rate(precision=precision)
        print(
            f"{precision}: {again.images_per_second:,.0f} images/s, {share:.1%} of the rate of large products; right on "
            f"average over epochs: {again.accessibility.mean():.3f}; with compiling {time.perf_counter() - begun:.0f} s",
            flush=True,
        )
        for earlier in list(scores)[:-1]:
            pairs = scores[earlier], scores[precision]
            found = order(*pairs)
            print(
                f"order of learning, correlations between ensembles: {earlier} {found.one:.4f}, {precision} "
                f"{found.other:.4f}, across {found.across:.4f}; change {found.change:+.4f} ± {error(*pairs):.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
