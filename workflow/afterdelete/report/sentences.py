"""Sentences computed from the results. None of them states what the data could contradict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from afterdelete.report.facts import Certificate, Facts
from afterdelete.report.figures import STATUS_WORDS, share_of_retained
from afterdelete.stats.bootstrap import clopper_pearson
from afterdelete.stats.cells import Conditions
from afterdelete.stats.summary import Evaluated, Rate, Result

_VERDICTS = {
    "above_zero": "",
    "proved_zero": "This zero is proved: the private prompts of both worlds are the same bytes.",
    "observed_zero": "This zero is observed, with a positive control above 0; it is not proved.",
    "inconclusive": "This zero is inconclusive.",
    "no_control": "This zero is inconclusive.",
    "no_gap": "What was recovered cannot be attributed to the exposure.",
}
_ASKED = {"direct": "one direct question", "paraphrase": "one paraphrased question"}


def answer(facts: Facts) -> str:
    """The answer in one sentence: what the headline's question recovered, split by split."""
    head = facts.headline.cell.conditions
    result = facts.headline.results["R"]
    asked = _ASKED.get(head.auditor, f"the auditor {head.auditor}")
    others = [f"{_counts(each)} on {each.cell.conditions.split}" for each in _siblings(facts)]
    recovered = "still recovered" if result.forget.count else "recovered"
    text = (
        f"After {head.deletion} deletion from {head.memory} memory, {asked} {recovered} "
        f"{_some(result.forget)} {_plural(result.n, 'deleted target')} "
        f"(clean: {result.clean.count} of {result.clean.n})"
    )
    if not others:
        return f"{text}."
    return f"{text} on {head.split}, and {_joined(others)}."


def _siblings(facts: Facts) -> list[Evaluated]:
    """The headline's conditions on the other splits of its model."""
    head = facts.headline.cell.conditions
    found: dict[str, Evaluated] = {}
    for each in facts.evaluated:
        own = each.cell.conditions
        if own.split != head.split and own._replace(split=head.split) == head:
            found.setdefault(own.split, each)
    return [found[split] for split in sorted(found)]


def _counts(each: Evaluated) -> str:
    result = each.results["R"]
    return f"{_some(result.forget)} (clean: {result.clean.count} of {result.clean.n})"


def meaning(facts: Facts) -> list[tuple[str, str]]:
    """What stands behind the headline, by split: the gap, the control, what the score missed."""
    lines = []
    for each in (facts.headline, *_siblings(facts)):
        result = each.results["R"]
        parts = (gap_sentence(result), control_sentence(result), _VERDICTS[result.status], _missed(result))
        text = " ".join(part for part in parts if part)
        lines.append((each.cell.conditions.split, text))
    return lines


def gap_sentence(result: Result) -> str:
    """The gap with its interval, or why there is none."""
    if result.interval:
        low, high = result.interval
        return f"The gap is {result.delta:.3f}, 95 % paired interval {low:.3f} to {high:.3f}."
    equal = f"all {result.n} paired differences are equal, so no interval is given."
    if result.n == 1:
        equal = "it rests on one profile, so no interval is given."
    return f"The gap is {result.delta:.3f}; {equal}"


def control_sentence(result: Result) -> str:
    """What the retained twin says about the headline."""
    if result.retained is None:
        return "The retained twin was not run, so there is no positive control."
    kept = f"Without deletion the same audit recovered {_some(result.retained)}"
    share = share_of_retained(result)
    if not share:
        return f"{kept}: the positive control shows nothing."
    return f"{kept}; forget is {share} of that."


def _missed(result: Result) -> str:
    raw = result.raw_forget or 0
    more = raw - result.forget.count
    if more <= 0:
        return ""
    hold = "reply holds" if more == 1 else "replies hold"
    return f"In forget, {more} more raw {hold} the target without being scored."


def proved(facts: Facts) -> list[str]:
    """One sentence for each (memory, deletion): what its certificate shows."""
    found = sorted(facts.certificates, key=lambda each: (each.memory, each.deletion, each.kind))
    groups = groupby(found, key=lambda each: (each.memory, each.deletion, each.kind))
    return [_certified(facts, *key, list(members)) for key, members in groups]


def _certified(facts: Facts, memory: str, deletion: str, kind: str, members: Sequence[Certificate]) -> str:
    holds, n = sum(each.holds for each in members), sum(each.n for each in members)
    counts = ", ".join(f"{each.split} {each.holds} of {each.n}" for each in members)
    name = f"{memory.capitalize()} memory, {deletion} deletion ({counts})"
    if holds < n:
        missing = n - holds
        return (
            f"{name}: the {kind} certificate fails for {missing} {_plural(missing, 'profile')}. "
            "Nothing is proved for them."
        )
    split = {each.split for each in members}
    own = [
        each
        for each in facts.evaluated
        if each.cell.conditions[2:5] in {(s, memory, deletion) for s in split}
    ]
    moved = sum(any(result.delta for result in each.results.values()) for each in own)
    if kind == "identical" and moved:
        return (
            f"{name}: the private prompts of forget and clean are the same bytes for every profile, yet "
            f"{moved} {_plural(moved, 'cell')} {'shows' if moved == 1 else 'show'} a gap. The same prompt "
            "did not always get the same reply; nothing else can make a gap here."
        )
    if kind == "identical":
        return (
            f"{name}: the private prompts of forget and clean are the same bytes for every profile. "
            "The evaluated model cannot tell the worlds apart, so a gap of zero is proved, not only observed."
        )
    return (
        f"{name}: the private prompts of forget and clean differ in the span of the exposure only. "
        "Any gap is due to what the exposure left there; a zero would be observed, not proved."
    )


