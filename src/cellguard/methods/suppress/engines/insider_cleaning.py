"""Publish secondaries again that the proof against respondents does without, the dearest first.

Every secondary may go, also those that were suppressed against outsiders alone: what outsiders' levels ask for beyond
respondents' is among the asks. Whatever relied on a cell is worked out anew from the moves that do not go through it,
and what is open then is looked for near by, among suppressed cells. If all of it is found the cell stays published.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray, IntArray, LongArray, Positions
from cellguard.attack.insider_coverage import Coverage
from cellguard.attack.insider_search import STEPS
from cellguard.methods.suppress.engines.insider_hiding import Hiding

_CROWD = 1_000  # asks that rely on a cell, which take long to prove anew
_OPEN = 60  # cells that would have to be proven by programs
_LOOKS, _LEAST = 600, 10_000_000  # cells that programs may have in all, per unsafe cell and at least
_PATIENCE = 200  # cells in a row that must stay suppressed, after which what is left is cheap and as little idle
_OFTEN = 50


class _Reliance:
    """Which moves go through each cell, which asks they help, and which moves help each ask; kept up as moves come."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        moves, log = coverage.moves(), coverage.log()
        self._moves, self._entries = coverage.count, len(log.ask)
        number = np.repeat(np.arange(self._moves), np.diff(moves.start))
        order = np.argsort(moves.cells, kind="stable")
        self._through, self._by_cell = number[order], _starts(moves.cells[order], coverage.system.n)
        order = np.argsort(log.move, kind="stable")
        self._asks, self._by_move = log.ask[order], _starts(log.move[order], self._moves)
        order = np.argsort(log.ask, kind="stable")
        self._ask_entries, self._by_ask = order, _starts(log.ask[order], len(coverage.many))
        self._more_through: dict[int, list[int]] = {}
        self._more_asks: dict[int, list[int]] = {}
        self._more_entries: dict[int, list[int]] = {}

    def follow(self) -> None:
        """Note the moves that came since last time."""
        moves, log = self.coverage.moves(), self.coverage.log()
        for number in range(self._moves, self.coverage.count):
            for cell in moves.cells[moves.start[number] : moves.start[number + 1]].tolist():
                self._more_through.setdefault(cell, []).append(number)
        for entry in range(self._entries, len(log.ask)):
            self._more_asks.setdefault(int(log.move[entry]), []).append(int(log.ask[entry]))
            self._more_entries.setdefault(int(log.ask[entry]), []).append(entry)
        self._moves, self._entries = self.coverage.count, len(log.ask)

    def through(self, cell: int) -> LongArray:
        """Return the moves through a cell that are not dead."""
        base = self._through[self._by_cell[cell] : self._by_cell[cell + 1]]
        found = np.concatenate([base, np.array(self._more_through.get(cell, []), np.int64)])
        return found[~self.coverage.dead[found]]

    def relying(self, moves: LongArray) -> LongArray:
        """Return the asks that some moves helped and that are proven."""
        first = moves[moves < len(self._by_move) - 1]
        size = self._by_move[first + 1] - self._by_move[first]
        entry = np.repeat(self._by_move[first] - np.cumsum(size) + size, size) + np.arange(size.sum())
        more = [ask for move in moves.tolist() for ask in self._more_asks.get(move, ())]
        asks = np.unique(np.concatenate([self._asks[entry], np.array(more, np.int64)]))
        return np.asarray(asks[self.coverage.many[asks] == 0], np.int64)

    def replay(self, asks: LongArray) -> None:
        """Work out the state of some asks anew."""
        log = self.coverage.log()
        parts = [
            np.concatenate(
                [self._ask_entries[self._by_ask[a] : self._by_ask[a + 1]], self._more_entries.get(a, [])]
            ).astype(np.int64)
            for a in asks.tolist()
        ]
        start = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        entries = np.concatenate([np.zeros(0, np.int64), *parts])
        self.coverage.again(asks, start, log.move[entries], log.times[entries])


def clean(hiding: Hiding, may: BoolArray, before: BoolArray) -> None:
    """Publish cells that may be, the dearest first, where all that relied on them finds another proof.

    First come those that were not suppressed ``before`` the search against respondents: each of them was suppressed
    for one ask, and what came later for others often does for it too.
    """
    most = hiding.programs.looked + max(_LEAST, _LOOKS * len(np.unique(hiding.coverage.asks.cell)))
    reliance = _Reliance(hiding.coverage)
    for some in (hiding.hidden & may & ~before, hiding.hidden & may & before):
        cells = np.flatnonzero(some)
        _clean_some(hiding, reliance, cells[np.argsort(-hiding.cost[cells], kind="stable")], most)


def _clean_some(hiding: Hiding, reliance: _Reliance, cells: Positions, most: int) -> None:
    idle = 0
    for number, cell in enumerate(cells.tolist()):
        if hiding.programs.looked > most or idle > _PATIENCE:
            break
        if number % _OFTEN == 0:
            hiding.run.tell(f"{len(cells) - number:,} secondaries that may be idle", number, len(cells))
            hiding.run.check()
        _publish(hiding, reliance, cell)
        idle = idle + 1 if hiding.hidden[cell] else 0


def _publish(hiding: Hiding, reliance: _Reliance, cell: int) -> None:
    """Publish a cell if everything is proven without it, unless that is for too many others to be looked at."""
    coverage = hiding.coverage
    gone = reliance.through(cell)
    asks = reliance.relying(gone)
    if len(asks) > _CROWD:
        return
    hiding.hidden[cell] = False
    coverage.dead[gone] = True
    reliance.replay(asks)
    if not _proven_again(hiding, asks):
        hiding.hidden[cell] = True
        coverage.dead[gone] = False
        coverage.many[asks] = 0
    reliance.follow()


def _proven_again(hiding: Hiding, asks: LongArray) -> bool:
    """Return whether asks that are open now can be proven by moves of cells near by."""
    coverage = hiding.coverage
    open_ = np.unique(coverage.asks.cell[asks[coverage.many[asks] != 0]])
    if len(open_) > _OPEN or any(hiding.settle(cell, STEPS[:1]) for cell in open_.tolist()):
        return False
    return not coverage.many[asks].any()


def _starts(sorted_keys: IntArray | LongArray, many: int) -> LongArray:
    return np.searchsorted(sorted_keys, np.arange(many + 1)).astype(np.int64)
