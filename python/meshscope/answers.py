"""Questions that the installed command answers in JSON."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Union

from .errors import CommandError
from .lessons import lesson_argument
from .program import ask_json, decoded, options_of, other_version, path_argument, run_program
from .running import named, scenario_file
from .values import Path


def predict(scenario: Path, *, profile: Optional[str] = None, ranks: Union[str, int, None] = None,
            steps: Optional[int] = None, measure: bool = False, lang: Optional[str] = None) -> Dict[str, Any]:
    """Bytes, memory and time of a scenario that is not run: the answer of `meshscope predict --json`.

    `scenario` is a file, a lesson's name or a scenario's text; `measure=True` also runs it, for comparison.
    """
    asked = options_of({"profile": profile, "ranks": ranks, "steps": steps, "measure": measure})
    with scenario_file(scenario, {}) as file:
        try:
            answer: Dict[str, Any] = ask_json(["predict", path_argument(file), "--json", *asked], lang)
        except CommandError as error:
            raise CommandError(named(str(error), file, scenario), error.exit_code, error.command) from None
    return answer


def plan(model: Path, *, lang: Optional[str] = None, **options: Any) -> Dict[str, Any]:
    """Layouts of a model on GPUs: the answer of `meshscope plan --json`.

    `model` is a scenario file or `"hf:config.json"`; options are the command's: `gpu="h100"`, `gpus=64`, `seq=8192`,
    `global_batch=512`, `top=3`, `lora=16`, `only="tp=8"`, …
    """
    answer: Dict[str, Any] = ask_json(["plan", path_argument(model), "--json", *options_of(options)], lang)
    return answer


def mesh(shape: Sequence[int], names: Sequence[str] = (), *, rank: Optional[int] = None, lang: Optional[str] = None,
         **options: Any) -> List[Dict[str, Any]]:
    """What a device mesh tells its ranks, one dict a rank: the answer of `meshscope mesh --json`.

    Options are the command's: `world=8`, `ranks="0,2,4,6"`, `slice=["a,b"]`, `flatten=…`, `unflatten=…`,
    `concatenate=…`, `ask=['mesh["a"].get_local_rank()']`.
    """
    if isinstance(names, str):
        names = [names]
    asked = options_of({"names": ",".join(names) or None, "rank": rank, **options})
    told = ask_json(["mesh", "--shape", ",".join(map(str, shape)), "--json", *asked], lang)
    try:
        per_rank: List[Dict[str, Any]] = told["per_rank"]
    except (KeyError, TypeError):
        raise other_version() from None
    return per_rank


def numbers(lesson: Path, *, lang: Optional[str] = None) -> Dict[str, str]:
    """The numbers that a lesson's texts use, from a run of it: the answer of `meshscope lesson numbers --json`."""
    lines = run_program(["lesson", "numbers", lesson_argument(lesson), "--json"], lang).split("\n")
    try:
        return {id: text for line in lines if line.strip() for id, text in decoded(line)["numbers"].items()}
    except (KeyError, TypeError, AttributeError):
        raise other_version() from None
