"""Gissin, Shalev-Shwartz & Daniely (2020): the implicit bias of depth, or how learning becomes incremental."""

from . import phases, steps, threshold_descent, threshold_flow, toy

__all__ = ["phases", "steps", "threshold_descent", "threshold_flow", "toy"]
