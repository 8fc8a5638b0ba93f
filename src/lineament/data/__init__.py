"""Synthetic and real data, and changes to their principal components."""

from .catalogue import cache_folder, entry, folders, load, load_table, locate, names, verify
from .components import Components, fit, separable_labels
from .entries import Entry, TableEntry
from .frequency import Points, frequency_images, frequency_points, partial_labels, partial_sums
from .gaussian import natural_gaussian, natural_spectrum
from .images import Images
from .photos import photographs
from .pixels import average_pool, low_pass, normalise_channels

__all__ = [
    "Components",
    "Entry",
    "Images",
    "Points",
    "TableEntry",
    "average_pool",
    "cache_folder",
    "entry",
    "fit",
    "folders",
    "frequency_images",
    "frequency_points",
    "load",
    "load_table",
    "locate",
    "low_pass",
    "names",
    "natural_gaussian",
    "natural_spectrum",
    "normalise_channels",
    "partial_labels",
    "partial_sums",
    "photographs",
    "separable_labels",
    "verify",
]
