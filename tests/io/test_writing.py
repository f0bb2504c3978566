"""A file is written whole or not at all, and several files together or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from proxyuse.errors import FileError
from proxyuse.io.writing import written, written_together
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
    code = "from proxyuse.io.writing import written, written_together\n" + code
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background makes its children ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
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


# Several files


OLD = {"a": "old a", "b": "old b", "c": "old c"}
# Writes a new file, two files that exist and a pipe, which holds it up after the temporary files
# are there and before any file is replaced.
TOGETHER = """
from pathlib import Path
from proxyuse.cli.main import _terminated_like_interrupted
from proxyuse.errors import FileError
files = {name: f"new {name}" for name in ["new", "a", "pipe", "b", "c"]}
with _terminated_like_interrupted():
    try:
        written_together({Path(name): text for name, text in files.items()})
    except FileError as error:
        print(error)
"""


def until(process, reached):
    deadline = time.monotonic() + 60  # a bound for a test that fails
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline


def staged(folder):
    return sorted(path.read_text() for path in folder.glob(".proxyuse-*.tmp"))


@pytest.fixture
def held_up(tmp_path):
    """A folder with old files, and a process that waits for someone to read its pipe."""
    for name, text in OLD.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "b").chmod(0o640)
    os.mkfifo(tmp_path / "pipe")
    process = child(TOGETHER, tmp_path)
    until(process, lambda: staged(tmp_path) == ["new a", "new b", "new c", "new new"])
    yield tmp_path, process
    process.kill()
    process.communicate()


def texts(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_several_files_are_written_together(held_up):
    folder, process = held_up
    assert {path: (folder / path).read_text() for path in OLD} == OLD
    assert (folder / "pipe").read_text() == "new pipe"
    out, err = process.communicate(timeout=60)
    assert (out, err) == ("", "")
    assert texts(folder) == {name: f"new {name}" for name in ["new", "a", "b", "c"]}
    assert permissions(folder / "b") == 0o640


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_old_files_and_nothing_else(held_up, number):
    folder, process = held_up
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert err.strip().endswith({signal.SIGINT: "KeyboardInterrupt"}.get(number, "Terminated"))
    assert texts(folder) == OLD


@pytest.mark.parametrize("name", ["a", "b", "c", "new"])
def test_files_already_replaced_are_put_back_if_another_cannot_be(held_up, name):
    folder, process = held_up
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir()  # which no file can replace
    before = {n: text for n, text in texts(folder).items() if not n.startswith(".")}
    numbers = {n: (folder / n).stat().st_ino for n in before}
    assert (folder / "pipe").read_text() == "new pipe"
    out, err = process.communicate(timeout=60)
    assert f"{name} is a folder" in out, err
    assert texts(folder) == before
    assert {n: (folder / n).stat().st_ino for n in before} == numbers
    assert permissions(folder / "b") == 0o640 or name == "b"
    assert sorted(p.name for p in folder.iterdir()) == sorted({*OLD, "pipe", name})


def test_a_folder_that_was_removed_in_between_changes_nothing_elsewhere(tmp_path):
    (tmp_path / "a").write_text("old a")
    (tmp_path / "gone").mkdir()
    os.mkfifo(tmp_path / "pipe")
    code = """
from pathlib import Path
from proxyuse.errors import FileError
try:
    written_together({Path(name): "new" for name in ["a", "pipe", "gone/b"]})
except FileError as error:
    print(error)
"""
    process = child(code, tmp_path)
    until(process, lambda: staged(tmp_path / "gone") == ["new"])
    for path in (tmp_path / "gone").iterdir():
        path.unlink()
    (tmp_path / "gone").rmdir()
    assert (tmp_path / "pipe").read_text() == "new"
    out, err = process.communicate(timeout=60)
    assert "gone/b cannot be written: the folder gone does not exist" in out, err
    assert texts(tmp_path) == {"a": "old a"}


def test_where_there_is_no_room_for_the_last_no_file_is_changed(tmp_path):
    for name, text in OLD.items():
        (tmp_path / name).write_text(text)
    code = """
import resource
from pathlib import Path
from proxyuse.errors import FileError
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    written_together({Path("a"): "new", Path("new"): "new", Path("c"): "x" * 20_000})
except FileError as error:
    print(error)
"""
    out, err = child(code, tmp_path).communicate(timeout=60)
    assert "c cannot be written: no space left" in out, err
    assert texts(tmp_path) == OLD


def test_a_full_device_changes_no_file(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(FileError, match="no space left"):
        written_together({tmp_path / "a": "new", Path("/dev/full"): "new", tmp_path / "b": "new"})
    assert texts(tmp_path) == {"a": "old"}


READ_ONLY = """
import os
from pathlib import Path
from proxyuse.errors import FileError
if os.geteuid() == 0:
    os.setuid(65534)  # no permission stops root
try:
    written_together({Path("a"): "new", Path("closed/b"): "new"})
except FileError as error:
    print(error)
"""


@pytest.mark.parametrize("closed", ["folder", "file"])
def test_a_read_only_file_or_folder_changes_no_file(closed):
    with tempfile.TemporaryDirectory() as name:  # which others may enter
        folder = Path(name)
        (folder / "closed").mkdir()
        for path in ("a", "closed/b"):
            (folder / path).write_text("old")
            (folder / path).chmod(0o666)
        folder.chmod(0o777)
        (folder / "closed").chmod(0o555 if closed == "folder" else 0o777)
        if closed == "file":
            (folder / "closed/b").chmod(0o444)
        out, err = child(READ_ONLY, folder).communicate(timeout=60)
        (folder / "closed").chmod(0o777)
        assert "closed/b cannot be written: no permission" in out, err
        assert (texts(folder), texts(folder / "closed")) == ({"a": "old"}, {"b": "old"})


def test_a_signal_while_files_are_replaced_waits_until_all_are(tmp_path):
    """The old and the new set of files are both whole; a mixture never is."""
    (tmp_path / "a").write_text("old")
    os.mkfifo(tmp_path / "pipe")
    code = """
import os, signal
from pathlib import Path
from proxyuse.io.writing import _signals_deferred
try:
    with _signals_deferred():
        os.kill(os.getpid(), signal.SIGINT)
        written("a", "new")
except KeyboardInterrupt:
    print("interrupted")
"""
    out, err = child(code, tmp_path).communicate(timeout=60)
    assert (out, err) == ("interrupted\n", "")
    assert texts(tmp_path) == {"a": "new"}


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
