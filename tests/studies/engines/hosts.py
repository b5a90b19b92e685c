"""Two hosts as network namespaces, each with a worker of Dask; one of them is cut off in the middle of a search.

Run by `tools/offline.py`, so that nothing of the network of this machine is seen or changed:
`python tools/offline.py python hosts.py FOLDER`. It prints what the search says.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

TRIALS, EPOCHS, PORT = 24, 40, 8786
QUICK = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s"}
"""A scheduler that notices after seconds that a host is silent."""


def ip(*words, inside=()):
    subprocess.run([*inside, "ip", *words], check=True)


def host(number, started):
    """Make a host that a cable connects with this one; return the words that run a command there."""
    process = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
    started.append(process)
    own = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{process.pid}/ns/net") == own:
        time.sleep(0.01)
    inside = ["nsenter", "-t", str(process.pid), "-n"]
    ip("link", "add", f"cable{number}", "type", "veth", "peer", "name", "eth0", "netns", str(process.pid))
    ip("addr", "add", f"10.77.{number}.1/24", "dev", f"cable{number}")
    ip("link", "set", f"cable{number}", "up")
    ip("addr", "add", f"10.77.{number}.2/24", "dev", "eth0", inside=inside)
    for device in ("lo", "eth0"):
        ip("link", "set", device, "up", inside=inside)
    return inside


def main(folder):
    from studies.engines.killing import begin, count, wait_for

    started, python = [], [sys.executable, "-m"]
    logs = open(Path(folder) / "logs", "wb")
    try:
        words = [*python, "distributed.cli.dask_scheduler", "--host", "0.0.0.0", "--port", str(PORT)]
        started.append(subprocess.Popen([*words, "--no-dashboard"], env=os.environ | QUICK, stderr=logs))
        for number in (1, 2):
            worker = [*python, "distributed.cli.dask_worker", f"10.77.{number}.1:{PORT}", "--nthreads", "1"]
            inside = host(number, started)
            started.append(subprocess.Popen([*inside, *worker, "--no-nanny", "--no-dashboard"], stderr=logs))
        study = Path(folder) / "s"
        from lamina.studies.engines.dask import connect

        with connect(f"127.0.0.1:{PORT}") as client:
            client.wait_for_workers(2, timeout=60)
        search = begin(study, TRIALS, EPOCHS, f"dask://127.0.0.1:{PORT}")
        started.append(search)
        wait_for(lambda: count(study) >= 4, search)
        ip("link", "set", "cable2", "down")
        print("cut", count(study))
        print(search.communicate(timeout=400)[0])
        return search.returncode
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        logs.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
