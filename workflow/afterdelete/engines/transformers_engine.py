"""The reference engine: PyTorch through transformers, on a GPU where there is one.

Batched floating point depends on what shares a batch, so batches are part of the contract: consecutive
slices of the request list of the spec's ``batch_size``, left-padded. Callers put twins side by side.
No code from a model's repository runs, and weights come from safetensors or GGUF, never from a pickle.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from afterdelete.config.model_spec import ModelSpec
from afterdelete.core.canonical import sha256_text
from afterdelete.core.errors import AfterDeleteError
from afterdelete.core.provenance import host_provenance, usable_cpus
from afterdelete.engines.base import ChatRequest, ClosingEngine, FinishReason, OnReply, Reply, hash_token_ids
from afterdelete.engines.gguf import read_header
from afterdelete.engines.prompts import Prompt, PromptBuilder, check_trained_context
from afterdelete.engines.template import ChatTemplate

_DTYPES = ("float32", "bfloat16", "float16")


class TransformersEngine(ClosingEngine):
    """One causal language model in one process. ``reuse`` is accepted and changes nothing here."""

    def __init__(
        self, spec: ModelSpec, files: dict[str, Path], *, reuse: bool = True, threads: int | None = None
    ) -> None:
        # Must be set before CUDA starts; without it cuBLAS may sum in another order from run to run.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        os.environ.setdefault("TQDM_DISABLE", "1")  # a job's log is no terminal
        try:
            import torch
            import transformers
        except ImportError as error:
            raise AfterDeleteError(
                f"{spec.name} needs the packages torch and transformers", "install envs/transformers.txt"
            ) from error
        if spec.dtype not in _DTYPES:
            raise AfterDeleteError(
                f"{spec.name}: dtype {spec.dtype} is not one of {', '.join(_DTYPES)}", "fix the model's YAML"
            )
        self._spec = spec
        self._torch = torch
        self._threads = threads or usable_cpus()
        torch.set_num_threads(self._threads)
        torch.manual_seed(spec.seed)
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self._tokenizer, self._model = _load(spec, files, self.device)
        check_trained_context(spec, getattr(self._model.config, "max_position_embeddings", None))
        self._builder = _builder(spec, self._tokenizer, self._tokenize)
        self._eos = _eos_ids(self._model, self._tokenizer)
        pad = self._tokenizer.pad_token_id
        self._pad = pad if pad is not None else min(self._eos)
        # A model's own generation settings may hold penalties that greedy decoding would obey.
        self._model.generation_config = transformers.GenerationConfig(
            do_sample=False,
            num_beams=1,
            max_new_tokens=spec.max_new_tokens,
            eos_token_id=sorted(self._eos),
            pad_token_id=self._pad,
        )

    def generate(self, requests: Sequence[ChatRequest], on_reply: OnReply | None = None) -> list[Reply]:
        """See :class:`afterdelete.engines.base.Engine`. All prompts are checked before any generation."""
        if self._model is None:
            raise AfterDeleteError(f"{self._spec.name}: the engine is closed", "open it again")
        prompts = [self._builder.build(request) for request in requests]
        replies: list[Reply] = []
        for start in range(0, len(prompts), self._spec.batch_size):
            for reply in self._generate_batch(prompts[start : start + self._spec.batch_size]):
                replies.append(reply)
                if on_reply is not None:
                    on_reply(len(replies) - 1, reply)
        return replies

    def provenance(self) -> dict[str, Any]:
        torch = self._torch
        device = torch.cuda.get_device_name(0) if self.device == "cuda" else "cpu"
        return {
            "engine": "transformers",
            "build": {"torch": torch.__version__, "cuda": torch.version.cuda, "hip": torch.version.hip},
            "threads": self._threads,
            "device": device,
            "dtype": self._spec.dtype,
            "batch_size": self._spec.batch_size,
            **host_provenance("torch", "transformers", "tokenizers", "safetensors", "gguf"),
        }

    def close(self) -> None:
        self._model = None
        if self.device == "cuda":
            self._torch.cuda.empty_cache()

    def _tokenize(self, segments: Sequence[tuple[str, bool]]) -> list[int]:
        ids: list[int] = []
        for text, special in segments:
            ids += self._tokenizer(text, add_special_tokens=False, split_special_tokens=not special)[
                "input_ids"
            ]
        return ids

    def _generate_batch(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Replies of one left-padded batch, shape (prompts, longest prompt in tokens)."""
        torch = self._torch
        width = max(len(prompt.ids) for prompt in prompts)
        rows = [[self._pad] * (width - len(prompt.ids)) + prompt.ids for prompt in prompts]
        masks = [[0] * (width - len(prompt.ids)) + [1] * len(prompt.ids) for prompt in prompts]
        try:
            with torch.inference_mode():
                output = self._model.generate(
                    input_ids=torch.tensor(rows, device=self.device),
                    attention_mask=torch.tensor(masks, device=self.device),
                )
        except torch.cuda.OutOfMemoryError as error:
            raise AfterDeleteError(
                f"{self._spec.name}: out of memory with {len(prompts)} prompts of {width} tokens",
                "use a GPU with more memory, or lower batch_size (which is part of the model's identity)",
            ) from error
        return [
            self._reply(prompt, new) for prompt, new in zip(prompts, output[:, width:].tolist(), strict=True)
        ]

    def _reply(self, prompt: Prompt, new: list[int]) -> Reply:
        stop = next((index for index, token in enumerate(new) if token in self._eos), None)
        reason: FinishReason = "length" if stop is None else "stop"
        return Reply(
            text=self._tokenizer.decode(
                new if stop is None else new[:stop],
                skip_special_tokens=True,
                clean_up_tokenization_spaces=False,
            ),
            finish_reason=reason,
            prompt_tokens=len(prompt.ids),
            completion_tokens=len(new) if stop is None else stop + 1,
            rendered_sha256=sha256_text(prompt.rendered.text),
            token_ids_sha256=hash_token_ids(prompt.ids),
        )


