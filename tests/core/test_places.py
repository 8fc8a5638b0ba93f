"""Files are not put in the place of what is none, nor waited for where nobody writes."""

import os
from pathlib import Path

import pytest

from lineament.core import places


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_a_file_may_be_there_or_not_and_a_link_counts_as_what_it_leads_to(tmp_path, pipe):
    (tmp_path / "file").write_text("x")
    for name, target in (("to_file", "file"), ("to_nothing", "nowhere"), ("to_pipe", "pipe")):
        (tmp_path / name).symlink_to(target)
    for name in ("file", "new", "to_file", "to_nothing"):
        places.refuse_to_replace(tmp_path / name)
        places.refuse_to_read(tmp_path / name)
    for refuse in (places.refuse_to_replace, places.refuse_to_read):
        for path in (pipe, tmp_path / "to_pipe", Path(os.devnull)):
            with pytest.raises(OSError, match="A device or a pipe") as told:
                refuse(path)
            assert told.value.filename == str(path)
        with pytest.raises(IsADirectoryError) as told:
            refuse(tmp_path)
        assert told.value.filename == str(tmp_path)


def test_names_in_the_folder_of_devices_are_refused_whatever_they_lead_to(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "DEVICES", tmp_path)
    with pytest.raises(OSError, match="A device or a pipe"):
        places.refuse_to_replace(tmp_path / "stdout")
    places.refuse_to_replace(tmp_path / "shm" / "file")
