"""Networks that learn side by side."""

import lamina
from lamina.data.synthetic import moons
from lamina.pages.kit._races import race
from lamina.training.recipe import MiniBatch, Recipe


def test_a_network_that_diverges_says_so_and_the_others_go_on():
    def networks(*scales):
        options = {"inputs": 2, "outputs": 2, "hidden": (16, 16), "initialization": "gaussian"}
        return {f"scale {scale:g}": lamina.build("fnn", scale=scale, **options) for scale in scales}

    split, recipe = moons(60).split(), Recipe(MiniBatch(1e-3), epochs=3, batch_size=10)
    *_, last = race(networks(1e-3, 1e18), split, recipe)
    assert last["epoch"] == 3 and last["scale 0.001"]["step"] == 12 and "bad_step" not in last["scale 0.001"]
    assert last["scale 1e+18"] == {"bad_step": 0}
    (only,) = race(networks(1e17, 1e18), split, recipe)  # all of them at once, before the first check
    assert only == {"epoch": 0, "scale 1e+17": {"bad_step": 0}, "scale 1e+18": {"bad_step": 0}}