def _load(spec: ModelSpec, files: dict[str, Path], device: str) -> tuple[Any, Any]:
    """Tokenizer and model from local files only."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, __version__

    # The paper's 4.43 knows the argument by its older name only; 5 drops that one.
    dtype = "dtype" if int(__version__.split(".")[0]) >= 5 else "torch_dtype"
    first = next(iter(files.values()))
    _refuse_strays(spec, first.parent, files)
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    weights: dict[str, Any] = {"use_safetensors": True}
    if first.suffix == ".gguf":
        read_header(first)  # a clear refusal of a broken file
        options["gguf_file"] = first.name
        weights = {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(first.parent, **options)
        model = AutoModelForCausalLM.from_pretrained(
            first.parent, **{dtype: getattr(torch, spec.dtype)}, **options, **weights
        )
        return tokenizer, model.to(device).eval()
    except torch.cuda.OutOfMemoryError as error:
        raise AfterDeleteError(f"{spec.name} does not fit the GPU's memory", "use a larger GPU") from error
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        detail = " ".join(str(error).split())[:300]
        raise AfterDeleteError(
            f"transformers cannot load {spec.name} from {first.parent}: {type(error).__name__}: {detail}",
            "check the files and the versions in envs/transformers.txt",
        ) from error


def _refuse_strays(spec: ModelSpec, folder: Path, files: dict[str, Path]) -> None:
    """transformers loads a folder: an unlisted adapter or weights file there would change the model."""
    listed = {path.name for path in files.values()} | {"snapshot.json", "fetched.json"}
    strays = sorted(
        path.name for path in folder.iterdir() if not path.name.startswith(".") and path.name not in listed
    )
    if strays:
        raise AfterDeleteError(
            f"{spec.name}: {folder} holds {strays[0]}, which the model's YAML does not list",
            "keep each model in a folder of its own",
        )


def _builder(spec: ModelSpec, tokenizer: Any, tokenize: Any) -> PromptBuilder:
    source = tokenizer.chat_template
    if isinstance(source, dict):  # several named templates
        source = source.get("default")
    template = ChatTemplate(
        source,
        system_role=spec.system_role,
        bos_token=tokenizer.bos_token or "",
        eos_token=tokenizer.eos_token or "",
        template_date=spec.template_date,
    )
    added = tokenizer.added_tokens_decoder.items()
    bos_id = tokenizer.bos_token_id
    return PromptBuilder(
        spec,
        template,
        tokenize,
        controls={index: token.content for index, token in added if token.special},
        bos_id=bos_id,
        adds_bos=tokenizer("word")["input_ids"][:1] == [bos_id],
    )


def _eos_ids(model: Any, tokenizer: Any) -> set[int]:
    """Tokens that end a reply: the model's own list and the tokenizer's."""
    ids: set[int] = set()
    for value in (model.generation_config.eos_token_id, model.config.eos_token_id, tokenizer.eos_token_id):
        ids |= {value} if isinstance(value, int) else set(value or ())
    if not ids:
        raise AfterDeleteError("the model names no token that ends a reply", "use an instruction-tuned model")
    return ids
