"""Data that need no files: patches of photographs, Gaussian images with a natural spectrum, the frequency data."""

import numpy as np
import pytest

from lineament.data import components as pc
from lineament.data import frequency, gaussian, photos


def test_patches_of_photographs():
    found = photos.photographs(160, 80, size=8)
    again = photos.photographs(160, 80, size=8)
    np.testing.assert_array_equal(found.images, again.images)
    assert found.images.shape == (160, 8, 8, 1)
    np.testing.assert_array_equal(np.bincount(found.labels), [20] * 8)
    np.testing.assert_array_equal(np.bincount(found.test_labels), [10] * 8)
    assert found.images.min() >= 0
    assert found.images.max() <= 1
    assert not np.array_equal(photos.photographs(160, 80, size=8, seed=1).images, found.images)


def test_every_patch_is_cut_from_its_photograph_and_no_pixel_is_in_both_sets():
    names = ("camera", "coffee")
    found = photos.photographs(40, 40, size=16, names=names)
    for label, name in enumerate(names):
        picture = photos._grey(name)
        windows = np.lib.stride_tricks.sliding_window_view(picture, (16, 16))
        tiles = []
        for images, labels in ((found.images, found.labels), (found.test_images, found.test_labels)):
            places = []
            for patch in images[labels == label][..., 0]:
                places += np.argwhere(_matches(windows, patch))[:1].tolist()
            assert len(places) == 20
            tiles.append({(y // 32, x // 32) for y, x in places})
        assert not tiles[0] & tiles[1]


def _matches(windows, patch):
    corner = windows[..., 0, 0] == patch[0, 0]
    for y, x in ((0, 1), (1, 0), (7, 7), (15, 15), (3, 12)):
        corner &= windows[..., y, x] == patch[y, x]
    for y, x in np.argwhere(corner):
        corner[y, x] = np.array_equal(windows[y, x], patch)
    return corner


def test_photographs_have_the_spectrum_of_natural_images():
    """Power falls about as 1/f²: between f = 1 and 4 cycles a patch by a factor of 16, give or take 4."""
    images = photos.photographs(names=("astronaut", "camera", "chelsea", "coffee")).images[..., 0]
    power = np.mean(np.abs(np.fft.fft2(images - images.mean((1, 2), keepdims=True))) ** 2, axis=0)
    assert 4 < (power[0, 1] + power[1, 0]) / (power[0, 4] + power[4, 0]) < 64


def test_the_largest_patches_leave_tiles_to_train_and_to_test():
    found = photos.photographs(16, 16, size=photos.LARGEST)
    assert found.images.shape == found.test_images.shape == (16, 32, 32, 1)


def test_gaussian_images_have_the_spectrum_they_say():
    found = gaussian.natural_gaussian(20_000, 10, size=6)
    power = gaussian.natural_spectrum(6)
    assert power.mean() == pytest.approx(1)
    assert power[0, 1] / power[0, 2] == pytest.approx(4)
    measured = np.mean(np.abs(np.fft.fft2(found.images[..., 0])) ** 2, axis=0) / 36
    np.testing.assert_allclose(measured, power, rtol=0.06)
    variances = pc.fit(found.images, centre=False).variances
    np.testing.assert_allclose(variances, np.sort(power.ravel())[::-1], rtol=0.12)


@pytest.mark.parametrize("alignment", [-1.0, 0.0, 1.0])
def test_the_teacher_lies_along_the_components_it_should(alignment):
    """The label correlates with whitened component j as variance_j^alignment, in the mean over components."""
    found = gaussian.natural_gaussian(40_000, 10, size=8, alignment=alignment, seed=3)
    power = gaussian.natural_spectrum(8).ravel()
    white = (np.fft.fft2(found.images[..., 0]).reshape(len(found.images), -1)) / np.sqrt(power)
    signal = np.abs(np.mean(white * (2.0 * found.labels - 1)[:, None], axis=0)) ** 2
    high, low = power > np.quantile(power, 0.75), power < np.quantile(power, 0.25)
    ratio = signal[high].mean() / signal[low].mean()
    expected = (power[high] ** alignment).mean() / (power[low] ** alignment).mean()
    assert ratio == pytest.approx(expected, rel=0.8)
    assert (ratio > 3) == (alignment > 0)


def test_flipped_labels():
    clean, noisy = (gaussian.natural_gaussian(4000, 100, size=4, flips=flips) for flips in (0.0, 0.5))
    np.testing.assert_array_equal(clean.images, noisy.images)
    np.testing.assert_array_equal(clean.test_labels, noisy.test_labels)
    assert np.mean(clean.labels != noisy.labels) == pytest.approx(0.25, abs=0.03)


def test_partial_sums_of_waves():
    z = np.linspace(-1, 1, 7)
    found = frequency.partial_sums(z)
    for j in range(10):
        expected = sum(np.sin(2 * np.pi * i * z + frequency.PHASES[i]) for i in range(j + 1))
        np.testing.assert_allclose(found[j], expected, atol=1e-12)
    np.testing.assert_array_equal(found[0], 0)  # frequency 0 with phase 0 is no wave at all


@pytest.mark.parametrize("rule", ["graph", "sign"])
def test_frequency_points_are_separated_by_their_waves(rule):
    data = frequency.frequency_points(rule=rule)
    assert data.points.shape == (10_000, 2)
    assert data.test_points.shape == (1000, 2)
    assert (np.abs(data.points) <= [1, 2 * np.pi]).all()
    wave = frequency.partial_sums(data.points[:, 0])[-1]
    expected = wave > data.points[:, 1] if rule == "graph" else wave > 0
    np.testing.assert_array_equal(data.labels, expected)
    by_part = frequency.partial_labels(data.points, rule)
    assert by_part.shape == (10, 10_000)
    np.testing.assert_array_equal(by_part[-1], data.labels)
    assert frequency.frequency_images(rule=rule).images.shape == (10_000, 1, 1, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: photos.photographs(names=("camera", "lena")), "names must be at least two"),
        (lambda: photos.photographs(names=("camera",)), "names must be at least two"),
        (lambda: photos.photographs(train=9), "train must be a positive multiple of the 8"),
        (lambda: photos.photographs(size=100), "size must be a whole number of at least 2 and at most 32"),
        (lambda: gaussian.natural_spectrum(1), "size must be a whole number of at least 2"),
        (lambda: gaussian.natural_spectrum(4, np.nan), "exponent must be a finite number"),
        (lambda: gaussian.natural_gaussian(classes=1), "classes must be a whole number of at least 2"),
        (lambda: gaussian.natural_gaussian(flips=2), "flips must be"),
        (lambda: frequency.partial_sums([0.0], [1, 0], [0, 0]), "frequencies must rise"),
        (lambda: frequency.partial_sums(0.0), "z must be a vector"),
        (lambda: frequency.partial_labels([[0.0]]), "points must be"),
        (lambda: frequency.partial_labels([[0.0, 1.0]], "line"), "rule must be"),
        (lambda: frequency.frequency_points(0), "train must be a whole number"),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
