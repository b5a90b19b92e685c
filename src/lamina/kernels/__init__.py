"""Texts and kernels that are compiled where they are used; nothing here imports what lies above."""
