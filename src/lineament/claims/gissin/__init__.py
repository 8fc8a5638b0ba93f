"""Gissin, Shalev-Shwartz & Daniely (2020): the implicit bias of depth, or how learning becomes incremental."""

from . import toy

__all__ = ["toy"]
