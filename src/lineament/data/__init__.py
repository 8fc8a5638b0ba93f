"""Synthetic and real data."""
