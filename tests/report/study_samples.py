"""A study made by hand: every number in it is known."""

from lamina.report._study_record import Axis, StudyRecord, Tried

RATE, WIDTH = Axis("learning_rate", ("0.001", "0.01")), Axis("width", ("8", "16", "32"))
VALUES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.75)
ACCURACY = dict(zip([(rate, width) for rate in RATE.values for width in WIDTH.values], VALUES, strict=True))


def study(**changes) -> StudyRecord:
    tried = tuple(
        Tried(
            n, {"learning_rate": a, "width": b}, value, "finished", 1 - value, 3, (value - 0.2, value - 0.1, value), 0.5
        )
        for n, ((a, b), value) in enumerate(ACCURACY.items())
    )
    values = {
        "name": "studies/fnn-iris",
        "title": "fnn on iris",
        "lines": ("Feedforward network.", "iris: 100 training, 25 validation and 25 test examples."),
        "metric": "validation_accuracy",
        "direction": "maximize",
        "sampler": "every combination",
        "axes": (RATE, WIDTH),
        "tried": tried,
        "total": 6,
        "complete": True,
        "examples": (100, 25, 25),
        "test": {"metrics": {"loss": 0.4, "accuracy": 0.84}, "examples": 25, "openings": 1, "trial": 4},
        "same": (("epochs", "3"),),
        "command": ("lamina", "search", "fnn", "--data", "iris", "--grid", "learning_rate=0.001,0.01", "width=8,16,32"),
        "resume": ("lamina", "search", "--resume", "studies/fnn-iris"),
    }
    return StudyRecord(**{**values, **changes})
