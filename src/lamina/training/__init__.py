"""Training: recipes, the loop, checkpoints, runs. `lamina.fit` and `lamina.Run` are the doors."""
