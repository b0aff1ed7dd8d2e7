"""The figures of a study, as rows of bars: recovery, breakdown, lifecycle, official against raw."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from afterdelete.report.bars import Bar, Chart, Panel, Row
from afterdelete.report.facts import Facts, one_per_audit, same
from afterdelete.scoring.schema import PLACES, STRUCTURES
from afterdelete.stats.cells import Cell, headline_rank
from afterdelete.stats.summary import Evaluated, Rate, Result

STATUS_WORDS = {
    "above_zero": "above zero",
    "proved_zero": "zero, proved",
    "observed_zero": "zero, observed",
    "inconclusive": "zero, inconclusive",
    "no_control": "zero, no control",
    "no_gap": "no gap",
}
ENDPOINT_WORDS = {"R": "reconstruction", "C": "commitment", "A": "activation", "E": "completion"}
PLACE_WORDS = {
    "top_value": "top-level value",
    "nested": "nested object",
    "other_field": "other field",
    "prose": "prose",
    "fenced": "code fence",
    "truncated": "truncated reply",
}


PAIRED = (
    ("forget", "forget"),
    ("clean", "clean"),
    ("retained", "retained, no deletion"),
    ("whisker", "95 % interval of the gap"),
)
OFFICIAL = (("forget", "official outcome"), ("raw", "target anywhere in a raw reply"))


def href(cell: str, world: str, part: str = "") -> str:
    """Where the replies of one world of a cell stand, relative to the index page."""
    return f"replies/{cell}.html#{world}{f'.{part}' if part else ''}"


def charts(facts: Facts) -> dict[str, Chart]:
    """Every figure that the data has rows for, by name."""
    made = [_recovery(facts), _auditors(facts), _breakdown(facts), _lifecycle(facts), _contracts(facts)]
    return {chart.name: chart for chart in made if chart.panels}


def _per_panel(facts: Facts, rows: Callable[[list[Evaluated]], list[Row]]) -> list[Panel]:
    panels = []
    for panel in facts.panels():
        own = [e for e in facts.evaluated if (e.cell.conditions.model, e.cell.conditions.split) == panel]
        if made := rows(own):
            panels.append(Panel(facts.panel_title(panel), made))
    return panels


def _recovery(facts: Facts) -> Chart:
    """Memory and deletion, with the headline's auditor and contract held fixed."""
    head = facts.headline.cell.conditions

    def rows(own: list[Evaluated]) -> list[Row]:
        chosen = [e for e in own if same(e.cell.conditions, head, "auditor", "audit_contract")]
        return [
            _audit_row(e, f"{e.cell.conditions.memory} memory, {e.cell.conditions.deletion} deletion")
            for e in one_per_audit(chosen)
        ]

    return Chart("recovery", "Recovery by memory and deletion", PAIRED, _per_panel(facts, rows))


def _auditors(facts: Facts) -> Chart:
    """All other audits beside the headline: auditors and contracts."""
    head = facts.headline.cell.conditions

    def rows(own: list[Evaluated]) -> list[Row]:
        audits = one_per_audit(own)
        others = [e for e in audits if not same(e.cell.conditions, head, "auditor", "audit_contract")]
        if not others:
            return []
        first = [e for e in audits if same(e.cell.conditions, head, "memory", "deletion")]
        chosen = sorted(
            {e.cell.id: e for e in (*first, *others)}.values(), key=lambda e: headline_rank(e.cell.conditions)
        )
        return [_audit_row(e, _auditor_label(e, head.memory, head.deletion)) for e in chosen]

    return Chart("auditors", "Recovery by auditor and response contract", PAIRED, _per_panel(facts, rows))


def _auditor_label(each: Evaluated, memory: str, deletion: str) -> str:
    own = each.cell.conditions
    label = f"{own.auditor}, {own.audit_contract}"
    return (
        label if (own.memory, own.deletion) == (memory, deletion) else f"{label}, {own.memory} {own.deletion}"
    )


def _audit_row(each: Evaluated, label: str) -> Row:
    result = each.results["R"]
    note = f"clean {_of(result.clean)} · {_control(result)}"
    if result.status != "above_zero":
        note += f" · {STATUS_WORDS[result.status]}"
    if result.raw_forget and not result.forget.count:
        # An official zero with the target in plain sight must not look like silence.
        note += f" · raw {result.raw_forget}/{result.n}"
    return _row(each.cell, result, label, note)


def _row(cell: Cell, result: Result, label: str, note: str, part: str = "", value: str = "") -> Row:
    """Forget on its retained reference, clean below, the interval of the gap."""
    what = f"{label}, {result.endpoint}"
    bars = {
        world: Bar(world, rate.count, rate.n, href(cell.id, world, part), f"{what}, {world}: {_of(rate)}")
        for world, rate in (("forget", result.forget), ("clean", result.clean))
    }
    behind = None
    if result.retained:
        behind = Bar(
            "retained",
            result.retained.count,
            result.retained.n,
            href(result.retained_cell, "retained", part),
            f"{what}, retained: {_of(result.retained)}",
        )
    return Row(
        label=label,
        note=note,
        value=value or _of(result.forget),
        main=bars["forget"],
        under=bars["clean"],
        behind=behind,
        interval=result.interval,
    )


def _of(rate: Rate) -> str:
    return f"{rate.count}/{rate.n}"


