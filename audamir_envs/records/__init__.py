"""Games in files: written line by line, read with every fault named, played again on the rules (docs/records.md)."""

from audamir_envs.records import datasets
from audamir_envs.records.format import FORMAT, Game, Header, RecordError, decode, encode
from audamir_envs.records.reading import Record, Section, read, scan
from audamir_envs.records.replaying import Difference, replay, verify
from audamir_envs.records.writing import Writer, header_of

__all__ = [
    "FORMAT",
    "Difference",
    "Game",
    "Header",
    "Record",
    "RecordError",
    "Section",
    "Writer",
    "datasets",
    "decode",
    "encode",
    "header_of",
    "read",
    "replay",
    "scan",
    "verify",
]
