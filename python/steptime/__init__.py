"""Steptime: how long will one step of distributed training take, why, and what would make it shorter?

An experiment is a path of a config, a dict with the config's keys, or an Experiment. Results are those of
the command line, key by key (``steptime.names("result")`` names them). Errors of the input are InputError,
whose ``file`` and ``pointer`` say where.

>>> import steptime
>>> steptime.collective_time("dgx-a100", gpus=8, operation="all-reduce", bytes=2**20)  # doctest: +SKIP
5.6e-05
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from typing import Any, Literal, Optional, Union, overload

from . import _steptime
from ._steptime import InputError, InternalError, MissingError, ModelFailure

__all__ = [
    "Experiment",
    "InputError",
    "InternalError",
    "MissingError",
    "ModelFailure",
    "advise",
    "collective_time",
    "explain",
    "names",
    "run",
    "schema",
    "sweep",
]

__version__: str = _steptime.version()

Json = dict[str, Any]


class Experiment:
    """A config from keywords with the schema's names: ``Experiment(workload=..., cluster=...)``."""

    def __init__(
        self,
        *,
        workload: Mapping[str, Any],
        cluster: Mapping[str, Any],
        name: str = "experiment",
        description: Optional[str] = None,
        strategy: Optional[Mapping[str, Any]] = None,
        run: Optional[Mapping[str, Any]] = None,
        sweep: Optional[Mapping[str, Any]] = None,
    ) -> None:
        self.config: Json = {"name": name, "workload": dict(workload), "cluster": dict(cluster)}
        if description is not None:
            self.config["description"] = description
        for key, section in (("strategy", strategy), ("run", run), ("sweep", sweep)):
            if section is not None:
                self.config[key] = dict(section)


Config = Union[str, "os.PathLike[str]", Mapping[str, Any], Experiment]
Sets = Optional[Mapping[str, Any]]


def _arguments(config: Config, sets: Sets) -> tuple[Optional[str], str, list[str]]:
    """The path or the text of a config, and what is set in it, as ``--set`` has it."""
    texts = [f"{pointer}={json.dumps(value)}" for pointer, value in (sets or {}).items()]
    if isinstance(config, Experiment):
        return None, json.dumps(config.config), texts
    if isinstance(config, Mapping):
        return None, json.dumps(config), texts
    return os.fspath(config), "", texts


def run(config: Config, sets: Sets = None) -> Json:
    """Simulates one experiment. ``sets``: JSON pointers and the values that replace the config's."""
    result: Json = json.loads(_steptime.run(*_arguments(config, sets)))
    return result


@overload
def sweep(
    config: Config, sets: Sets = None, *, threads: int = 1, frame: Literal[False] = False
) -> list[Json]: ...
@overload
def sweep(config: Config, sets: Sets = None, *, threads: int = 1, frame: Literal[True]) -> Any: ...
def sweep(config: Config, sets: Sets = None, *, threads: int = 1, frame: bool = False) -> Any:
    """Every point of the config's sweep, in order: a list of rows, or with ``frame`` a pandas DataFrame
    that has a column for each swept pointer and each result. A point that failed has "error" only."""
    if threads < 1:
        raise ValueError(f"threads: expected 1 or more, got {threads}")
    text = _steptime.sweep(*_arguments(config, sets), threads)
    rows: list[Json] = [json.loads(line) for line in text.splitlines()]
    if not frame:
        return rows
    pandas = importlib.import_module("pandas")
    return pandas.DataFrame([{**row.pop("params"), **row} for row in rows])


def explain(config: Config, sets: Sets = None) -> Json:
    """Why the step takes as long as it does: causes, limits, elasticities, scaling."""
    answer: Json = json.loads(_steptime.explain(*_arguments(config, sets)))
    return answer


def advise(config: Config, sets: Sets = None) -> Json:
    """The best schedule and collective of each system, and what to write there."""
    answer: Json = json.loads(_steptime.advise(*_arguments(config, sets)))
    return answer


def collective_time(
    preset: str,
    gpus: int,
    operation: str,
    bytes: int,
    *,
    nodes: int = 1,
    collective: str = "nccl",
) -> float:
    """Seconds that a collective of ``bytes`` takes on the first ``gpus`` GPUs of each of a preset's nodes.
    ``operation``: all-reduce, all-gather or reduce-scatter."""
    return _steptime.collective_time(preset, gpus, operation, bytes, nodes, collective)


def names(kind: str) -> dict[str, str]:
    """What a config can choose from, each name with a line of help: ``names("preset")``."""
    kinds: dict[str, list[dict[str, str]]] = json.loads(_steptime.names())
    if kind not in kinds:
        raise ValueError(f"kind: unknown {kind!r}; known: {', '.join(kinds)}")
    return {entry["name"]: entry["help"] for entry in kinds[kind]}


def schema() -> Json:
    """The JSON Schema of experiments."""
    text: Json = json.loads(_steptime.schema())
    return text
