"""A file is written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from proxyuse.errors import FileError
from proxyuse.io.writing import written
from tests.io.test_data_files import somebody_else


@pytest.fixture(autouse=True)
def ordinary_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def permissions(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("content", "raw"),
    [
        ("Åsa\n", "Åsa\n".encode()),
        ("a\r\nb", b"a\r\nb"),
        (b"\x00\xff", b"\x00\xff"),
        ("", b""),
        ("lone \udc80", b"lone \\udc80"),
    ],
)
@pytest.mark.parametrize("as_given", [str, Path])
def test_what_is_written_is_there_and_nothing_else(tmp_path, content, raw, as_given):
    path = tmp_path / "report"
    for _ in range(2):
        assert written(as_given(path), content) == path
        assert path.read_bytes() == raw
    assert os.listdir(tmp_path) == ["report"]


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_permissions_of_the_umask(tmp_path, umask):
    os.umask(umask)
    assert permissions(written(tmp_path / "report", "x")) == 0o666 & ~umask


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, mode):
    path = written(tmp_path / "report", "old")
    path.chmod(mode)
    assert permissions(written(path, "new")) == mode
    assert path.read_text() == "new"


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real/report")
    for content in ("first", "second"):
        written(link, content)
        assert link.is_symlink()
        assert (tmp_path / "real/report").read_text() == content
    assert os.listdir(tmp_path / "real") == ["report"]


def test_a_long_name_is_no_obstacle(tmp_path):
    assert written(tmp_path / ("x" * 255), "x").read_text() == "x"


def test_a_device_is_written_to_and_not_replaced():
    before = os.stat("/dev/null")
    written("/dev/null", "x")
    assert os.stat("/dev/null").st_ino == before.st_ino
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_an_open_pipe_is_written_to():
    reading, writing = os.pipe()
    written(f"/dev/fd/{writing}", "report")
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"report"


# What is refused


def refused(path, *messages):
    with pytest.raises(FileError) as caught:
        written(path, "new")
    for words in (str(path), *messages):
        assert words in str(caught.value)


def test_a_place_that_is_not_there_is_said_so(tmp_path):
    refused(tmp_path / "none" / "report", f"the folder {tmp_path / 'none'} does not exist")
    refused(tmp_path, "is a folder")
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file" / "report", "is not a folder")
    refused(tmp_path / ("x" * 300), "cannot be written")
    refused("-", "standard output")
    refused(Path("-"), "standard output")


def test_a_folder_without_permission_is_said_so(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    with somebody_else():
        refused(folder / "report", "no permission")
    assert os.listdir(folder) == []
    folder.chmod(0o755)


def test_a_file_that_may_not_be_written_to_is_not_replaced(tmp_path):
    path = written(tmp_path / "report", "old")
    path.chmod(0o444)
    tmp_path.chmod(0o777)
    with somebody_else():
        refused(path, "no permission")
    assert path.read_text() == "old"


def test_a_full_disk_is_said_so():
    refused("/dev/full", "no space left", "No space left")


def child(code, folder, **options):
    code = "from proxyuse.io.writing import written\n" + code
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize("old", [None, "old"])
def test_where_there_is_no_room_nothing_is_changed(tmp_path, old):
    if old is not None:
        (tmp_path / "report").write_text(old)
    code = """
import resource
from proxyuse.errors import FileError
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    written("report", "x" * 20_000)
except FileError as error:
    print(error)
"""
    out, err = child(code, tmp_path).communicate(timeout=60)
    assert "report cannot be written: no space left" in out, err
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == ({"report": old} if old else {})


def test_control_c_leaves_nothing_behind(tmp_path):
    (tmp_path / "report").write_text("old")
    code = """
import os
os.fsync = lambda file: (print("writing", flush=True), input())
written("report", "x" * 20_000)
"""
    process = child(code, tmp_path, stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    assert len(os.listdir(tmp_path)) == 2
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"report": "old"}
