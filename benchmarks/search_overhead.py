"""What does a search cost beside the trainings: per trial, with Optuna and Ray Tune in the same run?

1000 trials of a parabola in two variables, drawn at random; every contestant writes its results to a folder from which
the search can be resumed: Lamina's journal (fsynced), Optuna's journal file and, for comparison, its memory. Ray Tune
gets fewer trials, for each takes about a second. All take turns; the number is milliseconds a trial.
"""

import argparse
import importlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from record import write

from lamina.studies.samplers import Random
from lamina.studies.study import Study

TRIALS, RAY_TRIALS = 1000, 20


def parabola(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + y**2


def lamina(place: Path) -> int:
    study = Study.create(place / "lamina", {"x": "-1.0..1.0", "y": "-1.0..1.0"}, Random(TRIALS))
    return len(study.run(lambda v: parabola(v["x"], v["y"])).results)


def _optuna(storage: object) -> int:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0), storage=storage)
    study.optimize(
        lambda t: parabola(t.suggest_float("x", -1, 1), t.suggest_float("y", -1, 1)), n_trials=TRIALS, n_jobs=1
    )
    return len(study.trials)


def optuna_memory(place: Path) -> int:
    return _optuna(None)


def optuna_journal(place: Path) -> int:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    return _optuna(JournalStorage(JournalFileBackend(str(place / "journal.log"))))


def ray_tune(place: Path) -> int:
    from ray import tune

    space = {"x": tune.uniform(-1, 1), "y": tune.uniform(-1, 1)}

    def objective(config: dict[str, float]) -> dict[str, float]:
        return {"error": parabola(**config)}

    tuner = tune.Tuner(
        objective,
        param_space=space,
        tune_config=tune.TuneConfig(num_samples=RAY_TRIALS, metric="error", mode="min"),
        run_config=tune.RunConfig(storage_path=str(place), verbose=0),
    )
    return len(tuner.fit())


CONTESTANTS: dict[str, tuple[str, Callable[[Path], int]]] = {
    "Lamina, journal": ("lamina", lamina),
    "Optuna, memory": ("optuna", optuna_memory),
    "Optuna, journal": ("optuna", optuna_journal),
    "Ray Tune": ("ray.tune", ray_tune),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    there: dict[str, Callable[[Path], int]] = {}
    for name, (package, run) in CONTESTANTS.items():
        try:
            importlib.import_module(package)
            there[name] = run
        except ImportError as error:
            print(f"{name} is left out: {error}")
    if "Ray Tune" in there:
        import ray

        ray.init(logging_level="error", log_to_driver=False, include_dashboard=False)
    times: dict[str, list[float]] = {name: [] for name in there}
    counts: dict[str, int] = {}
    for turn in range(rounds):
        for name, run in there.items():
            if name == "Ray Tune" and turn > 0:
                continue
            with tempfile.TemporaryDirectory() as place:
                start = time.perf_counter()
                counts[name] = run(Path(place))
                times[name].append((time.perf_counter() - start) / counts[name] * 1e3)
    rows = []
    for name, found in times.items():
        spread = statistics.stdev(found) if len(found) > 1 else 0.0
        row = {
            "who": name,
            "milliseconds": statistics.median(found),
            "spread": spread,
            "trials": counts[name],
            "n": len(found),
        }
        rows.append(row)
        print(
            f"{name:16} {row['milliseconds']:9.3f} ± {spread:.3f} ms a trial, {counts[name]} trials, n = {len(found)}"
        )
    write("search_overhead", rows, device="cpu", objective="parabola, random search")


if __name__ == "__main__":
    main()
