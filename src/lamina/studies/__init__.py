"""Many configurations: search spaces, samplers and studies (§1.5 of the notes)."""
