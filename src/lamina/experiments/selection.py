"""A claim about selecting models (§1.5 of the notes)."""

import itertools

from lamina.experiments.result import Claim, Plot, Result, _mean_and_spread, differences, experiment
from lamina.functional.random import uniform


@experiment("N1.68")
def coin_flips(
    seeds: range = range(50), models: tuple[int, ...] = (1, 16, 1024), points: int = 100, skill: float = 0.0
) -> Result:
    """Select the best of many models that guess, and look at it again on points that had no part in the choice.

    A model is right on each point with probability one half. Selected by its accuracy on some points it looks good
    there, and the better the more models there were; on fresh points it is what it is. So the accuracy on the set that
    was used to select says nothing, and a test set must not be used to select.

    Notes: N1.68 (§1.5).

    Args:
        seeds: repetitions.
        models: how many models there are to select from; 1024 is the grid of five hyperparameters with four values.
        points: the size of the set to select on, and of the fresh one.
        skill: how much more than one half the models are right; 0 for coins.

    >>> coin_flips(seeds=2).claims[1].holds
    True
    """
    rows, found = [], {}
    for count in models:
        # Two draws per model and point: the set to select on, and the fresh one.
        draws = [uniform((2, count, points), seed=seed, stream=count) for seed in seeds]
        accuracies = [(draw < 0.5 + skill).double().mean(2) for draw in draws]
        chosen = [accuracy[0].argmax().item() for accuracy in accuracies]
        selected = [accuracy[0].max().item() for accuracy in accuracies]
        fresh = [accuracy[1, int(best)].item() for accuracy, best in zip(accuracies, chosen, strict=True)]
        found[count] = selected
        rows.append((count, *_mean_and_spread(selected), *_mean_and_spread(fresh)))
    margin = 4 * (0.25 / (points * len(seeds))) ** 0.5  # four standard errors of a mean of coins
    one = rows[0]
    return Result(
        f"the best of many guessing models, {points} points, {len(seeds)} seeds",
        ("models", "where selected", "selected spread", "on fresh points", "fresh spread"),
        rows,
        Claim.on_average(
            f"the accuracy of the best of {models[-1]} where it was selected", found[models[-1]], least=0.6
        ),
        *Claim.averages(
            "the more models, the better the best looks: the accuracy of the best of {1}, less that of {0},",
            {(a, b): differences(found[b], found[a]) for a, b in itertools.pairwise(models[1:])},
            least=0.0,
        ),
        Claim(
            f"on fresh points it is a coin, to four standard errors, {margin:.3g}",
            all(abs(row[3] - 0.5) < margin for row in rows),
        ),
        Claim(f"a single model, not selected, looks as it is, to {margin:.3g}", abs(one[1] - 0.5) < margin),
        plot=Plot("models", ("where selected", "on fresh points"), log_x=True, y_label="accuracy"),
    )
