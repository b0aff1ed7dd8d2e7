"""Saved states: private, bounded, and never trusted when their size changed."""

from __future__ import annotations

from afterdelete.engines.llama_server import SlotStates


def save(states: SlotStates, key: str, size: int) -> None:
    (states.directory / states.name(key)).write_bytes(bytes(size))
    states.keep(key)


def test_the_least_recently_used_state_goes_first() -> None:
    states = SlotStates(budget_bytes=250)
    save(states, "a", 100)
    save(states, "b", 100)
    assert states.find("a") == "a.bin"
    save(states, "c", 100)
    assert [key for key in "abc" if states.find(key)] == ["a", "c"]
    assert sorted(path.name for path in states.directory.iterdir()) == ["a.bin", "c.bin"]
    states.close()
    assert not states.directory.exists()


def test_a_state_beyond_the_budget_is_not_kept() -> None:
    states = SlotStates(budget_bytes=50)
    save(states, "a", 100)
    assert states.find("a") is None
    states.close()


def test_a_cut_or_missing_state_is_forgotten() -> None:
    states = SlotStates(budget_bytes=1000)
    save(states, "a", 100)
    save(states, "b", 100)
    (states.directory / "a.bin").write_bytes(bytes(99))
    (states.directory / "b.bin").unlink()
    assert states.find("a") is None
    assert states.find("b") is None
    assert states.directory.stat().st_mode & 0o077 == 0
    states.close()
