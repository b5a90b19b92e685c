"""The job files of examples/jobs: linted, run with the commands replaced by notes of what was typed, and read back.

A script is run by bash with `lamina`, `torchrun`, `srun` and `scontrol` of our own, which write down their words. These
words are then parsed by the real parsers: that of torch's torchrun and that of our command line. No job is started.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser
from typer.main import get_command

from lamina.cli import app
from lamina.studies.folder import Part

ROOT = Path(__file__).resolve().parent.parent
JOBS = ROOT / "examples" / "jobs"
SCRIPTS = sorted(JOBS.glob("*.sbatch"))
MANIFESTS = sorted(JOBS.glob("*.yaml"))

DIRECTIVES = {
    "job-name": r"[\w-]+",
    "nodes": r"\d+",
    "ntasks": r"\d+",
    "ntasks-per-node": r"\d+",
    "cpus-per-task": r"\d+",
    "gpus-per-node": r"\d+",
    "time": r"(\d+-)?\d\d:\d\d:\d\d",
    "array": r"\d+-\d+(%\d+)?",
    "signal": r"(B:)?[A-Z]+@\d+",
    "requeue": "",
    "output": r"%x-(%j|%A-%a)\.log",
}
"""What our scripts ask sbatch for, and how sbatch's manual says that it is written."""

RECORDER = f"""#!{sys.executable}
import json, os, sys
with open(os.environ["TYPED"], "a") as file:
    file.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
"""
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def directives(text: str) -> dict[str, str]:
    """Read what a script asks sbatch for; sbatch stops reading at the first command."""
    found, command = {}, False
    for line in text.splitlines()[1:]:
        command |= bool(line.strip()) and not line.startswith("#")
        if line.startswith("#SBATCH"):
            assert not command, f"{line!r} stands below a command, where sbatch does not read it"
            name, _, value = re.fullmatch(r"#SBATCH --([a-z-]+)(=(\S+))?", line).groups()
            assert name not in found and re.fullmatch(DIRECTIVES[name], value or ""), line
            found[name] = value or ""
    return found


def shellcheck(script: str) -> str:
    """Give what shellcheck, which pip installs beside Python, has against a script."""
    program = shutil.which("shellcheck", path=str(Path(sys.executable).parent))
    words = [program, "--shell=bash", "--enable=quote-safe-variables,check-set-e-suppressed,deprecate-which", "-"]
    return subprocess.run(words, input=script, capture_output=True, text=True, encoding="utf-8").stdout


def typed(script: str, folder: Path, *, as_file: bool = False) -> list[list[str]]:
    """Run a script in a folder and give the words of every command of ours and of torchrun."""
    tools, notes = folder / "tools", folder / "typed.jsonl"
    tools.mkdir(exist_ok=True)
    for name, text in {
        "lamina": RECORDER,
        "torchrun": RECORDER,
        "srun": '#!/bin/bash\nwhile [[ $1 == -* ]]; do shift; done\nexec "$@"\n',
        "scontrol": '#!/bin/bash\n[ "$1 $2 $3" = "show hostnames node[1-4]" ] && printf "node%s\\n" 1 2 3 4\n',
    }.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    notes.unlink(missing_ok=True)
    given = {"SLURM_JOB_ID": "77", "SLURM_JOB_NODELIST": "node[1-4]", "SLURM_ARRAY_TASK_ID": "3", "TYPED": str(notes)}
    env = {**os.environ, **given, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    words = ["bash", script] if as_file else ["bash", "-euc", script]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in notes.read_text().splitlines()]


def parsed(words: list[str]) -> tuple[object, str, dict[str, object]]:
    """Parse a command line: what torchrun is told, the verb of ours, and its options; nothing is run."""
    launcher = None
    if words[0] == "torchrun":
        launcher = get_args_parser().parse_args(words[1:])
        assert launcher.module and launcher.training_script == "lamina"
        words = ["lamina", *launcher.training_script_args]
    assert words[0] == "lamina"
    verb = get_command(app).commands[words[1]]
    return launcher, words[1], verb.make_context(words[1], list(words[2:])).params


