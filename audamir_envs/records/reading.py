"""Reading record files, whole or game by game, with every fault named by its line."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator

from audamir_envs.records.format import LONGEST_LINE, Game, Header, RecordError, decode


@dataclasses.dataclass(frozen=True)
class Section:
    """A header and the games behind it."""

    header: Header
    games: tuple[Game, ...]

    @property
    def complete(self) -> bool:
        """Whether all games that the header announces are there."""
        return self.header.games is None or len(self.games) >= self.header.games


@dataclasses.dataclass(frozen=True)
class Record:
    """What a file holds; ``errors`` are the lines that were left out (none where the file was read strictly)."""

    path: str
    sections: tuple[Section, ...]
    errors: tuple[RecordError, ...]

    @property
    def games(self) -> tuple[Game, ...]:
        """All games, in the file's order."""
        return tuple(game for section in self.sections for game in section.games)

    @property
    def complete(self) -> bool:
        """Whether all games that the headers announce are there."""
        return all(section.complete for section in self.sections)


def read(path: str | os.PathLike[str], *, strict: bool = True) -> Record:
    """The whole file.

    Args: strict: False: lines that cannot be used are left out and told in ``errors``.
    Raises: RecordError: strict, at the first bad line; OSError.
    """
    sections: list[tuple[Header, list[Game]]] = []
    errors: list[RecordError] = []
    for item in scan(path):
        if isinstance(item, RecordError):
            if strict:
                raise item
            errors.append(item)
        elif isinstance(item, Header):
            sections.append((item, []))
        else:
            sections[-1][1].append(item)
    found = tuple(Section(header, tuple(games)) for header, games in sections)
    return Record(os.fspath(path), found, tuple(errors))


def scan(path: str | os.PathLike[str]) -> Iterator[Header | Game | RecordError]:
    """The lines of a file one by one, however large it is; a bad one is yielded as the error that it is.

    Games behind a header that cannot be read are errors too, up to the next header. Raises: OSError.
    """
    text = os.fspath(path)
    with open(path, "rb") as file:
        header: Header | None = None
        seen: set[int] = set()
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            where = (text, number)
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                while rest := file.readline(LONGEST_LINE):
                    if rest.endswith(b"\n"):
                        break
                yield RecordError(text, number, f"the line is longer than {LONGEST_LINE} bytes")
                continue
            try:
                item = decode(line, header, where)
            except RecordError as error:
                yield error
                continue
            if isinstance(item, Header):
                header, seen = item, set()
            elif item.number in seen:
                yield item.error(f"game {item.number} was there before")
                continue
            else:
                seen.add(item.number)
            yield item
    if number == 0:
        yield RecordError(text, 1, "the file is empty: a record begins with its header")
