"""Small studies and how often each of their trials was recorded."""

import json
from collections import Counter

from lamina.studies.samplers import Done

SPACE = {"x": [-2, -1, 0, 1, 2], "y": [0, 1, 2, 3]}


def bowl(values):
    return (values["x"] - 1) ** 2 + (values["y"] - 2) ** 2


def events(study, kind):
    lines = [json.loads(line) for path in study.home.journals() for line in path.read_text().splitlines()]
    return [line for line in lines if line["event"] == kind]


def recorded(study):
    """How often each configuration was recorded, in the files themselves."""
    return Counter(line["trial"] for line in events(study, "result"))


RATES = {"learning_rate": [1e-4, 3e-2], "hidden": [8, (8, 8)], "dropout": [0.0, 0.25]}


def play(sampler, space, error):
    """Let a sampler propose until it has enough; return everything in order and the best."""
    done = []
    while values := sampler.propose(space, done):
        done += [Done(v, error(v)) for v in values]
    return done, min(done, key=lambda each: each.error).values
