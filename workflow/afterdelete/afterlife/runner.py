"""One scenario on one system, from the declaration of capabilities to the cleanup."""

from __future__ import annotations

import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from afterdelete.afterlife.arm import CONTROL, TRIAL, Arm
from afterdelete.afterlife.capabilities import Capability
from afterdelete.afterlife.catalogue import Scenario
from afterdelete.afterlife.cleanup import Cleaner, Cleanup
from afterdelete.afterlife.declared import Declared, believed
from afterdelete.afterlife.environments import SystemAbsent
from afterdelete.afterlife.guard import Guard, Limits
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.protocol import (
    Context,
    DeletionContract,
    Description,
    MemoryAdapter,
    ProviderError,
    Surface,
)
from afterdelete.afterlife.scenarios import SCRIPTS
from afterdelete.afterlife.timeline import Evidence
from afterdelete.afterlife.verdict import Failed, Inconclusive, Status
from afterdelete.afterlife.watch import Watch, divide


@dataclass
class Result:
    """What a scenario found. Texts from the system are already fit to show."""

    scenario: Scenario
    status: Status = Status.ERROR
    label: str | None = None
    reason: str = ""
    description: Description | None = None
    declared: Declared | None = None
    contract: DeletionContract | None = None
    trial: Arm | None = None
    control: Arm | None = None
    control_held: bool | None = None
    event: int | None = None  # seq of the look that made it a FAIL
    trigger: str | None = None
    resurrected: bool = False  # the marker came back after its absence had been confirmed
    evidence: Evidence = field(default_factory=Evidence)
    cleanup: Cleanup | None = None
    elapsed_ms: int = 0


def run_scenario(
    scenario: Scenario,
    open_adapter: Callable[[], MemoryAdapter],
    *,
    limits: Limits | None = None,
    markers: Markers | None = None,
    without: Iterable[Capability] = (),
) -> Result:
    """Run ``scenario`` on a freshly opened adapter and clean up, whatever happens.

    Every fault of the system under test ends in a status. ``KeyboardInterrupt`` passes through, after the
    cleanup. The adapter is opened here and closed here.
    """
    started = time.monotonic()
    result = Result(scenario)
    markers = markers or Markers()
    try:
        adapter = open_adapter()
    except SystemAbsent as absent:
        result.status, result.reason = Status.SKIPPED, str(absent)
        return result
    except ProviderError as error:
        result.reason = markers.clean(str(error))
        return result
    run = _Run(result, Guard(adapter, limits or Limits(), markers), frozenset(without))
    try:
        try:
            run.judge()
        finally:
            with _undisturbed():
                run.clean_up()
    except KeyboardInterrupt:
        raise Interrupted(result.cleanup) from None
    result.elapsed_ms = round((time.monotonic() - started) * 1000)
    return result


class Interrupted(KeyboardInterrupt):
    """A Ctrl-C, after the cleanup. ``cleanup`` is None if nothing had been created yet."""

    def __init__(self, cleanup: Cleanup | None) -> None:
        super().__init__()
        self.cleanup = cleanup


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep a second Ctrl-C from cutting the cleanup short; the cleanup has a deadline of its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Run:
    def __init__(self, result: Result, guard: Guard, without: frozenset[Capability]) -> None:
        self._result = result
        self._guard = guard
        self._without = without
        self._capabilities: frozenset[Capability] = frozenset()
        # Unpredictable even when the markers are seeded: two runs never meet in one namespace.
        self._namespace = f"afterlife-{secrets.token_hex(8)}"

    def judge(self) -> None:
        """Run both arms; every fault of the system ends in a status."""
        result = self._result
        try:
            surfaces = self._introduce()
            if missing := result.scenario.missing(self._capabilities):
                raise _Lacking(f"the system lacks {', '.join(missing)}")
            contract = result.scenario.contract(self._capabilities)
            assert contract is not None  # missing() would have named the delete
            arms = [self._arm(name, surfaces, contract) for name in (CONTROL, TRIAL)]
            result.contract = contract
            self._control_arm(arms[0])
            self._trial_arm(arms[1])
        except _Lacking as lacking:
            result.status, result.reason = Status.SKIPPED, str(lacking)
        except Inconclusive as inconclusive:
            result.status, result.reason = Status.INCONCLUSIVE, str(inconclusive)
        except Failed as failed:
            result.status, result.label, result.reason = Status.FAIL, failed.label, str(failed)
            result.event, result.trigger, result.resurrected = (
                failed.event,
                failed.trigger,
                failed.resurrected,
            )
        except ProviderError as error:
            result.status, result.reason = Status.ERROR, str(error)

    def clean_up(self) -> None:
        """Undo what the arms did, if any of them began, and close the adapter."""
        result = self._result
        arms = [arm for arm in (result.control, result.trial) if arm is not None]
        if arms:
            failed = result.status is Status.ERROR  # also the status of a run that was cut short
            result.cleanup = Cleaner(self._guard, self._capabilities, arms).run(after_failure=failed)
        problem = self._guard.close()
        if problem and result.cleanup:
            result.cleanup = replace(result.cleanup, problems=(*result.cleanup.problems, problem))

    def _introduce(self) -> list[Surface]:
        guard, result = self._guard, self._result
        result.description = guard.describe()
        result.declared = guard.call(believed, guard.adapter, self._without)
        self._capabilities = result.declared.capabilities
        return guard.surfaces() if Capability.LIFECYCLE_SURFACES in self._capabilities else []

    def _control_arm(self, arm: Arm) -> None:
        result = self._result
        result.control, result.control_held = arm, False
        arm.begin()
        try:
            SCRIPTS[result.scenario.id].control(arm)
        except Inconclusive as broken:
            raise Inconclusive(f"control arm: {broken}") from None
        result.control_held = True

    def _trial_arm(self, arm: Arm) -> None:
        result = self._result
        result.trial = arm
        arm.begin()
        SCRIPTS[result.scenario.id].trial(arm)
        done = [(event.phase, event.action) for event in arm.timeline.events]
        if done != result.scenario.planned(self._capabilities):
            raise Inconclusive("not every event of the scenario took place")
        result.status, result.reason = Status.PASS, "the marker stayed away after every event"

    def _arm(self, name: str, surfaces: list[Surface], contract: DeletionContract) -> Arm:
        guard = self._guard
        ctx = Context(f"{self._namespace}-{name}", contract)
        divided = divide(surfaces, contract)
        if not divided.judged:
            raise _Lacking(f"the system has no surface that {contract} answers for")
        decoy = guard.markers.make("decoy")
        return Arm(
            name,
            guard,
            Watch(guard, ctx, divided, decoy),
            self._result.evidence,
            ctx,
            self._capabilities,
            guard.markers,
            self._result.scenario.failure_label,
        )


class _Lacking(Exception):
    """The system lacks what the scenario needs."""