def resumed(words: list[str]) -> str:
    """Give the folder that a command continues."""
    _, verb, options = parsed(words)
    assert verb == "resume"
    return str(options["run"])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_linted(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#!/bin/bash\n#SBATCH") and "\nset -euo pipefail\n" in text and "\t" not in text
    assert {"job-name", "time", "output"} <= set(directives(text))
    assert shellcheck(text) == ""


def test_the_linter_sees_what_is_wrong():
    assert "SC2086" in shellcheck("#!/bin/bash\nlamina resume $1\n")  # a word without quotes
    with pytest.raises(AssertionError, match="stands below a command"):
        directives("#!/bin/bash\nset -e\n#SBATCH --nodes=4\n")
    with pytest.raises(AssertionError):
        directives("#!/bin/bash\n#SBATCH --time=4h\n")
    with pytest.raises(KeyError, match="gpu"):
        directives("#!/bin/bash\n#SBATCH --gpu=4\n")
    with pytest.raises(Exception, match="No such option: --epoch"):
        parsed(["lamina", "train", "resnet18", "--epoch", "3"])
    with pytest.raises(SystemExit):
        parsed(["torchrun", "--nproc", "x", "--no-such", "-m", "lamina", "train", "resnet18"])


@pytest.mark.posix
def test_one_gpu_trains_and_then_continues(tmp_path):
    script = JOBS / "one_gpu.sbatch"
    (words,) = typed(str(script), tmp_path, as_file=True)
    launcher, verb, options = parsed(words)
    assert launcher is None and verb == "train" and options["architecture"] == "resnet18-cifar"
    assert options["set_"] == ["precision=bfloat16"] and directives(script.read_text())["gpus-per-node"] == "1"
    (tmp_path / options["out"]).mkdir(parents=True)
    (words,) = typed(str(script), tmp_path, as_file=True)
    assert resumed(words) == str(options["out"])


@pytest.mark.posix
def test_eight_gpus_have_a_rank_each(tmp_path):
    script = JOBS / "eight_gpus.sbatch"
    (words,) = typed(str(script), tmp_path, as_file=True)
    launcher, verb, options = parsed(words)
    asked = directives(script.read_text())
    assert launcher.standalone and launcher.nproc_per_node == asked["gpus-per-node"] == "8" and asked["nodes"] == "1"
    assert verb == "train" and "batch_size=4096" in options["set_"]


@pytest.mark.posix
def test_nodes_meet_at_the_first_one(tmp_path):
    script = JOBS / "nodes.sbatch"
    (words,) = typed(str(script), tmp_path, as_file=True)
    launcher, verb, options = parsed(words)
    asked = directives(script.read_text())
    assert launcher.nnodes == asked["nodes"] == "4" and asked["ntasks-per-node"] == "1"
    assert launcher.nproc_per_node == asked["gpus-per-node"] == "8" and launcher.max_restarts == 3
    assert (launcher.rdzv_backend, launcher.rdzv_endpoint, launcher.rdzv_id) == ("c10d", "node1:29500", "77")
    assert verb == "train" and str(options["out"]) == "runs/resnet18-77" and options["data"] == "photos"
    (tmp_path / "runs" / "resnet18-77").mkdir(parents=True)
    (again,) = typed(str(script), tmp_path, as_file=True)
    assert resumed(again) == "runs/resnet18-77" and parsed(again)[0].rdzv_endpoint == "node1:29500"


@pytest.mark.posix
def test_an_array_has_as_many_parts_as_jobs(tmp_path):
    script = JOBS / "search_array.sbatch"
    (words,) = typed(str(script), tmp_path, as_file=True)
    _, verb, options = parsed(words)
    first, last = directives(script.read_text())["array"].split("-")
    part = Part.read(options["part"])
    assert verb == "search" and first == "1" and str(part) == f"3/{last}" and options["device"] == "cuda"
    assert len([word for word in options["words"] if "=" in word]) == 4
    note = re.search(r"once:  (lamina .*)", script.read_text())[1]
    assert parsed(note.split())[2]["resume"] == options["folder"]


def pods(kind: dict) -> dict[str, dict]:
    """Give the pods of a resource by their role."""
    spec = kind["spec"]
    if kind["kind"] == "Job":
        return {"": spec["template"]["spec"]}
    if kind["kind"] == "DaskCluster":
        return {role: spec[role]["spec"] for role in ("worker", "scheduler")}
    return {role: part["template"]["spec"] for role, part in spec["pytorchReplicaSpecs"].items()}


def checked_pod(pod: dict, policies: tuple[str, ...] = ("Never", "OnFailure")) -> dict:
    """Check what Kubernetes asks of a pod, and give its one container."""
    assert pod.get("restartPolicy", "OnFailure") in policies
    (container,) = pod["containers"]
    assert NAME.fullmatch(container["name"]) and re.fullmatch(r"[\w.:/-]+:[\w.-]+", container["image"])
    assert not container["image"].endswith(":latest")
    assert all(isinstance(word, str) for word in [*container.get("command", []), *container.get("args", [])])
    limits = container["resources"]["limits"]
    assert all(re.fullmatch(r"\d+(Gi|Mi|m)?", str(limit)) for limit in limits.values()) and "memory" in limits
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    mounted = [mount["name"] for mount in container.get("volumeMounts", [])]
    assert sorted(mounted) == sorted(volumes) and all(len(volume) == 2 for volume in volumes.values())
    assert all(mount["mountPath"].startswith("/") for mount in container.get("volumeMounts", []))
    return container


KINDS = {"Job": "batch/v1", "PyTorchJob": "kubeflow.org/v1", "DaskCluster": "kubernetes.dask.org/v1"}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_have_what_kubernetes_asks_for(path):
    for kind in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        assert {*kind} == {"apiVersion", "kind", "metadata", "spec"} and kind["apiVersion"] == KINDS[kind["kind"]]
        assert NAME.fullmatch(kind["metadata"]["name"])
        for pod in pods(kind).values():
            checked_pod(pod)


@pytest.mark.posix
def test_a_job_trains_and_then_continues(tmp_path):
    (kind,) = yaml.safe_load_all((JOBS / "job.yaml").read_text())
    container = checked_pod(pods(kind)[""])
    assert container["command"] == ["bash", "-euc"] and container["resources"]["limits"]["nvidia.com/gpu"] == 1
    (script,) = container["args"]
    assert shellcheck(script) == ""
    (words,) = typed(script, tmp_path)
    _, verb, options = parsed(words)
    assert verb == "train"
    (tmp_path / options["out"]).mkdir(parents=True)
    (words,) = typed(script, tmp_path)
    assert resumed(words) == str(options["out"])


@pytest.mark.posix
def test_a_search_asks_the_scheduler_of_its_cluster(tmp_path):
    cluster, job = yaml.safe_load_all((JOBS / "dask.yaml").read_text())
    name, scheduler = cluster["metadata"]["name"], cluster["spec"]["scheduler"]
    assert cluster["spec"]["worker"]["replicas"] == 4
    assert scheduler["service"]["selector"] == {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
    container = checked_pod(scheduler["spec"])
    opened = {port["name"]: port["containerPort"] for port in container["ports"]}
    served = {port["targetPort"]: port["port"] for port in scheduler["service"]["ports"]}
    assert opened == served == {"tcp-comm": 8786, "http-dashboard": 8787}
    assert container["readinessProbe"]["httpGet"]["port"] in opened
    worker = checked_pod(cluster["spec"]["worker"]["spec"])
    assert worker["args"][:3] == ["dask-worker", "--name", "$(DASK_WORKER_NAME)"]  # the operator sets it
    (script,) = checked_pod(pods(job)[""])["args"]
    assert shellcheck(script) == ""
    (words,) = typed(script, tmp_path)
    _, verb, options = parsed(words)
    where = f"dask://{name}-scheduler:{opened['tcp-comm']}"  # the operator names the service so
    assert verb == "search" and options["on"] == where and len(options["words"]) == 3
    (tmp_path / options["folder"]).mkdir(parents=True)
    (words,) = typed(script, tmp_path)
    _, verb, again = parsed(words)
    assert (verb, again["resume"], again["on"]) == ("search", options["folder"], where)


def test_every_pod_of_a_pytorchjob_does_the_same():
    (kind,) = yaml.safe_load_all((JOBS / "pytorchjob.yaml").read_text())
    roles, spec = kind["spec"]["pytorchReplicaSpecs"], kind["spec"]
    assert {*roles} == {"Master", "Worker"} and roles["Master"]["replicas"] == 1 and roles["Worker"]["replicas"] == 3
    assert all(role["restartPolicy"] == "OnFailure" for role in roles.values())
    first, second = (checked_pod(pod) for pod in pods(kind).values())
    assert first == second and first["name"] == "pytorch"  # the operator looks for this name
    assert first["resources"]["limits"]["nvidia.com/gpu"] == int(spec["nprocPerNode"]) == 8
    launcher, verb, options = parsed(first["command"] + first["args"])
    assert verb == "train" and launcher.max_restarts == 3 and "batch_size=8192" in options["set_"]


@pytest.mark.parametrize("path", [*SCRIPTS, *MANIFESTS], ids=lambda path: path.name)
def test_the_docs_show_the_files_as_they_are(path):
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    language = "bash" if path.suffix == ".sbatch" else "yaml"
    assert f"(../examples/jobs/{path.name})" in page
    assert f"```{language}\n{path.read_text(encoding='utf-8')}```\n" in page
