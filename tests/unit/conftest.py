"""Small memory states for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from afterdelete.memory.state import Record, State

WORDS = st.text(alphabet='abcdefghij klmnop."\\é漢{}', min_size=1, max_size=30)


@st.composite
def states(draw: st.DrawFn, minimum: int = 2) -> State:
    """A state of 2 to 6 raw records with unique texts, some addressed by deletion, some neighbours."""
    count = draw(st.integers(minimum, 6))
    texts = draw(st.lists(WORDS.filter(str.strip), min_size=count, max_size=count, unique=True))
    records = tuple(Record(f"r-{at + 1:02d}", text) for at, text in enumerate(texts))
    sources = draw(st.integers(1, count - 1))
    ids = [record.entry_id for record in records]
    chosen = draw(st.permutations(ids))
    neighbours = chosen[sources : sources + draw(st.integers(0, count - sources))]
    return State(
        profile_id="iid-000000",
        index=0,
        agent="Ada",
        domain="robotics",
        attribute="dock code",
        records=records,
        source_ids=tuple(sorted(chosen[:sources])),
        neighbour_ids=tuple(sorted(neighbours)),
    )
