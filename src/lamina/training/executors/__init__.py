"""Ways to run the one update: eager, compiled for the CPU, captured as CUDA graphs; populations add the stack."""
