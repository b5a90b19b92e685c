"""Let gradient descent, SGD, mini batches and Adam go through two moons ten times each, and compare them."""

import argparse
import sys
import tempfile

import lamina

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--target", type=float, default=0.98, help="exit with 1 if Adam's test accuracy is below this")
parser.add_argument("--seed", type=int, default=0)
arguments = parser.parse_args()

racers = [
    lamina.GD(0.5),
    lamina.GD(0.5, line_search=True),
    lamina.SGD(0.05),
    lamina.MiniBatch(0.5),
    lamina.MiniBatch(0.1, momentum=0.9),
    lamina.Adam(0.01),
]
print("                       steps  training loss  test accuracy")
for optimizer in racers:
    split = lamina.load("moons", count=600, seed=arguments.seed).split(seed=arguments.seed)
    network = lamina.build("fnn", inputs=2, outputs=2, hidden=(16, 16), activation="tanh", seed=arguments.seed)
    recipe = lamina.Recipe(optimizer, epochs=10, batch_size=20, seed=arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        one = lamina.Runtime(threads=1)
        run = lamina.fit(network, split, recipe, folder=f"{folder}/{optimizer.name}", runtime=one)
        accuracy = run.evaluate().metrics["accuracy"]
    last = run.rows[-1]
    extra = " + line search" if getattr(optimizer, "line_search", False) else ""
    extra = " + momentum" if getattr(optimizer, "momentum", 0) else extra
    bar = "#" * round(40 * accuracy)
    print(f"{optimizer.name + extra:<22s} {last['step']:5d}  {last['loss']:13.4f}  {accuracy:13.3f}  {bar}")
sys.exit(0 if accuracy >= arguments.target else 1)
