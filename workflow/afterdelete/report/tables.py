"""The tables of the index page, as plain rows for the template."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from afterdelete.report.facts import Certificate, Facts
from afterdelete.report.figures import PLACE_WORDS, STATUS_WORDS, href, share_of_retained
from afterdelete.scoring.schema import PARSES, PLACES
from afterdelete.stats.cells import headline_rank
from afterdelete.stats.summary import Evaluated, Result


def result_groups(facts: Facts) -> list[tuple[str, list[dict[str, Any]]]]:
    """The results of every cell, grouped by panel; the headline's panel and cell first."""
    groups = []
    for panel in facts.panels():
        own = [e for e in facts.evaluated if (e.cell.conditions.model, e.cell.conditions.split) == panel]
        own.sort(key=lambda each: (each is not facts.headline, headline_rank(each.cell.conditions)))
        groups.append((facts.panel_title(panel), [_result_row(each) for each in own]))
    return groups


def _result_row(each: Evaluated) -> dict[str, Any]:
    where, result = each.cell.conditions, each.results["R"]
    contracts = where.audit_contract
    if where.activation_contract:
        contracts += f" / {where.activation_contract}"
    gate = " ".join(filter(None, (where.gate, where.write_branch)))
    return {
        "state": f"{where.memory}, {where.deletion}",
        "auditor": where.auditor,
        "contracts": contracts,
        "gate": gate or "–",
        "n": result.n,
        "clean": result.clean.count,
        "forget": result.forget.count,
        "gap": gap(result),
        "raw": result.raw_forget,
        "retained": f"{result.retained.count}/{result.retained.n}" if result.retained else "not run",
        "share": share_of_retained(result),
        "status": STATUS_WORDS[result.status],
        "status_class": result.status,
        "later": [f"{each.results[name].delta:.3f}" if name in each.results else "–" for name in "CAE"],
        "href": href(each.cell.id, "forget"),
        "clean_href": href(each.cell.id, "clean"),
        "retained_href": href(result.retained_cell, "retained") if result.retained else "",
    }


def gap(result: Result) -> str:
    """A gap with its interval; the gap alone at a boundary."""
    if result.interval is None:
        return f"{result.delta:.3f}"
    low, high = result.interval
    return f"{result.delta:.3f} [{low:.3f}, {high:.3f}]"


def certificate_rows(facts: Facts) -> list[tuple[Certificate, str]]:
    """Certificates with the distinct statuses of R in their cells."""
    rows = []
    for each in facts.certificates:
        found = {
            STATUS_WORDS[e.results["R"].status]
            for e in facts.evaluated
            if tuple(getattr(e.cell.conditions, name) for name in ("split", "memory", "deletion"))
            == (each.split, each.memory, each.deletion)
        }
        rows.append((each, ", ".join(sorted(found)) or "no cell"))
    return rows


def interface_rows(facts: Facts) -> list[dict[str, Any]]:
    """Forget-world replies of each audit, and of each activation: official, raw, parse classes, places."""
    rows = [_interface_row(each, "audit") for each in facts.audits]
    lived = [each for each in facts.evaluated if each.cell.lifecycle]
    lived.sort(key=lambda each: headline_rank(each.cell.conditions))
    return rows + [_interface_row(each, "activation") for each in lived]


def _interface_row(each: Evaluated, stage: str) -> dict[str, Any]:
    where, units = each.cell.conditions, each.cell.worlds["forget"]
    parses = Counter(unit[f"{stage}_parse"] for unit in units)
    places = Counter(unit[f"{stage}_where"] for unit in units)
    state = f"{where.split}, {where.memory}, {where.deletion}, {where.auditor}"
    if stage == "activation":
        state += f", audit {where.audit_contract}, gate {where.gate or 'not used'}"
    return {
        "stage": stage,
        "contract": getattr(where, f"{stage}_contract"),
        "state": state,
        "n": len(units),
        "official": each.cell.count("forget", "R" if stage == "audit" else "A"),
        "raw": each.cell.count("forget", f"{stage}_raw_target"),
        "parses": ", ".join(f"{name} {parses[name]}" for name in PARSES if parses[name]),
        "places": ", ".join(f"{PLACE_WORDS[name]} {places[name]}" for name in PLACES if places[name]) or "–",
        "href": href(each.cell.id, "forget"),
    }


def query_rows(facts: Facts) -> list[tuple[str, str, int, list[tuple[int, int]]]]:
    """Recoveries in forget by the query that made them: (split, auditor and contract, total, by query)."""
    rows = []
    for each in facts.audits:
        units = each.cell.worlds["forget"]
        turns = Counter(u["recovery_query"] for u in units if u["recovery_query"] is not None)
        if turns:
            where = each.cell.conditions
            name = f"{where.memory}, {where.deletion}, {where.auditor}, {where.audit_contract}"
            rows.append((where.split, name, sum(turns.values()), sorted(turns.items())))
    return rows


def provenance_rows(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested mappings as (dotted name, text), in the order given; lists joined by commas."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows += provenance_rows(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            rows.append((f"{prefix}{name}", ", ".join(map(str, value))))
        else:
            rows.append((f"{prefix}{name}", str(value)))
    return rows
