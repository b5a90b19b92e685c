"""Data: from bytes to batches. `lamina.load` is the door; a module each for tables, pictures, splits, preparation."""
