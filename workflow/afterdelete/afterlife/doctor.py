"""What an adapter declares, what of it is believed, and which scenarios that is enough for."""

from __future__ import annotations

from collections.abc import Sequence

from afterdelete.afterlife.catalogue import Scenario, scenarios
from afterdelete.afterlife.declared import Declared, believed
from afterdelete.afterlife.environments import SystemAbsent
from afterdelete.afterlife.guard import Guard
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.protocol import Description, ProviderError
from afterdelete.afterlife.session import Session
from afterdelete.afterlife.verdict import EXIT_ERROR, EXIT_INCONCLUSIVE, EXIT_PASS


def examine(session: Session, systems: Sequence[str], ids: Sequence[str]) -> tuple[list[str], int]:
    """Lines for a person, and 0 if some scenario would run, else 4 if a system failed to answer, else 3.

    Nothing is written to any system.
    """
    pairs = list(session.chosen(systems, ids))
    lines: list[str] = []
    runnable = failed = False
    for name in dict.fromkeys(name for name, _ in pairs):
        wanted = [scenarios()[id] for pair_name, id in pairs if pair_name == name]
        lines.append(name)
        try:
            description, declared = _ask(session, name)
        except SystemAbsent as absent:
            lines.append(f"  not here: {absent}")
        except ProviderError as error:
            failed = True
            lines.append(f"  does not answer: {Markers().clean(str(error))}")
        else:
            runnable |= any(not scenario.missing(declared.capabilities) for scenario in wanted)
            lines += [f"  {line}" for line in _system_lines(description, declared, wanted)]
    return lines, EXIT_PASS if runnable else EXIT_ERROR if failed else EXIT_INCONCLUSIVE


def _ask(session: Session, name: str) -> tuple[Description, Declared]:
    adapter = session.open(name)()
    guard = Guard(adapter, session.config.limits(name), Markers())
    try:
        return guard.describe(), guard.call(believed, adapter, session.config.systems[name].without)
    finally:
        guard.close()


def _system_lines(description: Description, declared: Declared, wanted: list[Scenario]) -> list[str]:
    clean = Markers().clean
    versions = ", ".join(f"{package} {version}" for package, version in sorted(description.versions.items()))
    lines = [clean(f"{description.name} {description.version}" + (f" ({versions})" if versions else ""))]
    lines.append(f"can: {', '.join(sorted(declared.capabilities)) or 'nothing'}")
    lines += [clean(f"dropped {each.capability}: {each.reason}") for each in declared.dropped]
    for scenario in wanted:
        missing = scenario.missing(declared.capabilities)
        contract = scenario.contract(declared.capabilities)
        verdict = f"would be SKIPPED, lacks {', '.join(missing)}" if missing else f"would run, {contract}"
        lines.append(f"{scenario.id}: {verdict}")
    return lines
