"""A real LangGraph application in its own environment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from afterdelete.afterlife.environments import SystemAbsent, interpreter
from afterdelete.afterlife.markers import Markers
from afterdelete.afterlife.protocol import Context, DeletionContract
from afterdelete.afterlife.session import Session
from tests.afterlife_support import fits_result

try:
    interpreter("memory-langgraph")
    ABSENT = ""
except SystemAbsent as absent:
    ABSENT = str(absent)
pytestmark = pytest.mark.skipif(bool(ABSENT), reason=ABSENT)
THREAD = Context("afterlife-e2e-thread", DeletionContract.THREAD_CHECKPOINT)


@pytest.fixture(scope="module")
def session() -> Session:
    """The committed configuration with a shorter window."""
    committed = Session.read()
    times = committed.config.times.model_copy(update={"window_ms": 60})
    return replace(committed, config=committed.config.model_copy(update={"times": times}))


def run(session: Session, system: str, id: str) -> dict[str, Any]:
    result = fits_result(session.run(system, id))
    assert result["cleanup"] is None or result["cleanup"]["complete"], result["cleanup"]
    assert result["system"]["versions"]["langgraph"] == result["system"]["version"] == "1.2.24"
    assert result["system"]["versions"]["langgraph-checkpoint-sqlite"] == "3.1.2"
    return result


@pytest.mark.parametrize(
    ("system", "id", "status", "trigger"),
    [
        ("langgraph", "MT-AF-001", "FAIL", "release_pending_writes"),
        ("langgraph", "MT-AF-002", "FAIL", "start_session"),
        ("langgraph", "AF-003", "PASS", None),
        ("langgraph-tombstones", "MT-AF-001", "PASS", None),
        ("langgraph-tombstones", "MT-AF-002", "PASS", None),
        ("langgraph-tombstones", "AF-003", "PASS", None),
        ("langgraph-threads", "MT-AF-001", "FAIL", "release_pending_writes"),
        ("langgraph-threads", "AF-003", "PASS", None),
        ("langgraph-threads-tombstones", "MT-AF-001", "PASS", None),
        ("langgraph-threads-tombstones", "AF-003", "PASS", None),
    ],
)
def test_the_verified_integration(
    session: Session, system: str, id: str, status: str, trigger: str | None
) -> None:
    result = run(session, system, id)
    assert (result["status"], result["afterlife"]["resurrection_trigger"]) == (status, trigger)
    assert result["control"]["held"] is True
    contract = "thread_checkpoint" if "threads" in system else "memory_record"
    assert result["afterlife"]["deletion_contract"] == contract


def test_re_ingestion_needs_the_contract_of_memories(session: Session) -> None:
    result = run(session, "langgraph-threads", "MT-AF-002")
    assert (result["status"], "MEMORY_DELETE" in result["reason"]) == ("SKIPPED", True)


def test_thread_deletion_is_not_memory_deletion(session: Session) -> None:
    """A memory derived from a thread stays when the thread is deleted; that is no finding."""
    result = run(session, "langgraph-threads-tombstones", "MT-AF-001")
    assert result["status"] == "PASS"
    assert result["afterlife"]["surfaces_checked"] == ["thread_state", "thread_history"]
    last = result["afterlife"]["events"][-1]
    assert (last["action"], last["marker_visible"]) == ("after_restart", False)
    assert last["detail"].endswith("not judged under thread_checkpoint: visible on search, profile")


def test_the_same_seen_with_the_adapter_alone(session: Session) -> None:
    marker = Markers().make("thread")
    adapter = session.open("langgraph")()
    try:
        adapter.write(THREAD, f"My code is {marker}.")
        state = adapter.inspect_surface(THREAD, "thread_state", marker)  # type: ignore[attr-defined]
        assert any(marker in hit.text for hit in state)
        assert adapter.delete_thread(THREAD).executed  # type: ignore[attr-defined]
        assert not adapter.inspect_surface(THREAD, "thread_history", marker)  # type: ignore[attr-defined]
        (memory,) = adapter.search(THREAD, marker, 50)
        adapter.delete(Context(THREAD.namespace), memory.id)
        assert not adapter.search(THREAD, marker, 50)
    finally:
        adapter.close()
