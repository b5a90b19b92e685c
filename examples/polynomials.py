"""Fit polynomials of degree 0, 1, 3 and 9 to ten noisy points of a sine, draw them, and choose the degree."""

import argparse
import sys

import torch

import lamina

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--target", type=float, default=0.06, help="exit with 1 if the test error is above this")
parser.add_argument("--seed", type=int, default=5)
arguments = parser.parse_args()

polynomials = lamina.classical.polynomial
points = torch.linspace(0, 1, 10, dtype=torch.float64)
noise = torch.randn(10, generator=torch.Generator().manual_seed(arguments.seed), dtype=torch.float64)
values = torch.sin(2 * torch.pi * points) + 0.25 * noise
validation, test = (lamina.load("curve", count=200, noise=0.25, seed=arguments.seed + offset) for offset in (100, 200))
unseen = validation.inputs[:, 0], validation.targets

grid = torch.linspace(0, 1, 55, dtype=torch.float64)
for degree in (0, 1, 3, 9):
    polynomial = polynomials.fit(points, values, degree)
    elsewhere = polynomials.error(polynomial, *unseen)
    print(f"\ndegree {degree}: error {polynomial.error:.4f} here, {elsewhere:.4f} on unseen points")
    canvas = [[" "] * 55 for _ in range(11)]
    for places, heights, mark in ((grid, polynomial.predict(grid), "*"), (points, values, "o")):
        for u, s in zip(places.tolist(), heights.tolist(), strict=True):
            if abs(s) < 1.6:
                canvas[round(5 - s / 1.6 * 5)][round(54 * u)] = mark
    print("\n".join("".join(line).rstrip() for line in canvas))

best = polynomials.choose_degree(points, values, *unseen).best
last = polynomials.error(best, test.inputs[:, 0], test.targets)
print(f"\nThe validation points choose degree {best.degree}; its error on the test points is {last:.4f}.")
sys.exit(0 if last <= arguments.target else 1)
