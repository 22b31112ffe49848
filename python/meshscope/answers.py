"""Questions that the installed command answers in JSON."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence, Union

from .errors import CommandError
from .program import ask_json, run_program
from .running import Path, named, scenario_file


def _options(options: Dict[str, Any]) -> List[str]:
    """`gpus_per_node=8` as `--gpus-per-node 8`; True is the option alone, a list is the option several times."""
    arguments: List[str] = []
    for name, given in options.items():
        option = "--" + name.replace("_", "-")
        if given is None or given is False:
            continue
        for each in given if isinstance(given, (list, tuple)) else [given]:
            arguments += [option] if each is True else [option, str(each)]
    return arguments


def predict(scenario: Path, *, profile: Optional[str] = None, ranks: Union[str, int, None] = None,
            steps: Optional[int] = None, measure: bool = False, lang: Optional[str] = None) -> Dict[str, Any]:
    """Bytes, memory and time of a scenario that is not run: the answer of `meshscope predict --json`.

    `scenario` is a file, a lesson's name or a scenario's text; `measure=True` also runs it, for comparison.
    """
    asked = _options({"profile": profile, "ranks": ranks, "steps": steps, "measure": measure})
    with scenario_file(scenario, {}) as file:
        try:
            answer: Dict[str, Any] = ask_json(["predict", str(file), "--json", *asked], lang)
        except CommandError as error:
            raise CommandError(named(str(error), file, scenario), error.exit_code, error.command) from None
    return answer


def plan(model: Path, *, lang: Optional[str] = None, **options: Any) -> Dict[str, Any]:
    """Layouts of a model on GPUs: the answer of `meshscope plan --json`.

    `model` is a scenario file or `"hf:config.json"`; options are the command's: `gpu="h100"`, `gpus=64`, `seq=8192`,
    `global_batch=512`, `top=3`, `lora=16`, `only="tp=8"`, …
    """
    answer: Dict[str, Any] = ask_json(["plan", str(model), "--json", *_options(options)], lang)
    return answer


def mesh(shape: Sequence[int], names: Sequence[str] = (), *, rank: Optional[int] = None, lang: Optional[str] = None,
         **options: Any) -> List[Dict[str, Any]]:
    """What a device mesh tells its ranks, one dict a rank: the answer of `meshscope mesh --json`.

    Options are the command's: `world=8`, `ranks="0,2,4,6"`, `slice=["a,b"]`, `flatten=…`, `unflatten=…`,
    `concatenate=…`, `ask=['mesh["a"].get_local_rank()']`.
    """
    asked = _options({"names": ",".join(names) or None, "rank": rank, **options})
    told = ask_json(["mesh", "--shape", ",".join(map(str, shape)), "--json", *asked], lang)
    per_rank: List[Dict[str, Any]] = told["per_rank"]
    return per_rank


def numbers(lesson: Path, *, lang: Optional[str] = None) -> Dict[str, str]:
    """The numbers that a lesson's texts use, from a run of it: the answer of `meshscope lesson numbers --json`."""
    lines = run_program(["lesson", "numbers", str(lesson), "--json"], lang).splitlines()
    return {id: text for line in lines for id, text in json.loads(line)["numbers"].items()}
