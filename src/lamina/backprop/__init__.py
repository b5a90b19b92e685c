"""Backpropagation by hand (§2.5 and §5 of the notes): Alg. 6 in batches, line by line, on the fly and through time."""

from lamina.backprop import autograd_graph, backpropagation, on_the_fly, reuse, sweep, through_time

__all__ = ["autograd_graph", "backpropagation", "on_the_fly", "reuse", "sweep", "through_time"]
