"""A process that has compiled much makes room before its system ends it."""

import jax
import jax.numpy as jnp
import pytest

from lineament.execution import mappings


@pytest.fixture
def counted(tmp_path):
    """Files as Linux has them: so many maps, and so many at most."""

    def files(count, most):
        (tmp_path / "maps").write_text("7f00-7f01 r--p\n" * count)
        (tmp_path / "most").write_text(f"{most}\n")
        return tmp_path / "maps", tmp_path / "most"

    return files


@pytest.mark.parametrize(("count", "most", "crowded"), [(5, 10, False), (6, 10, True), (0, 10, False)])
def test_more_than_half_of_the_maps_are_many(counted, count, most, crowded):
    assert mappings.crowded(*counted(count, most)) is crowded


def test_where_nothing_is_counted_nothing_is_crowded(counted, tmp_path):
    maps, most = counted(6, 10)
    assert not mappings.crowded(tmp_path / "none", most)
    assert not mappings.crowded(maps, tmp_path / "none")


def test_what_was_compiled_is_forgotten_only_where_it_is_crowded(monkeypatch):
    double = jax.jit(lambda x: 2 * x)
    double(jnp.ones(3))
    monkeypatch.setattr(mappings, "crowded", lambda: False)
    mappings.relieve()
    assert double._cache_size() == 1
    monkeypatch.setattr(mappings, "crowded", lambda: True)
    mappings.relieve()
    assert double._cache_size() == 0
    assert double(jnp.ones(3)).tolist() == [2, 2, 2]
