"""Ctrl-C that arrives where Python drops exceptions."""

import gc
import signal
import sys
import time

import pytest

from lineament.cli import interrupts


@pytest.fixture(autouse=True)
def _interruptible():
    """What a shell starts in the background ignores interruptions, tests too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@interrupts.kept()
def _collect_and_wait():
    gc.collect()
    time.sleep(20)


def test_an_interruption_of_the_garbage_collector_comes_again(capfd):
    def once(phase, info):
        gc.callbacks.remove(once)
        raise KeyboardInterrupt

    before = sys.unraisablehook
    gc.callbacks.append(once)
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _collect_and_wait()
    assert time.monotonic() - begin < 10
    assert sys.unraisablehook is before
    assert capfd.readouterr().err == ""


def test_other_exceptions_that_are_dropped_are_told_as_before(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))

    def once(phase, info):
        gc.callbacks.remove(once)
        raise RuntimeError

    with interrupts.kept():
        gc.callbacks.append(once)
        gc.collect()
    assert told == [RuntimeError]
