"""Updates one operation after the other."""

from lamina.training.recipe import MiniBatch, Recipe, Schedule


def test_the_schedule_sets_the_rate_of_every_step(step_of):
    step = step_of(Recipe(MiniBatch(1.0), epochs=2, batch_size=20, schedule=Schedule("warmup", warmup=0.5)))
    seen = []
    for epoch in range(2):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
            seen.append(step.change.optimizer.param_groups[0]["lr"])
    assert seen == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0]
