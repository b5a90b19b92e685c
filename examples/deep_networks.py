"""Train two and twenty layers on two moons: a deep sigmoid network learns nothing, deep tanh and ReLU networks do."""

import argparse
import sys
import tempfile

import lamina

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--target", type=float, default=0.95, help="exit with 1 if tanh or ReLU is less accurate than this")
arguments = parser.parse_args()

split = lamina.load("moons", count=300).split()
recipe = lamina.Recipe(lamina.Adam(learning_rate=1e-3), epochs=200, batch_size=200, check_every=50)
accuracies = {}
print("layers  activation  initialization  test accuracy")
for layers, activation, initialization in (
    (2, "sigmoid", "xavier"),
    (20, "sigmoid", "xavier"),
    (20, "tanh", "xavier"),
    (20, "relu", "he"),
):
    network = lamina.build(
        "fnn", inputs=2, outputs=2, hidden=(32,) * (layers - 1), activation=activation, initialization=initialization
    )
    with tempfile.TemporaryDirectory() as folder:
        one = lamina.Runtime(threads=1)  # too small for two
        run = lamina.fit(network, split, recipe, folder=f"{folder}/run", runtime=one)
        accuracy = run.evaluate().metrics["accuracy"]
    print(f"{layers:6d}  {activation:>10}  {initialization:>14}  {accuracy:13.3f}")
    accuracies[layers, activation] = accuracy
kept = min(accuracies[20, "tanh"], accuracies[20, "relu"]) >= arguments.target and accuracies[20, "sigmoid"] < 0.6
sys.exit(0 if kept else 1)