def statuses(facts: Facts) -> list[tuple[str, int, str]]:
    """How many audits have each status: (words, count, meaning), in a fixed order; absent ones left out."""
    meanings = {
        "above_zero": "more recovered in forget than in clean",
        "proved_zero": "nothing recovered, and the prompts of both worlds are the same bytes",
        "observed_zero": "nothing recovered, though the retained twin was",
        "inconclusive": "nothing recovered, and nothing in the retained twin either",
        "no_control": "nothing recovered, and no retained twin was run",
        "no_gap": "some recovered, but no more in forget than in clean",
    }
    tally = [each.results["R"].status for each in facts.audits]
    return [(STATUS_WORDS[s], tally.count(s), text) for s, text in meanings.items() if s in tally]


def controls(facts: Facts) -> list[str]:
    """The positive controls: how many audits have one, and how many of those are above 0."""
    audits = [each.results["R"] for each in facts.audits]
    ran = [result for result in audits if result.retained is not None]
    if not ran:
        return ["No retained twin was run: no zero in this report has a positive control."]
    above = sum(bool(result.retained and result.retained.count) for result in ran)
    lines = [
        f"{len(ran)} of {len(audits)} {_plural(len(audits), 'audit')} "
        f"{'has' if len(ran) == 1 else 'have'} a retained twin; in {above} of them it recovers something."
    ]
    empty = [each for each in facts.audits if (kept := each.results["R"].retained) and not kept.count]
    if empty:
        names = "; ".join(cell_name(each.cell.conditions) for each in empty)
        lines.append(f"The twin recovers nothing in: {names}. A zero there says nothing unless it is proved.")
    return lines


def limits(facts: Facts) -> list[str]:
    """What the results do not show, computed from what was run."""
    result = facts.headline.results["R"]
    low, high = clopper_pearson(result.forget.count, result.n)
    models = sorted({each.cell.conditions.model for each in facts.evaluated})
    splits = sorted({each.cell.conditions.split for each in facts.evaluated})
    auditors = sorted({each.cell.conditions.auditor for each in facts.evaluated})
    lines = [
        f"The headline rests on {result.n} {_plural(result.n, 'profile')}: one is worth {1 / result.n:.3f}. "
        f"The exact 95 % (Clopper-Pearson) interval of its forget rate alone is {low:.3f} to {high:.3f}; "
        "it is not an interval of the gap.",
        f"Evaluated {_plural(len(models), 'model')}: {', '.join(models)}. "
        f"{_plural(len(splits), 'Split')}: {', '.join(splits)}. Nothing is pooled over models or splits.",
        f"{_plural(len(auditors), 'Auditor')} tried: {', '.join(auditors)}. Another one may recover more.",
        "Targets are synthetic, and R counts literal equality of the submitted prediction only: "
        "a paraphrase or a part of a target is not counted.",
    ]
    audits = [each.results["R"] for each in facts.audits]
    if unscored := sum(max(0, (result.raw_forget or 0) - result.forget.count) for result in audits):
        lines.append(
            f"Across the audits, {unscored} forget {_plural(unscored, 'unit')} with the target in a raw "
            "reply counted as no recovery: an official zero does not say that the target was not disclosed."
        )
    if silent := _silent_structures(facts):
        lines.append(f"Nothing was recovered in the headline cell from: {', '.join(silent)}.")
    bare = sum(each.results["R"].status in ("no_control", "inconclusive") for each in facts.audits)
    if bare:
        lines.append(
            f"{bare} of {len(facts.audits)} {_plural(len(facts.audits), 'audit')} ended at zero without "
            "proof or a positive control above 0; no conclusion can be drawn from "
            f"{'it' if bare == 1 else 'them'}."
        )
    stale = sum(cell.count(world, "stale") for cell in facts.cells for world in cell.worlds)
    if stale:
        lines.append(
            f"{stale} {_plural(stale, 'unit')} {'is' if stale == 1 else 'are'} write-path stale: "
            "the scoring parser would have submitted something else than the protocol parser did, so C, A "
            "and E there describe the older submission."
        )
    return lines


def _silent_structures(facts: Facts) -> list[str]:
    own = [(v, part.results["R"]) for v, part in facts.structures if part.cell.id == facts.headline.cell.id]
    if not any(result.forget.count for _, result in own):
        return []
    return [f"{value} (0 of {result.n})" for value, result in own if not result.forget.count]


def cell_name(where: Conditions) -> str:
    """A cell in words: its conditions, those that were not run left out."""
    contracts = where.audit_contract
    if where.activation_contract:
        contracts += f"/{where.activation_contract}"
    parts = [where.split, where.memory, where.deletion, where.auditor, contracts]
    parts += [f"gate {where.gate}"] if where.gate else []
    parts += [where.write_branch] if where.write_branch else []
    return " · ".join(parts)


def _some(rate: Rate) -> str:
    return f"{rate.count if rate.count else 'none'} of {rate.n}"


def _plural(n: int, word: str) -> str:
    return word if n == 1 else f"{word}s"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
