"""How long does a grid search with cross-validation take, beside GridSearchCV over skorch in the same run?

Digits, 64 configurations x 5 folds of the network 64-32-10, Adam at a constant rate, batches of 64, a fifth of each
training part set aside, inputs standardized. One thread each and no refit. The peer's grid is cut into slices, before
each of which Lamina searches the whole grid, so that both feel the same neighbors; seconds of the wall and of the CPU.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from record import write
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from lamina.estimators import LaminaSearchCV, NetworkClassifier

RATES, DROPOUTS, PENALTIES = [3e-4, 1e-3, 3e-3, 1e-2], [0.0, 0.1, 0.2, 0.4], [0.0, 1e-5, 1e-4, 1e-3]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
warnings.simplefilter("ignore")


class Network(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 10))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.layers(inputs)


def lamina(epochs: int) -> Any:
    network = NetworkClassifier(hidden=32, epochs=epochs, batch_size=64, schedule="constant", random_state=0)
    grid = {"learning_rate": RATES, "dropout": DROPOUTS, "penalty": PENALTIES}
    return LaminaSearchCV(network, grid, cv=FOLDS, refit=False)


def skorch(epochs: int, rates: list[float]) -> Any:
    from skorch import NeuralNetClassifier

    net = NeuralNetClassifier(
        Network,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        max_epochs=epochs,
        batch_size=64,
        iterator_train__shuffle=True,
        callbacks__print_log=None,
        verbose=0,
    )
    grid = {
        "net__lr": rates,
        "net__module__dropout": DROPOUTS,
        "net__optimizer__weight_decay": [2 * penalty for penalty in PENALTIES],  # the notes' lambda is half of torch's
    }
    return GridSearchCV(Pipeline([("scale", StandardScaler()), ("net", net)]), grid, cv=FOLDS, refit=False)


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    epochs = parser.parse_args().epochs
    torch.set_num_threads(1)
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    timed(lambda: lamina(1).fit(X, y))  # what is imported and compiled once
    ours, theirs, scores = [], [], []
    for rate in RATES:
        search, *seconds = timed(lambda: lamina(epochs).fit(X, y))
        ours.append(seconds)
        torch.manual_seed(0)
        peer, *seconds = timed(lambda rate=rate: skorch(epochs, [rate]).fit(X, y))
        theirs.append(seconds)
        scores += list(zip(peer.cv_results_["mean_test_score"], peer.cv_results_["std_test_score"], strict=True))
        print(f"learning rate {rate:g}: Lamina {ours[-1][0]:.1f} s for 64, skorch {theirs[-1][0]:.1f} s for 16")
    wall, cpu = (statistics.median(each) for each in zip(*ours, strict=True))
    peer_wall, peer_cpu = (sum(each) for each in zip(*theirs, strict=True))
    found = search.cv_results_
    # ParameterGrid sorts by name: dropout, learning_rate, penalty; skorch's slices are learning rate by learning rate.
    own = found["mean_test_score"].reshape(len(DROPOUTS), len(RATES), len(PENALTIES)).transpose(1, 0, 2).flatten()
    own_std = found["std_test_score"].reshape(len(DROPOUTS), len(RATES), len(PENALTIES)).transpose(1, 0, 2).flatten()
    best, peer_best = int(own.argmax()), int(np.argmax([mean for mean, _ in scores]))
    names = [{"learning_rate": r, "dropout": d, "penalty": p} for r in RATES for d in DROPOUTS for p in PENALTIES]

    def row(who: str, at: int, seconds: tuple[float, float], means: Any, spreads: Any, other: int) -> dict[str, Any]:
        return {
            "who": who,
            "seconds": seconds[0],
            "cpu_seconds": seconds[1],
            "best": names[at],
            "score": float(means[at]),
            "spread": float(spreads[at]),
            "score_of_the_other's_best": float(means[other]),
        }

    means, spreads = zip(*scores, strict=True)
    rows = [
        row("LaminaSearchCV", best, (wall, cpu), own, own_std, peer_best),
        row("GridSearchCV over skorch", peer_best, (peer_wall, peer_cpu), means, spreads, best),
    ]
    ratio, cpu_ratio = peer_wall / wall, peer_cpu / cpu
    for each in rows:
        print(f"{each['who']:26} {each['seconds']:7.1f} s, {each['cpu_seconds']:7.1f} s of CPU, best {each['best']} "
              f"{each['score']:.4f} ± {each['spread']:.4f}, the other's best {each[list(each)[-1]]:.4f}")  # fmt: skip
    print(f"ratio {ratio:.1f} in wall time, {cpu_ratio:.1f} in CPU time")
    facts = {"device": "cpu", "threads": 1, "configurations": 64, "folds": 5, "epochs": epochs}
    write("gridsearch", rows, **facts, ratio=ratio, cpu_ratio=cpu_ratio, n=len(RATES))


if __name__ == "__main__":
    main()
