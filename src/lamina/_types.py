"""Shapes in signatures: the jaxtyping names in use and the one glossary of axis names.

`batch`    examples that are computed together         `time`    steps of a sequence
`channel`  feature maps of an image tensor             `feature` components of one input vector
`height`, `width`  image axes                          `hidden`  components of a recurrent state
`label`    classes or outputs                          `vocab`   entries of a dictionary

A star as in `"*batch feature"` allows any number of leading axes: [batch], or [batch, members] in a population;
`"*#batch feature"` may have 1 there where the result has more, since members can share their inputs. The strings are
checked in tests only (see `tests/shapes.py`); at run time they cost nothing.

Corrects: E73, letters that mean several things in the notes have words of their own here.
"""

from collections.abc import Callable

from jaxtyping import Bool, Float, Int, Num
from torch import Generator, Tensor

Seed = int | Generator
"""Where random numbers come from: an integer, or a generator that is advanced. Never the global one."""

Elementwise = Callable[[Tensor], Tensor]
"""A function applied to each component, such as an activation."""

__all__ = ["Bool", "Elementwise", "Float", "Generator", "Int", "Num", "Seed", "Tensor"]
