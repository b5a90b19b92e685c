"""Processes of ours that speak through pipes."""

import io
import os
import pickle
import subprocess
import sys
from contextlib import suppress

import pytest

from lamina import _child as child


def ran(code, *words, **options):
    """Run a module `spoken` of the folder `place` as one of our processes."""
    place = options.pop("place")
    (place / "spoken.py").write_text(code)
    sys.path.insert(0, str(place))
    try:
        command = child.command("spoken")
    finally:
        sys.path.remove(str(place))
    return subprocess.run([*command, *words], capture_output=True, timeout=60, **options)


SPEAKS = """
import pickle
from lamina import _child as child

print("before")

def main():
    out = child.voice()
    print("among the complaints")
    pickle.dump({"answer": 42}, out)
    out.close()
"""


def test_what_is_printed_is_not_what_is_said(tmp_path):
    done = ran(SPEAKS, place=tmp_path)
    stream = io.BytesIO(done.stdout)
    assert done.stdout.startswith(b"before\n") and done.stderr.decode().split("\n")[0] == "among the complaints"
    child.hear_hello(stream)
    assert pickle.load(stream) == {"answer": 42}


def test_who_ends_before_it_speaks_is_heard():
    with pytest.raises(EOFError):
        child.hear_hello(io.BytesIO(b"something\nelse"))


def test_the_folder_in_which_it_works_is_not_imported_from(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "pickle.py").write_text("raise SystemExit(7)")
    assert ran(SPEAKS, place=tmp_path, cwd=work).returncode == 0


@pytest.mark.parametrize(("given", "code", "complaint"), [(b"", 0, b""), (b"no pickle", 1, b"UnpicklingError")])
def test_it_ends_with_its_pipe_and_with_what_it_cannot_take_in(tmp_path, given, code, complaint):
    text = """
import pickle, sys, threading, time
from lamina import _child as child

def main():
    threading.Thread(target=child.listening(lambda: pickle.load(sys.stdin.buffer), print), daemon=True).start()
    time.sleep(60)
    sys.exit(3)
"""
    done = ran(text, place=tmp_path, input=given)
    assert done.returncode == code and complaint in done.stderr


def test_who_says_nothing_any_more_may_complain_and_is_ended_at_last():
    code = "import os, sys, time; os.close(1); time.sleep(float(sys.argv[1])); sys.exit(5)"
    found = []
    for seconds in ("0.5", "60"):
        process = subprocess.Popen([sys.executable, "-c", code, seconds], stdout=subprocess.PIPE)
        assert process.stdout.read() == b""
        found.append(child.end_of(process, patience=10.0 if seconds == "0.5" else 0.5))
        process.stdout.close()
    assert found == [5, -9]


@pytest.mark.parametrize(
    ("complaints", "code", "said"),
    [
        (b"a warning\n", -9, "exit code -9"),
        (b"first\nValueError: the cause\n", 1, "ValueError: the cause"),
        (b"", 3, "no message"),
        (b"a warning\n", None, "a warning"),
    ],
)
def test_last_words(complaints, code, said):
    assert child.last_words(io.BytesIO(complaints), code) == said


ANSWERS = """
import pickle, sys
from lamina import _child as child

out = child.voice()
for _ in range(2):
    pickle.dump(pickle.load(sys.stdin.buffer) + 1, out)
    out.flush()
if sys.argv[1:]:
    sys.exit("that was all")
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("words", "silent", "reason"),
    [([], "", "exit code 3"), ([], "nothing", "nothing"), (["complain"], "", "that was all")],
)
def test_what_is_said_is_answered_until_it_ends_with_a_reason(words, silent, reason, tmp_path):
    command, pipe = [sys.executable, "-c", ANSWERS, *words], subprocess.PIPE
    with open(tmp_path / "log", "w+b") as log:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log)
        talk = child.Talk(process, log, silent)
        for number in (1, 41):
            talk.say(pickle.dumps(number))
            assert talk.hear() == number + 1
        for _ in range(2):
            with pytest.raises(EOFError, match=reason):
                talk.hear()
            talk.say(pickle.dumps(5))  # nobody listens, which is no error
        with suppress(OSError):
            process.communicate()


def test_the_command_names_its_module_last():
    command = child.command("lamina.data.reader")
    assert command[0] == sys.executable and command[-1] == "lamina.data.reader" and os.sep in command[3]
