"""K networks as one: stacked modules, one update for all, chunks that fit into memory; the specification is K runs."""
