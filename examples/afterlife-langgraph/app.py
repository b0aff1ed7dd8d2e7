"""A small agent-memory application on LangGraph: a graph, a SQLite checkpointer, a SQLite store.

LangGraph extracts no memories itself; the memory manager here is ours and needs no model. With
``honour_tombstones`` off it does what is easily done: a session start rebuilds memories from every kept
thread, and a run that was in flight finishes as if nothing had been deleted meanwhile. That is a defect of
this application, not of LangGraph.
"""

from __future__ import annotations

import contextlib
import operator
import secrets
import sqlite3
import threading
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.sqlite import SqliteStore

REMEMBER = "Please remember that "
_PAGE = 1000  # entries of one user; an application with more would page


class State(TypedDict, total=False):
    """What a thread keeps."""

    messages: Annotated[list[str], operator.add]


class Turn(TypedDict, total=False):
    """What one run of the graph is about; not kept in the thread."""

    user: str
    gate: threading.Event | None
    memory: tuple[str, str] | None  # id and text of a memory that this run writes


class MemoryApp:
    """One deployment of the application on the files in ``folder``."""

    def __init__(self, folder: Path, *, honour_tombstones: bool) -> None:
        self.honour_tombstones = honour_tombstones
        self._connections = [
            sqlite3.connect(folder / "checkpoints.sqlite", check_same_thread=False),
            sqlite3.connect(folder / "store.sqlite", check_same_thread=False, isolation_level=None),
        ]
        self.checkpointer = SqliteSaver(self._connections[0])
        self.store = SqliteStore(self._connections[1])
        self.checkpointer.setup()
        self.store.setup()
        graph = StateGraph(State, context_schema=Turn)
        graph.add_node("listen", self._listen)
        graph.add_node("manage_memory", self._manage_memory)
        graph.add_edge(START, "listen")
        graph.add_edge("listen", "manage_memory")
        graph.add_edge("manage_memory", END)
        self.graph = graph.compile(checkpointer=self.checkpointer, store=self.store)

    def close(self) -> None:
        """Close the files."""
        for connection in self._connections:
            connection.close()

    # The graph

    def _listen(self, _state: State, runtime: Runtime[Turn]) -> State:
        """Where a real agent would call its model, which takes a while: a gate can hold the run here."""
        gate = runtime.context.get("gate")
        if gate:
            gate.wait()
        return {}

    def _manage_memory(self, _state: State, runtime: Runtime[Turn]) -> State:
        memory, user = runtime.context.get("memory"), runtime.context["user"]
        if memory and not self._is_buried(user, memory[0]):
            self._put(user, *memory)
        return {}

    def say(self, user: str, messages: list[str]) -> None:
        """Run the graph on ``messages`` in the user's current thread."""
        self._run(user, messages, gate=None, memory=None)

    def remember(self, user: str, text: str) -> str:
        """Run the graph so that it writes a memory; its id."""
        id = secrets.token_hex(6)
        self._run(user, [], gate=None, memory=(id, text))
        return id

    def _run(
        self,
        user: str,
        messages: list[str],
        gate: threading.Event | None,
        memory: tuple[str, str] | None,
    ) -> None:
        thread = self.thread(user)
        self.graph.invoke(
            {"messages": messages},
            _config(thread),
            context={"user": user, "gate": gate, "memory": memory},
            # A run that may still be stopped is kept when it ends, not in between.
            durability="exit" if gate else "sync",
        )
        # LangGraph 1.2.24 saves a finished run's thread even if the thread was deleted meanwhile.
        if self._is_buried(user, thread):
            self.checkpointer.delete_thread(thread)

    def start_run(
        self, user: str, messages: list[str], memory: tuple[str, str] | None
    ) -> tuple[threading.Event, threading.Thread]:
        """Start a run and hold it in the graph's first node; the gate that lets it go on, and its thread."""
        gate = threading.Event()
        run = threading.Thread(target=self._run, args=(user, messages, gate, memory), daemon=True)
        run.start()
        return gate, run

    # Threads

    def thread(self, user: str) -> str:
        """The user's current thread."""
        session = self.store.get((user, "session"), "current")
        return f"{user}/{session.value['number'] if session else 0}"

    def threads(self, user: str) -> list[str]:
        """The user's threads that have checkpoints."""
        found = {item.config["configurable"]["thread_id"] for item in self.checkpointer.list(None)}
        return sorted(thread for thread in found if thread.startswith(f"{user}/"))

    def messages(self, user: str) -> dict[str, list[str]]:
        """Messages in the state of each of the user's threads."""
        states = {thread: self.graph.get_state(_config(thread)).values for thread in self.threads(user)}
        return {thread: values.get("messages", []) for thread, values in states.items()}

    def history(self, user: str) -> dict[str, list[str]]:
        """Messages in every checkpoint of each of the user's threads."""
        found: dict[str, list[str]] = {}
        for thread in self.threads(user):
            states = self.graph.get_state_history(_config(thread))
            found[thread] = [text for state in states for text in state.values.get("messages", [])]
        return found

    def start_session(self, user: str) -> list[str]:
        """Open a new thread and ingest what the user said in the old ones; ids of new memories."""
        self._next_thread(user)
        return self.ingest(user)

    def _next_thread(self, user: str) -> None:
        number = int(self.thread(user).rpartition("/")[2])
        self.store.put((user, "session"), "current", {"number": number + 1})

    def delete_threads(self, user: str) -> None:
        """Delete the user's conversations. Memories that were derived from them are another matter."""
        for thread in {*self.threads(user), self.thread(user)}:
            if self.honour_tombstones:
                self.store.put((user, "tombstones"), thread, {})
            self.checkpointer.delete_thread(thread)
        self._next_thread(user)

    # Memories

    def ingest(self, user: str) -> list[str]:
        """Turn each request to remember in the kept threads into a memory; ids of the new ones."""
        known = {item.key for item in self.memories(user)}
        created = []
        for thread, messages in self.messages(user).items():
            for number, text in enumerate(messages):
                id = f"{thread.rpartition('/')[2]}-{number}"
                if text.startswith(REMEMBER) and id not in known and not self._is_buried(user, id):
                    self._put(user, id, text.removeprefix(REMEMBER))
                    created.append(id)
        return created

    def memories(self, user: str) -> list[Any]:
        """Store items, oldest first."""
        return sorted(self.store.search((user, "memories"), limit=_PAGE), key=lambda item: item.created_at)

    def profile(self, user: str) -> str:
        """The summary that goes into an agent's prompt."""
        item = self.store.get((user, "profile"), "profile")
        return item.value["text"] if item else ""

    def delete_memory(self, user: str, id: str) -> None:
        """Delete one memory; the conversation it came from is kept."""
        if self.honour_tombstones:
            self.store.put((user, "tombstones"), id, {})
        self.store.delete((user, "memories"), id)
        self._refresh_profile(user)

    def _put(self, user: str, id: str, text: str) -> None:
        self.store.put((user, "memories"), id, {"text": text})
        self._refresh_profile(user)

    def _refresh_profile(self, user: str) -> None:
        text = " ".join(item.value["text"] for item in self.memories(user))
        self.store.put((user, "profile"), "profile", {"text": text})

    def _is_buried(self, user: str, id: str) -> bool:
        return self.honour_tombstones and self.store.get((user, "tombstones"), id) is not None

    def erase(self, user: str, kind: str, id: str) -> None:
        """Housekeeping: remove a store item (kind = its second namespace part) or a thread for good."""
        if kind == "thread":
            self.checkpointer.delete_thread(id)
            return
        with contextlib.suppress(KeyError):
            self.store.delete((user, kind), id)


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}
