"""Processes watch each other: an error, a lost connection or silence of one ends all, an orderly end does not."""

import socket
import threading
import time

import pytest
from audamir_training import devices, processes
from audamir_training.processes import Watch


class Group:
    """Three watches in one process, joined as processes are; notes how each is ended."""

    def __init__(self) -> None:
        door, card = processes.listen()
        card["hosts"] = ["127.0.0.1"]
        self.ended: dict[int, tuple[int, str]] = {}
        callers = {number: processes.call(card, number) for number in (1, 2)}
        stranger = socket.create_connection(("127.0.0.1", card["port"]))
        stranger.sendall(b"hello 1\n")
        self.peers = {0: processes.receive(door, card, 2), **callers}
        stranger.close()
        self.watches = {number: Watch(number, peers, self.end_of(number)) for number, peers in self.peers.items()}

    def end_of(self, number: int):
        return lambda code, text: self.ended.__setitem__(number, (code, text))

    def wait(self, *numbers: int) -> None:
        deadline = time.monotonic() + 20
        while not set(numbers) <= self.ended.keys():
            assert time.monotonic() < deadline, self.ended
            time.sleep(0.05)


@pytest.fixture
def group():
    group = Group()
    yield group
    for watch in group.watches.values():
        watch.done()


@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_process_ends_the_others(group, lost: int) -> None:
    others = [number for number in range(3) if number != lost]
    group.watches[lost]._over.set()  # a killed process says nothing, its connections close
    for peer in list(group.peers[lost]):
        peer.shutdown(socket.SHUT_RDWR)
    group.wait(*others)
    code, text = group.ended[others[0]]
    assert code == 1
    assert f"process {lost} was lost; the run's folder holds the state as it was last saved" in text
    assert all(f"process {lost} was lost" in group.ended[number][1] for number in others)


@pytest.mark.parametrize("failed", [0, 2])
def test_an_error_is_told_to_all(group, failed: int) -> None:
    group.watches[failed].failed(2, "another process trains there")
    others = [number for number in range(3) if number != failed]
    group.wait(*others)
    for number in others:
        code, text = group.ended[number]
        assert code == 2
        assert f"process {failed} ended: another process trains there" in text
    assert failed not in group.ended


def test_silence_counts_as_lost(group, monkeypatch) -> None:
    monkeypatch.setattr(processes, "_EVERY", 0.2)
    time.sleep(2.5)  # the threads sleep by the old rhythm no more
    monkeypatch.setattr(processes, "SILENCE", 1.5)
    monkeypatch.setattr(group.watches[1], "_send", lambda words: None)
    group.wait(0)
    assert group.ended[0][1].startswith("process 1 was lost")


def test_an_orderly_end_ends_nobody(group) -> None:
    for number in (1, 0, 2):
        group.watches[number].done()
        time.sleep(0.3)
    assert group.ended == {}


def test_one_process_alone_needs_no_watch() -> None:
    with processes.together(None, threading.Lock()):
        assert threading.active_count() >= 1


def test_numbers_that_fit_no_group_are_refused() -> None:
    for words, message in (
        ((None, 0, 0), "--processes 0"),
        ((None, 2, 2), "--process 2"),
        ((None, 2, -1), "--process -1"),
    ):
        with pytest.raises(ValueError, match=f"{message} is not valid"):
            devices.connect(*words)
