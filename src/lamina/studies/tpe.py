"""Samples from where good results were: the tree-structured Parzen estimator of Optuna, asked and told in batches."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lamina._errors import MissingExtraError, at_least
from lamina.studies.samplers import Done
from lamina.studies.space import Choices, Space, Values


@dataclass(frozen=True)
class TPE:
    """Propose a batch of configurations that Optuna's TPE finds promising, given all results so far.

    Every batch starts a fresh Optuna study that is told everything; so the proposal depends on seed and results alone,
    and our journal is the only memory.

    Args:
        trials: how many configurations in all.
        batch: how many are proposed, and trained at once, before looking at results again.
        startup: how many random ones come first.
        seed: which search.
    """

    trials: int
    batch: int = 8
    startup: int = 10
    seed: int = 0
    name: ClassVar[str] = "tpe"
    static: ClassVar[bool] = False

    def __post_init__(self) -> None:
        at_least("trials", self.trials, 1)
        at_least("batch", self.batch, 1)
        at_least("startup", self.startup, 1)

    def total(self, space: Space) -> int | None:
        """Give the number of configurations."""
        return self.trials

    def propose(self, space: Space, done: Sequence[Done]) -> list[Values]:
        """Ask for the next batch; the first one is the random start."""
        left = self.trials - len(done)
        if left <= 0:
            return []
        optuna = _load_optuna()
        count = min(left, max(self.startup, self.batch) if not done else self.batch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the arguments used here are marked experimental
            sampler = optuna.samplers.TPESampler(
                seed=self.seed + len(done), n_startup_trials=self.startup, constant_liar=True
            )
            study = optuna.create_study(sampler=sampler)
            for each in done:
                study.add_trial(_told(optuna, space, each))
            return [_suggested(space, study.ask()) for _ in range(count)]


def _load_optuna() -> Any:
    """Import Optuna quietly, or say how to install it."""
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("optuna", "search", "TPE") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _suggested(space: Space, trial: Any) -> Values:
    values: Values = {}
    for each in space.hyperparameters:
        if not each.active(values):
            continue
        name, domain = each.name, each.domain
        if isinstance(domain, Choices):
            values[name] = domain.values[trial.suggest_categorical(name, list(range(len(domain.values))))]
        elif domain.whole:
            values[name] = trial.suggest_int(name, int(domain.low), int(domain.high), log=domain.log)
        else:
            values[name] = trial.suggest_float(name, domain.low, domain.high, log=domain.log)
    return values


def _told(optuna: Any, space: Space, done: Done) -> Any:
    """Turn a result into a finished trial; a diverged one into a failed trial."""
    from optuna import distributions as d

    params: Values = {}
    kinds: dict[str, Any] = {}
    for each in space.hyperparameters:
        if each.name not in done.values:
            continue
        value, domain = done.values[each.name], each.domain
        if isinstance(domain, Choices):
            kinds[each.name] = d.CategoricalDistribution(list(range(len(domain.values))))
            value = domain.values.index(value)
        elif domain.whole:
            kinds[each.name] = d.IntDistribution(int(domain.low), int(domain.high), log=domain.log)
        else:
            kinds[each.name] = d.FloatDistribution(domain.low, domain.high, log=domain.log)
        params[each.name] = value
    if not math.isfinite(done.error):
        state = optuna.trial.TrialState.FAIL
        return optuna.trial.create_trial(params=params, distributions=kinds, state=state)
    return optuna.trial.create_trial(params=params, distributions=kinds, value=done.error)
