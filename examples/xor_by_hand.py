"""Train a 2-2-1 network on XOR by the hand-written backpropagation of the notes (Alg. 6) and print the truth table."""

import argparse
import sys

import torch

import lamina

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--target", type=float, default=0.01, help="exit with 1 if the last loss is above this")
parser.add_argument("--seed", type=int, default=1, help="0 ends in a local minimum, at 0.348")
arguments = parser.parse_args()

by_hand = lamina.backprop.backpropagation
torch.set_num_threads(1)  # four samples: a second thread would only be waited for
inputs = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
targets = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
activations = ["tanh", "sigmoid"]
generator = torch.Generator().manual_seed(arguments.seed)
weights = [lamina.functional.gaussian((2, 2), 1.0, generator), lamina.functional.gaussian((1, 2), 1.0, generator)]
params = by_hand.name_parameters(weights, [torch.zeros(2), torch.zeros(1)])

problem = by_hand.objective(activations, inputs, targets, loss="bce")
for step in range(0, 1000, 200):
    run = lamina.classical.descent.descend(problem, params, learning_rate=1.0, steps=200)
    params = run.params
    print(f"step {step:4d}  binary cross entropy {run.losses[0]:.4f}")
print(f"step 1000  binary cross entropy {run.losses[-1]:.4f}")

outputs = by_hand.forward([params["W0"], params["W1"]], [params["b0"], params["b1"]], activations, inputs).outputs
print("\nu1 u2  XOR  network")
for (u1, u2), truth, y in zip(inputs.tolist(), targets.flatten().tolist(), outputs.flatten().tolist(), strict=True):
    print(f" {u1:.0f}  {u2:.0f}    {truth:.0f}   {y:.3f}")
sys.exit(0 if run.losses[-1] <= arguments.target else 1)
