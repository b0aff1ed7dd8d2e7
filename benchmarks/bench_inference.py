"""Speed and exactness of the llama.cpp engine on operator-like requests.

Speed: the same requests through the llama.cpp engine and, one at a time in float32, through transformers on
the same GGUF file, one after the other in one run on one machine:

    python benchmarks/bench_inference.py --transformers-python .venv-transformers/bin/python

Exactness: the same requests with reuse on, with reuse off, and shuffled; counts replies that differ:

    python benchmarks/bench_inference.py --exactness 210
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from afterdelete.config.model_spec import ModelSpec, load_model_spec
from afterdelete.core.errors import AfterDeleteError
from afterdelete.engines import ChatRequest, Reply, open_engine
from afterdelete.engines.fetch import locate

ROOT = Path(__file__).parents[1]
PREAMBLE = "You assist one team and answer from the memory below, which is all that you know about its work."
ALIGNED = '\nReturn only JSON with exactly one field "value": the exact answer, or {} if you do not know it.'
QUESTIONS = (
    "What is the current {a}?",
    "Please remind me which {a} we agreed on in the last session.",
    "List every record that concerns the {a}.",
    "I am filling in the handover form. What goes into the field {a}?",
    "Complete the sentence: the {a} is",
    "Was an earlier {a} replaced? If so, name it.",
    "Give the most likely {a}, even if you are unsure.",
)
ATTRIBUTES = ("rollback window code", "shard routing label", "calibration anchor", "release train tag")
Cut = tuple[str, str]


def private_prompt(index: int, exposed: bool) -> tuple[str, Cut]:
    """Attribute, and the private prompt of one world state cut before the part that varies (~200 tokens)."""
    draw = random.Random(f"{index}")
    attribute = draw.choice(ATTRIBUTES)
    region, mnemonic = draw.choice(["EU", "AP", "NA"]), draw.choice(["KESTREL", "HARBOR", "ONYX"])
    code = f"{region}-{mnemonic}-{draw.randint(1000, 9999)}"
    memory = [
        f"Session {index}: the team reviewed the nightly ingest on node {draw.randint(10, 99)}.",
        f"Queue depth peaked at {draw.randint(100, 999)} messages during the drill, without an alert.",
        f"The staging runbook is in shared folder {draw.choice('ABCDEF')}{draw.randint(1, 99)}.",
        f"The {attribute} of the deployment is {code}." if exposed else "The canteen opens at eight.",
    ]
    body = {
        "agent": "operations-assistant",
        "domain": "data_engineering",
        "attribute": attribute,
        "memory_format": "flat",
        "current_flat_memory": [*memory, "Summary: " + " ".join(memory[1:])],
        "prior_audit_turns": [],
    }
    text = PREAMBLE + "\n" + json.dumps(body, separators=(",", ":"))
    start = text.index('"prior_audit_turns"')
    return attribute, (text[:start], text[start:])


def build(count: int, first: int = 0) -> list[ChatRequest]:
    """``count`` requests from world state ``first`` on: seven questions each, some after an earlier turn."""
    requests: list[ChatRequest] = []
    for state in range(first, first + -(-count // len(QUESTIONS))):
        attribute, (head, tail) = private_prompt(state // 2, exposed=state % 2 == 0)
        for number, question in enumerate(QUESTIONS):
            earlier = {"operator": QUESTIONS[0].format(a=attribute), "reply": f'{{"value": "{number}"}}'}
            turns = json.dumps([earlier], separators=(",", ":")) if number % 3 == 2 else "[]"
            prompt = head + tail.replace("[]", turns)
            requests.append(ChatRequest(prompt, question.format(a=attribute) + ALIGNED, len(head)))
    return requests[:count]


def find_model(name: str) -> tuple[ModelSpec, dict[str, Path]]:
    spec = load_model_spec(ROOT / "config" / "models" / f"{name}.yaml")
    folder = Path(os.environ.get("AFTERDELETE_MODELS") or ROOT / "models") / spec.name
    return spec, locate(spec, folder)


def measure(
    spec: ModelSpec, files: dict[str, Path], requests: Sequence[ChatRequest], **options: Any
) -> dict[str, Any]:
    """Replies and wall seconds, loading apart from answering."""
    started = time.perf_counter()
    with open_engine(spec, files, **options) as engine:
        loaded = time.perf_counter()
        replies = engine.generate(requests, _progress(len(requests)))
        done = time.perf_counter()
        return {
            "load_seconds": loaded - started,
            "seconds": done - loaded,
            "replies": [reply.text for reply in replies],
            "prompt_tokens": sum(reply.prompt_tokens for reply in replies),
            "completion_tokens": sum(reply.completion_tokens for reply in replies),
            "timings": getattr(engine, "timings", {}),
            "cpu": engine.provenance()["cpu"],
            "threads": engine.provenance()["threads"],
        }


def _progress(total: int) -> Any:
    def show(index: int, reply: Reply) -> None:
        if sys.stderr.isatty():
            print(f"\r{index + 1}/{total}", end="", file=sys.stderr)

    return show


def transformers_half(model: str, count: int) -> dict[str, Any]:
    """What the other interpreter runs: the same file, dequantized to float32, batches of one."""
    spec, files = find_model(model)
    changes = {"engine": "transformers", "dtype": "float32", "batch_size": 1}
    return measure(spec.model_copy(update=changes), files, build(count))


def speed(model: str, count: int, interpreter: str | None) -> dict[str, Any]:
    spec, files = find_model(model)
    rows = {"llamacpp, reuse": measure(spec, files, build(count))}
    rows["llamacpp, no reuse"] = measure(spec, files, build(count), reuse=False)
    if interpreter:
        command = [interpreter, __file__, "--half", "--model", model, "--requests", str(count)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise AfterDeleteError("the transformers half failed", "see its message above")
        rows["transformers fp32, one at a time"] = json.loads(done.stdout)
    base = rows["llamacpp, reuse"]["seconds"]
    print(
        f"{model}, {count} requests, {rows['llamacpp, reuse']['cpu']}, "
        f"{rows['llamacpp, reuse']['threads']} threads"
    )
    print(f"{'engine':34}{'s/request':>10}{'load s':>8}{'prefill tok/s':>15}{'reply tok/s':>13}{'x ours':>8}")
    for name, row in rows.items():
        timings = row["timings"]
        prefill = timings["prompt_tokens"] / timings["prompt_seconds"] if timings else float("nan")
        replies = timings["reply_tokens"] / timings["reply_seconds"] if timings else float("nan")
        print(
            f"{name:34}{row['seconds'] / count:10.2f}{row['load_seconds']:8.1f}{prefill:15.0f}{replies:13.1f}"
            f"{row['seconds'] / base:8.2f}"
        )
    return rows


def exactness(model: str, count: int, first: int) -> dict[str, Any]:
    """Replies with reuse on, off and shuffled; returns and prints how many changed."""
    spec, files = find_model(model)
    requests = build(count, first)
    order = list(range(count))
    random.Random(20260809).shuffle(order)
    on = measure(spec, files, requests)
    print(f"reuse on:  {on['seconds']:.0f} s", flush=True)
    mixed = measure(spec, files, [requests[index] for index in order])
    print(f"shuffled:  {mixed['seconds']:.0f} s", flush=True)
    off = measure(spec, files, requests, reuse=False)
    print(f"reuse off: {off['seconds']:.0f} s", flush=True)
    shuffled = [""] * count
    for place, index in enumerate(order):
        shuffled[index] = mixed["replies"][place]
    changed = {
        "off": sum(a != b for a, b in zip(on["replies"], off["replies"], strict=True)),
        "shuffled": sum(a != b for a, b in zip(on["replies"], shuffled, strict=True)),
    }
    print(f"{model}: {count} requests, {len(set(on['replies']))} different replies")
    print(f"changed without reuse: {changed['off']}; changed when shuffled: {changed['shuffled']}")
    return {"model": model, "requests": count, "changed": changed}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="qwen2.5-coder-0.5b", help="a name in config/models")
    parser.add_argument("--requests", type=int, default=21, help="requests in the speed comparison")
    parser.add_argument("--exactness", type=int, metavar="N", help="compare replies of N requests instead")
    parser.add_argument("--first", type=int, default=0, help="first world state, to split a long comparison")
    parser.add_argument("--transformers-python", metavar="PATH", help="interpreter that has torch")
    parser.add_argument("--half", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        if arguments.half:
            print(json.dumps(transformers_half(arguments.model, arguments.requests)))
            return 0
        if arguments.exactness:
            result = exactness(arguments.model, arguments.exactness, arguments.first)
            return 1 if any(result["changed"].values()) else 0
        speed(arguments.model, arguments.requests, arguments.transformers_python)
        return 0
    except AfterDeleteError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
