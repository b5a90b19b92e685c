"""The checker of signatures while testing: beartype, with an int accepted where a float is asked for.

`--jaxtyping-packages` wraps every function of the packages that it names by `jaxtyping.jaxtyped`. That one binds the
arguments by `inspect` and checks them twice, also where no shape is named, which took half of the time of the tests.
The form below takes its place and checks the same annotations once: arguments before the call, the result after it,
with the sizes of the axes in one record per call, and none where no array is named.
"""

import functools
from inspect import isclass
from types import FunctionType
from typing import get_args

import jaxtyping
from beartype import BeartypeConf, beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import AbstractArray, TypeCheckError, config
from jaxtyping._decorator import _destring_annotation
from jaxtyping._storage import pop_shape_memo, push_shape_memo, shape_str

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
_of_classes = jaxtyping.jaxtyped


def _names_an_array(annotation: object) -> bool:
    if isclass(annotation) and issubclass(annotation, AbstractArray):
        return True
    parts = annotation if isinstance(annotation, list) else get_args(annotation)
    return any(map(_names_an_array, parts))


def _checked(function: FunctionType) -> FunctionType:
    """Return the function with beartype's checks; an annotation that cannot be read here is none."""
    code, names, defaults, cells = (
        getattr(function, f"__{name}__") for name in ("code", "globals", "defaults", "closure")
    )
    copy = FunctionType(code, names, function.__name__, defaults, cells)
    copy.__kwdefaults__, copy.__qualname__, copy.__module__ = (
        function.__kwdefaults__,
        function.__qualname__,
        function.__module__,
    )
    copy.__annotations__ = {
        name: hint if type(hint) is type else _destring_annotation(hint, names)
        for name, hint in function.__annotations__.items()
    }
    return check(copy)


def jaxtyped(function: object = None, *, typechecker: object = None) -> object:
    """Check a function where it is called, unless `jaxtyping.config` says no; classes are left to jaxtyping."""
    if function is None:
        return functools.partial(jaxtyped, typechecker=typechecker)
    if not isinstance(function, FunctionType):
        return _of_classes(function, typechecker=typechecker)
    if not function.__annotations__:
        return function
    checked = _checked(function)

    @functools.wraps(function)
    def plain(*args, **kwargs):
        if config.jaxtyping_disable:
            return function(*args, **kwargs)
        try:
            return checked(*args, **kwargs)
        except BeartypeCallHintViolation as error:
            raise TypeCheckError(str(error)) from None

    @functools.wraps(function)
    def shaped(*args, **kwargs):
        if config.jaxtyping_disable:
            return function(*args, **kwargs)
        memos = push_shape_memo({})
        try:
            return checked(*args, **kwargs)
        except BeartypeCallHintViolation as error:
            raise TypeCheckError(f"{error}\n{shape_str(memos)}") from None
        finally:
            pop_shape_memo()

    return shaped if any(map(_names_an_array, checked.__annotations__.values())) else plain


jaxtyping.jaxtyped = jaxtyped
