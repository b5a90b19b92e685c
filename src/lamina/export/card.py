"""A folder for the Hub: the network, its configuration, and a model card that people and the Hub can read."""

import json
import re
from pathlib import Path
from typing import Any

from lamina._errors import ArgumentError
from lamina._system import refused
from lamina.export.save import command_of
from lamina.training.files import write
from lamina.training.packed import CONFIG, WEIGHTS, pack
from lamina.training.run import Run, in_words

CARD = "README.md"


def push(run: Run | str | Path, folder: str | Path, *, license: str = "", again: bool = False) -> Path:
    """Write a folder in the Hub's convention: `config.json`, `model.safetensors` and a model card.

    Nothing is uploaded: that is left to the Hub's own client. `lamina predict` and `--weights` read the folder.

    Args:
        run: a run or its folder.
        folder: the new folder.
        license: an identifier such as "mit" or "cc-by-4.0"; without one the card says that none was chosen.
        again: replace the three files in a folder that exists.
    """
    run = Run.load(run) if isinstance(run, str | Path) else run
    folder = Path(folder)
    if license and not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", license):
        raise ArgumentError(
            f"`license` must be an identifier of the Hub such as mit, apache-2.0 or cc-by-4.0, got {license!r}."
        )
    if why := refused(folder):
        raise ArgumentError(f"cannot make the folder {folder}: {why}. Choose another name.")
    if (folder / "config.toml").is_file():
        raise ArgumentError(f"{folder} is the folder of a run: choose another one for what is shared.")
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not again):
        way_out = "" if folder.is_file() else ", or add --again, which replaces the files of an earlier push"
        raise ArgumentError(f"{folder} exists: choose another name{way_out}.")
    content, record = pack(run, command_of(run))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"cannot make the folder {folder}: {error.strerror}. Choose another name.") from error
    write(folder / WEIGHTS, content)
    write(folder / CONFIG, (json.dumps(_config(record), indent=1, ensure_ascii=False) + "\n").encode())
    write(folder / CARD, card(run, record, license, folder.resolve().name).encode())
    return folder


def _config(record: dict[str, Any]) -> dict[str, Any]:
    """Give what the Hub reads of a configuration, with our record below it."""
    labels = {str(place): name for place, name in enumerate(record["classes"])}
    architecture = record["config"]["architecture"]
    named = {"id2label": labels, "label2id": {name: int(place) for place, name in labels.items()}} if labels else {}
    return {
        "library_name": "lamina",
        "architectures": [architecture.get("code", architecture["network"])],
        **named,
        "lamina": record,
    }


def card(run: Run, record: dict[str, Any], license: str, name: str) -> str:
    """Write a model card: data, metrics, command and license, with a header that the Hub reads."""
    data, task = record["config"]["data"].get("source") or "data in memory", run.task
    network, judged = type(run.model).__name__, record["evaluation"]
    metrics = {key: value for key, value in (judged or {}).get("metrics", {}).items() if value is not None}
    count = sum(parameter.numel() for parameter in run.model.parameters())
    header = [
        "library_name: lamina",
        f"license: {license or 'unknown'}",
        f"pipeline_tag: {task.pipeline}",
        f"tags: [lamina, {_text(network)}]",
        "model-index:",
        f"- name: {_text(name)}",
        "  results:",
        f"  - task: {{type: {task.pipeline}}}",
        f"    dataset: {{name: {_text(data)}, type: {_text(data)}}}",
        "    metrics:",
        *(f"    - {{type: {key}, value: {value:.6g}}}" for key, value in metrics.items()),
    ]
    if not metrics:
        header = header[:4]
    examples = record["config"].get("examples")
    split = "" if not examples else " ({:,} training, {:,} validation and {:,} test examples)".format(*examples)
    lines = ["---", *header, "---", "", f"# {name}", ""]
    lines += [f"A {network} with {count:,} parameters, trained on {_code(data)}{split}.", ""]
    if record["classes"]:
        lines += ["## Classes", "", ", ".join(map(_code, record["classes"])), ""]
    lines += ["## Metrics", ""]
    if judged and metrics:
        lines += [f"On {judged['examples']:,} test examples, opened {_times(judged.get('openings', 1))}:", ""]
        lines += [
            "| metric | network |",
            "| --- | ---: |",
            *(f"| {key} | {value:.4g} |" for key, value in metrics.items()),
        ]
        lines += [f"\nBaseline, {each['name']}: {in_words(each['metrics'])}." for each in judged.get("baselines") or ()]
    else:
        lines += ["The test split has not been opened."]
    trained = record["command"]
    lines += ["", "## Training", ""]
    lines += ["```sh", trained, "```"] if trained else ["The network was trained from Python with `lamina.fit`."]
    lines += ["", "## Use", "", "```sh", "pip install lamina-nn", f"lamina predict {name} INPUT", "```", ""]
    lines += ["```python", "import lamina", "", f"run = lamina.Run.load({name!r})", "```", "", "## License", ""]
    lines += [license or "The author of this network has not chosen a license.", ""]
    return "\n".join(lines)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _text(value: str) -> str:
    """Write a text as YAML, of which JSON is a part."""
    return json.dumps(value, ensure_ascii=False)


def _code(value: str) -> str:
    """Write a text in a line of Markdown that cannot break out of it."""
    return f"`{' '.join(value.replace('`', chr(39)).split())}`"
