"""Makes dataclasses of JSON values, by their annotations."""

import dataclasses
import json
from functools import lru_cache
from typing import Any, Dict, FrozenSet, Literal, Optional, Tuple, Type, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class WrongShape(Exception):
    """A value is not of the type that the API's description gives it."""


class NotJson(WrongShape):
    """A body is not JSON, or only a part of it."""


def parse(body: bytes) -> object:
    """The value of a JSON text."""
    try:
        value: object = json.loads(body)
        return value
    # A text nested too deeply is a RecursionError, one that is not UTF-8 a UnicodeDecodeError, which is a ValueError.
    except (ValueError, RecursionError):
        raise NotJson("the body is not JSON") from None


def decode(of: Type[T], value: object, **extra: object) -> T:
    """The dataclass ``of`` made of a JSON object; ``extra`` is given to it as it is."""
    made: T = _fields_decoded(of, value, "the body", extra)
    return made


@lru_cache(maxsize=None)
def wire_fields(of: Any) -> Dict[str, Any]:
    """The type of each field that is on the wire."""
    hints = get_type_hints(of)
    return {it.name: hints[it.name] for it in dataclasses.fields(of) if it.metadata.get("wire", True)}


@lru_cache(maxsize=None)
def optional_fields(of: Any) -> FrozenSet[str]:
    """The names of fields that may be absent, which have a default."""
    return frozenset(it.name for it in dataclasses.fields(of) if it.default is not dataclasses.MISSING)


def _fields_decoded(of: Any, value: object, where: str, extra: Dict[str, object]) -> Any:
    if not isinstance(value, dict):
        raise WrongShape(f"{where} is not an object")
    fields = {
        name: _decoded(hint, value.get(name, _ABSENT), name)
        for name, hint in wire_fields(of).items()
        if name in value or name not in optional_fields(of)
    }
    return of(**fields, **extra)


_ABSENT = object()


def _decoded(hint: Any, value: object, where: str) -> Any:
    origin = get_origin(hint)
    if origin is Union:
        return _one_of(get_args(hint), value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise WrongShape(f"{where} is not an array")
        return tuple(_decoded(get_args(hint)[0], item, where) for item in value)
    if dataclasses.is_dataclass(hint):
        return _fields_decoded(hint, value, where, {})
    # A word that is new since this version, such as a seventh target, is text too.
    expected: Type[object] = str if origin is Literal else hint
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        raise WrongShape(f"{where} is missing" if value is _ABSENT else f"{where} is not {expected.__name__}")
    return value


def _one_of(options: Tuple[Any, ...], value: object, where: str) -> Any:
    if type(None) in options:
        if value is None:
            return None
        return _decoded(next(it for it in options if it is not type(None)), value, where)
    status: Optional[object] = value.get("status") if isinstance(value, dict) else None
    for option in options:
        if status in get_args(wire_fields(option)["status"]):
            return _fields_decoded(option, value, where, {})
    raise WrongShape(f"{where} has neither form of a row")
