"""Move LeNet-5 from one data set to another with few pictures, and count the steps that this saves (§4.3 of the notes).

With LAMINA_DATA set it learns digits (MNIST) first and then clothes (Fashion-MNIST) from 600 pictures, in 60 % of the
steps that it takes from scratch; otherwise the embedded digits 0 to 5 and then 6 to 9 from 200, in a third of them.
"""

import argparse
import os
import sys
from tempfile import TemporaryDirectory

import torch

import lamina

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--target", type=float, default=0.75, help="exit with 1 if transfer takes more than this share")
parser.add_argument("--seeds", type=int, default=3, help="how many times, each with other pictures and weights")
arguments = parser.parse_args()

real = bool(os.environ.get("LAMINA_DATA"))
first, second = ("mnist", range(10)), ("fashion-mnist", range(10))
plenty, few, epochs, level = 6000, 600, (6, 25), 0.7
if not real:
    first, second = ("digits", range(6)), ("digits", range(6, 10))
    plenty, few, epochs, level = 800, 200, (25, 25), 0.8


def pictures(name, labels, count, seed):
    """Take `count` pictures of some classes to train with, and 500 others to see what was learned."""
    data = lamina.load(name)
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(seed))
    order = order[torch.isin(data.targets[order], torch.tensor(labels))][: count + 500]
    chosen = lamina.load(data.inputs[order], data.targets[order] - labels[0])
    return chosen.split(seed, ratios=(count, len(chosen) - count, 0))


def train(network, split, epochs, batch_size, seed):
    """Return the run, and after how many steps the accuracy on the other pictures was first at `level`."""
    recipe = lamina.Recipe(lamina.Adam(3e-3), epochs=epochs, batch_size=batch_size, seed=seed)
    with TemporaryDirectory() as folder:
        run = lamina.fit(network, split, recipe, folder=f"{folder}/run", runtime=lamina.Runtime(threads=1))
    return run, next((row["step"] for row in run.rows if row["validation_accuracy"] >= level), run.rows[-1]["step"] + 1)


print(f"{first[0]} {first[1][0]}-{first[1][-1]} with {plenty} pictures, then {second[0]}", end=" ")
print(f"{second[1][0]}-{second[1][-1]} with {few}\n\nseed   steps to {level:.0%}: transfer  from scratch")
rows = []
for seed in range(arguments.seeds):
    before, after = (pictures(*what, count, seed) for what, count in ((first, plenty), (second, few)))
    options = {"inputs": before.train.spec.inputs, "activation": "sigmoid"}
    trained, _ = train(lamina.build("lenet5", outputs=len(first[1]), seed=seed, **options), before, epochs[0], 64, seed)
    moved = lamina.adapt(trained.model, classes=len(second[1]), seed=seed)  # all but the last layer stay as trained
    random = lamina.build("lenet5", outputs=len(second[1]), seed=seed + 1000, **options)
    rows.append([train(network, after, epochs[1], few // 12, seed)[1] for network in (moved, random)])
    print(f"{seed:4d}   {rows[-1][0]:22d}  {rows[-1][1]:12d}", flush=True)
share = sum(a for a, _ in rows) / sum(b for _, b in rows)
print(f"\ntransfer takes {share:.0%} of the steps from scratch, promised at most {arguments.target:.0%}")
sys.exit(0 if share <= arguments.target and all(a < b for a, b in rows) else 1)