def _control(result: Result) -> str:
    if result.retained is None:
        return "retained not run"
    share = share_of_retained(result) if result.forget.count else ""
    return f"retained {_of(result.retained)}" + (f", forget is {share} of it" if share else "")


def share_of_retained(result: Result) -> str:
    """Forget as a share of retained, in percent; empty where retained is absent or 0."""
    if result.retained is None or result.retained.count == 0:
        return ""
    return f"{100 * result.forget.mean / result.retained.mean:.0f} %"


def _breakdown(facts: Facts) -> Chart:
    """Structure and domain within the headline's conditions, on every panel that has them."""
    head = facts.headline.cell.conditions
    names = ("memory", "deletion", "auditor", "audit_contract", "gate", "activation_contract", "write_branch")

    def rows(own: list[Evaluated]) -> list[Row]:
        made: list[Row] = []
        chosen = {e.cell.id for e in own if same(e.cell.conditions, head, *names)}
        for heading, parts in (("by structure", facts.structures), ("by domain", facts.domains)):
            found = [(value, part) for value, part in parts if part.cell.id in chosen]
            found.sort(key=lambda pair: (_place_of(pair[0]), pair[0]))
            for at, (value, part) in enumerate(found):
                result = part.results["R"]
                numbers = f"forget {_of(result.forget)} · clean {_of(result.clean)}"
                row = _row(part.cell, result, value, "", value, numbers)
                made.append(row if at else _headed(row, heading))
        return made

    return Chart("breakdown", "Recovery by structure and domain", PAIRED, _per_panel(facts, rows))


def _place_of(value: str) -> int:
    return STRUCTURES.index(value) if value in STRUCTURES else len(STRUCTURES)


def _headed(row: Row, heading: str) -> Row:
    return Row(**{**row.__dict__, "heading": heading})


def _lifecycle(facts: Facts) -> Chart:
    """R, C, A, E of every deletion and gate, within one auditor and one pair of contracts."""
    lived = [each for each in facts.evaluated if each.cell.lifecycle]
    if not lived:
        return Chart("lifecycle", "", PAIRED, ())
    head = min(
        lived, key=lambda e: (e is not facts.headline, headline_rank(e.cell.conditions))
    ).cell.conditions
    names = ("memory", "auditor", "audit_contract", "activation_contract")

    def rows(own: list[Evaluated]) -> list[Row]:
        chosen = [e for e in own if e.cell.lifecycle and same(e.cell.conditions, head, *names)]
        made = []
        for each in sorted(chosen, key=lambda e: headline_rank(e.cell.conditions)):
            where = each.cell.conditions
            heading = f"{where.deletion} deletion, gate {where.gate or 'not used'}"
            heading += f", {where.write_branch}" if where.write_branch else ""
            for at, (name, result) in enumerate(each.results.items()):
                numbers = f"forget {_of(result.forget)} · clean {_of(result.clean)}"
                row = _row(each.cell, result, f"{name}  {ENDPOINT_WORDS[name]}", "", "", numbers)
                made.append(row if at else _headed(row, heading))
        return made

    return Chart(
        "lifecycle", "Reconstruction, commitment, activation, completion", PAIRED, _per_panel(facts, rows)
    )


def _contracts(facts: Facts) -> Chart:
    """Official outcome on raw occurrence, in the forget world, for each audit and activation contract."""
    head = facts.headline.cell.conditions

    def rows(own: list[Evaluated]) -> list[Row]:
        alike = [e for e in own if same(e.cell.conditions, head, "memory", "deletion")]
        made = [_raw_row(e, "audit") for e in one_per_audit(alike)]
        seen: set[tuple[str, ...]] = set()
        activations = []
        for each in sorted(alike, key=lambda e: headline_rank(e.cell.conditions)):
            where = each.cell.conditions
            key = (where.auditor, where.audit_contract, where.activation_contract)
            if each.cell.lifecycle and key not in seen:
                seen.add(key)
                activations.append(_raw_row(each, "activation"))
        return _head_first(made, "audit replies") + _head_first(activations, "activation replies")

    return Chart("contracts", "Official outcome and raw occurrence", OFFICIAL, _per_panel(facts, rows))


def _head_first(rows: Sequence[Row], heading: str) -> list[Row]:
    return [row if at else _headed(row, heading) for at, row in enumerate(rows)]


def _raw_row(each: Evaluated, stage: str) -> Row:
    cell, where = each.cell, each.cell.conditions
    endpoint = "R" if stage == "audit" else "A"
    label = f"{where.audit_contract}, {where.auditor}"
    if stage == "activation":
        label = f"{where.activation_contract} (audit: {label})"
    units = cell.worlds["forget"]
    official, raw = (Rate(cell.count("forget", c), cell.n) for c in (endpoint, f"{stage}_raw_target"))
    places = {place: sum(unit[f"{stage}_where"] == place for unit in units) for place in PLACES}
    sat = ", ".join(f"{PLACE_WORDS[place]} {count}" for place, count in places.items() if count)
    link = href(cell.id, "forget")
    return Row(
        label=label,
        value=_of(official),
        note=f"raw {_of(raw)}" + (f": {sat}" if sat else ""),
        main=Bar("forget", official.count, cell.n, link, f"{label}, official {endpoint}: {_of(official)}"),
        behind=Bar("raw", raw.count, cell.n, link, f"{label}, target in a raw reply: {_of(raw)}"),
    )
