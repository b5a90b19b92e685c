"""Many networks at once: populations, search spaces, samplers and studies (§1.5 of the notes)."""
