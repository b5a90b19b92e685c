"""Small members, and what may differ between those of one population."""

from lamina.architectures.build import configure
from lamina.populations.members import Member
from lamina.training.recipe import (
    GD,
    SGD,
    Adam,
    AdamW,
    Averaging,
    Clip,
    MiniBatch,
    Penalty,
    Recipe,
    RMSprop,
    Schedule,
    Stopping,
)

CONFIG = configure("fnn", inputs=2, outputs=2, hidden=(8,))


def recipe(optimizer=None, **options):
    return Recipe(optimizer or Adam(), **{"epochs": 4, "batch_size": 16, "precision": "float64"} | options)


def members(*recipes, config=CONFIG, **options):
    return [Member(each, config, seed=number, **options) for number, each in enumerate(recipes)]


OPTIONS = {
    "adam": [recipe(Adam(lr, b1, b2, eps)) for lr, b1, b2, eps in
             ((1e-3, 0.9, 0.999, 1e-8), (0.1, 0.5, 0.9, 1e-4), (1e-2, 0.0, 0.99, 1e-8))],
    "gd": [recipe(GD(lr), epochs=20) for lr in (0.01, 0.1, 1.0)],
    "sgd": [recipe(SGD(lr), epochs=1) for lr in (0.001, 0.01, 0.1)],
    "mini batches": [recipe(MiniBatch(lr)) for lr in (0.01, 0.1, 0.5)],
    "momentum": [recipe(MiniBatch(lr, mu)) for lr, mu in ((0.01, 0.9), (0.1, 0.0), (0.05, 0.5))],
    "nesterov": [recipe(MiniBatch(lr, mu, True)) for lr, mu in ((0.01, 0.9), (0.1, 0.3))],
    "penalty": [recipe(penalty=Penalty(s)) for s in (0.0, 1e-3, 1.0)],
    "penalty of norm 1": [recipe(penalty=Penalty(s, 1)) for s in (0.0, 1e-3, 1.0)],
    "proximal": [recipe(MiniBatch(0.1), penalty=Penalty(s, 1)) for s in (0.0, 1e-3, 0.1)],
    "proximal with momentum": [recipe(MiniBatch(0.1, 0.9), penalty=Penalty(s, 1)) for s in (0.0, 1e-2)],
    "proximal with nesterov": [recipe(MiniBatch(0.1, mu, True), penalty=Penalty(1e-2, 1)) for mu in (0.5, 0.9)],
    "averaging": [recipe(Adam(0.01), averaging=Averaging(decay)) for decay in (0.9, 0.0, 1.0)],
    "stages": [recipe(stage_rate=share) for share in (1.0, 0.1, 0.5)],
    "measured stages": [recipe(stage_rate=s, stopping=Stopping(relative_step=1e-9)) for s in (0.1, 0.5)],
    "proximal stages": [recipe(MiniBatch(0.1, 0.9), penalty=Penalty(1e-2, 1), stage_rate=s) for s in (0.1, 1.0)],
    "clip by the global norm": [recipe(clip=Clip(c), penalty=Penalty(0.1)) for c in (None, 0.01, 10.0)],
    "clip by tensor": [recipe(MiniBatch(0.5), clip=Clip(c, "tensor")) for c in (0.01, 0.1, None)],
    "clip by value": [recipe(MiniBatch(0.5), clip=Clip(c, "value")) for c in (0.01, None, 0.1)],
    "schedules": [recipe(schedule=Schedule("cosine", w, f)) for w, f in ((0.0, 0.0), (0.5, 0.1))],
    "adamw": [recipe(AdamW(lr, weight_decay=decay)) for lr, decay in ((1e-2, 0.0), (1e-2, 2.0), (1e-3, 0.5))],
    "rmsprop": [recipe(RMSprop(lr, alpha, momentum=m)) for lr, alpha, m in ((1e-2, 0.9, 0.0), (1e-3, 0.99, 0.5))],
    "one schedule": [recipe(Adam(lr), schedule=Schedule("one-cycle")) for lr in (1e-3, 1e-2)],
    "plateaus": [recipe(Adam(lr), epochs=6, schedule=Schedule("plateau", warmup=0.2, factor=f, wait=w, improvement=0.3))
                 for lr, f, w in ((1e-2, 0.5, 1), (3e-2, 0.1, 2), (1e-2, 0.1, 1))],
    "drops": [recipe(schedule=Schedule("step", every=e, factor=f)) for e, f in ((1, 0.5), (2, 0.1))],
    "without replacement": [recipe(Adam(lr), sampling="without-replacement") for lr in (1e-3, 1e-2)],
    "with replacement": [recipe(Adam(lr), sampling="with-replacement") for lr in (1e-3, 1e-2)],
    "class weights": [recipe(Adam(lr), class_weights="balanced") for lr in (1e-3, 1e-2)],
    "smoothed": [recipe(Adam(lr), label_smoothing=0.2, class_weights="balanced") for lr in (1e-3, 1e-2)],
    "every second epoch": [recipe(Adam(lr), check_every=2, epochs=5) for lr in (1e-3, 1e-2)],
    "at most 9 steps": [recipe(Adam(lr), stopping=Stopping(max_steps=9)) for lr in (1e-3, 1e-2)],
    "norms": [recipe(Adam(lr), stopping=Stopping(gradient_norm=g, relative_step=r)) for lr, g, r in
              ((1e-3, 1e-9, None), (1e-2, None, 1e-9), (1e-2, None, None))],
}  # fmt: skip
