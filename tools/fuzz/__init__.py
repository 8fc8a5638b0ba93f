"""Hostile arguments, files and command lines for everything public; see `python -m tools.fuzz --help`."""
