"""The experiment that the notes call nearly infeasible: 5 hyperparameters with 4 values each, 4^5 = 1024 networks.

All 1024 networks 784-128-10 have one shape, so that they are trained as one stack: 10 epochs of MNIST each, with
learning rate, first moment, penalty, dropout rate and scale of the first weights of their own. The best one is chosen
by validation, trained again, and looks at the test pictures once. Beside the grid stands what changing one
hyperparameter at a time finds with 16 networks.

Without MNIST (`lamina data get mnist`) or without a GPU the same runs on the embedded digits, with two values each.
"""

import argparse
import sys
import time

import torch

import lamina

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--target", type=float, help="exit with 1 below this test accuracy: 0.97 (MNIST), 0.9 (digits)")
parser.add_argument("--folder", default="studies/grid-1024", help="where the study is kept")
parser.add_argument("--full", action="store_true", help="all 1024 on MNIST even without a GPU")
arguments = parser.parse_args()

cuda = torch.cuda.is_available()
try:
    data = lamina.load("mnist")
    full = cuda or arguments.full
except lamina.DataError:
    full = False
values = {
    "learning_rate": [1e-4, 3e-4, 1e-3, 3e-3],
    "beta1": [0.0, 0.5, 0.9, 0.95],
    "penalty": [0.0, 1e-6, 1e-5, 1e-4],
    "dropout": [0.0, 0.1, 0.2, 0.4],
    "scale": [0.5, 1.0, 1.5, 2.0],
}
if not full:
    data = lamina.load("digits")
    values = {name: each[1::2] for name, each in values.items()}
epochs, batch, width = (10, 128, 128) if full else (6, 32, 32)
settings = {
    "recipe": lamina.Recipe(lamina.Adam(), epochs=epochs, batch_size=batch, precision="tf32" if cuda else "float32"),
    "options": {"hidden": width},
    "runtime": lamina.Runtime(device="cuda" if cuda else "cpu"),
}


def show(result):
    """Print the score of a configuration and its values."""
    print(f"  {result.outcome.value:.4f}  {' '.join(f'{name}={value}' for name, value in result.values.items())}")


begun = time.perf_counter()
study = lamina.search("fnn", data, values, folder=arguments.folder, **settings)
took = time.perf_counter() - begun
trained = sum(result.outcome.seconds or 0 for result in study.results)
name = "MNIST" if full else "digits"
print(
    f"{len(study.results)} networks on {name}, {epochs} epochs each: {trained:.1f} s of training, {took:.1f} s in all"
)
for result in study.leaders(5):
    show(result)
single = lamina.search("fnn", data, values, lamina.OneAtATime(), folder=f"{arguments.folder}-one", **settings)
print(f"one at a time, {len(single.results)} networks:")
show(single.best)
accuracy = study.test["metrics"]["accuracy"]
target = arguments.target if arguments.target is not None else 0.97 if full else 0.9
print(f"test accuracy of the best {accuracy:.4f}, promised {target}")
print(f"report: {lamina.write_report(study.folder)}")
sys.exit(0 if accuracy >= target else 1)
