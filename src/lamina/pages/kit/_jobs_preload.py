"""What every page and job needs, loaded once: in the server, and in the process that forks jobs; no thread starts."""

import torch
import torch._dynamo  # the first gradient of a function loads it anyway, which takes two seconds

import lamina.functional

__all__ = ["lamina", "torch"]
