"""Which moves hold, who notices them, and which asks they prove: on flat arrays. Compiled.

The state of an ask is ``many``: -1 without a move that goes far enough; against anybody, how many insiders noticed all
such moves so far (their names are in a pool, from ``first`` on, in rising order); 0 once it is proven. So each further
move only has to be held against those who are left.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel

LONGEST = np.int64(2**55)  # grains that a move may go, so that products with small numbers stay within int64
NEVER = np.int64(2**62)
ANYBODY, OUTSIDER = -1, -2  # whoever has no ask of its own, and who is no respondent and notices nothing
CROWD = 400  # insiders who notice the first circuit of an ask: if more do, it helps nothing
MANY_LENGTHS = 1 << 14  # asks along one move whose lengths are told apart


@kernel
def holds(start, cells, n, denominator, relations, rows, whole, largest):
    """Return which moves have M n = 0, exactly, no number beyond ``largest``, and whole numbers for counts."""
    ok = np.ones(len(start) - 1, np.bool_)
    total, size = np.zeros(relations, np.int64), np.zeros(relations, np.float64)
    for k in range(len(start) - 1):
        for e in range(start[k], start[k + 1]):
            if abs(n[e]) > largest or n[e] == 0 or denominator[k] < 1 or (whole[cells[e]] and denominator[k] != 1):
                ok[k] = False
        if not ok[k]:
            continue
        for e in range(start[k], start[k + 1]):
            c = cells[e]
            for q in range(rows.start[c], rows.start[c + 1]):
                r = rows.row[q]
                size[r] += abs(float(n[e])) * abs(float(rows.value[q]))
                if size[r] < 4e18:
                    total[r] += rows.value[q] * n[e]
                else:
                    ok[k] = False
        for e in range(start[k], start[k + 1]):
            c = cells[e]
            for q in range(rows.start[c], rows.start[c + 1]):
                r = rows.row[q]
                if total[r] != 0:
                    ok[k] = False
        for e in range(start[k], start[k + 1]):
            c = cells[e]
            for q in range(rows.start[c], rows.start[c + 1]):
                r = rows.row[q]
                total[r] = 0
                size[r] = 0.0
    return ok


@kernel
def is_in(names, name):
    """Return whether a name is among some in rising order."""
    low, high = 0, len(names)
    while low < high:
        middle = (low + high) >> 1
        if names[middle] < name:
            low = middle + 1
        else:
            high = middle
    return low < len(names) and names[low] == name


@kernel
def noticing(first, end, cells, n, times, denominator, known):
    """Return who notices a move taken so many times: who knows a cell that moves, or has more than is left of one."""
    names, many = np.empty(256, np.int32), 0
    for e in range(first, end):
        c = cells[e]
        go = n[e] * times
        if known.knowing[c] >= 0:
            if many == len(names):
                more = np.empty(2 * many, np.int32)
                more[:many] = names
                names = more
            names[many] = known.knowing[c]
            many += 1
        elif go < 0:
            depth = -(go // denominator)
            if depth > known.calm[c]:
                for x in range(known.start[c], known.start[c + 1]):
                    if known.amount[x] <= known.value[c] - depth:
                        break
                    if many == len(names):
                        more = np.empty(2 * many, np.int32)
                        more[:many] = names
                        names = more
                    names[many] = known.who[x]
                    many += 1
    return np.unique(names[:many])


@kernel
def narrow(a, notices, asks, known, first, many, pool, used):
    """Enter who notices a move that goes far enough for an ask; return whether that helps, the pool and its end."""
    if asks.who[a] == OUTSIDER:
        many[a] = 0
        return True, pool, used
    if asks.who[a] >= 0:
        if is_in(notices, asks.who[a]):
            return False, pool, used
        many[a] = 0
        return True, pool, used
    if many[a] < 0:
        c = asks.cell[a]
        if used + len(notices) > len(pool):
            more = np.empty(2 * len(pool) + len(notices), np.int32)
            more[:used] = pool[:used]
            pool = more
        left = 0
        for x in range(len(notices)):
            own = notices[x] == known.owner[c]
            for other in range(asks.start[c], asks.start[c + 1]):
                own |= asks.who[other] == notices[x]
            if not own:
                pool[used + left] = notices[x]
                left += 1
        first[a], many[a] = used, left
        return True, pool, used + left
    left, y, begin = 0, 0, first[a]
    for x in range(begin, begin + many[a]):
        while y < len(notices) and notices[y] < pool[x]:
            y += 1
        if y < len(notices) and notices[y] == pool[x]:
            pool[begin + left] = pool[x]
            left += 1
    helps = left < many[a]
    many[a] = left
    return helps, pool, used


@kernel
def times_for(need, size, denominator):
    """Return how many times a move is to be taken so that it goes as far as needed."""
    if denominator == 1:
        return -(-need // size)
    if size // denominator >= need:
        return np.int64(1)
    return NEVER


@kernel
def credit(start, cells, n, denominator, ok, repeat, lengths, known, asks, first, many, pool, used):
    """Take each move both ways, if ``repeat`` as often as open asks need, and enter whom it proves what against.

    A move that is so short that only those notice it who know one of its cells may as well be as long as that allows;
    of longer ones at most so many ``lengths`` are tried. Returns the pool, its end, and what helped: rows of a move,
    how many times it is taken (with its sign), and the ask.
    """
    log, logged = np.empty((1024, 3), np.int64), 0
    wanted_times = np.empty(MANY_LENGTHS, np.int64)
    for k in range(len(start) - 1):
        b, e, d = start[k], start[k + 1], denominator[k]
        wanted = False
        if not ok[k]:
            continue
        for j in range(b, e):
            for a in range(asks.start[cells[j]], asks.start[cells[j] + 1]):
                wanted |= many[a] != 0
        if not wanted:
            continue
        for sign in (1, -1):
            most, quiet = LONGEST, LONGEST
            for j in range(b, e):
                c, step = cells[j], n[j] * sign
                room = known.up[c] if step > 0 else known.floor[c]
                size = abs(step)
                if d == 1:
                    most = min(most, room // size)
                elif -(-size // d) > room:
                    most = np.int64(0)
                if step < 0 and known.knowing[c] < 0:
                    if d == 1:
                        quiet = min(quiet, known.calm[c] // size)
                    elif -(-size // d) > known.calm[c]:
                        quiet = np.int64(0)
            if not repeat or d > 1:
                most = min(most, np.int64(1))
            if most == 0:
                continue
            count, top = 0, np.int64(0)
            for j in range(b, e):
                c, step = cells[j], n[j] * sign
                for a in range(asks.start[c], asks.start[c + 1]):
                    if many[a] == 0 or asks.way[a] * step < 0:
                        continue
                    t = times_for(asks.need[a], abs(step), d)
                    if t > most:
                        continue
                    if t <= quiet:
                        top = max(top, t)
                    elif count < MANY_LENGTHS:
                        wanted_times[count] = t
                        count += 1
            tried = np.unique(wanted_times[:count])
            if len(tried) > lengths:
                tried = tried[np.arange(1, lengths + 1) * len(tried) // lengths - 1]
            before = np.int64(0)
            for i in range(-1, len(tried)):
                t = top if i < 0 else tried[i]
                if t == 0:
                    continue
                notices = noticing(b, e, cells, n, sign * t, d, known)
                for j in range(b, e):
                    c, step = cells[j], n[j] * sign
                    for a in range(asks.start[c], asks.start[c + 1]):
                        if many[a] == 0 or asks.way[a] * step < 0:
                            continue
                        needed = times_for(asks.need[a], abs(step), d)
                        if needed > t or needed <= before:
                            continue
                        if repeat and many[a] < 0 and asks.who[a] == ANYBODY and len(notices) > CROWD:
                            continue
                        helps, pool, used = narrow(a, notices, asks, known, first, many, pool, used)
                        if helps:
                            if logged == len(log):
                                longer = np.empty((2 * logged, 3), np.int64)
                                longer[:logged] = log
                                log = longer
                            log[logged, 0], log[logged, 1], log[logged, 2] = k, sign * t, a
                            logged += 1
                before = t
    return pool, used, log[:logged].copy()


@kernel
def replay(
    some, entries, log_move, log_times, dead, start, cells, n, denominator, known, asks, first, many, pool, used
):
    """Work out the state of some asks anew from the moves that are not dead; return the pool and its end.

    The moves that helped ask ``some[i]`` are ``log_move`` from ``entries[i]`` on, in the order of time.
    """
    for i in range(len(some)):
        a = some[i]
        many[a] = -1
        for e in range(entries[i], entries[i + 1]):
            k = log_move[e]
            if dead[k] or many[a] == 0:
                continue
            notices = noticing(start[k], start[k + 1], cells, n, log_times[e], denominator[k], known)
            _, pool, used = narrow(a, notices, asks, known, first, many, pool, used)
    return pool, used


@kernel
def needed(log_start, log_move, log_times, dead, start, cells, n, denominator, known, asks, first, many, pool, used):
    """Return which entries of the log a proof needs: of each ask the moves that fewest notice, until nobody is left.

    Of asks that are open all entries are needed.
    """
    keep = np.zeros(len(log_move), np.bool_)
    kept = np.zeros(len(start) - 1, np.bool_)
    for a in range(len(asks.cell)):
        b, size = log_start[a], log_start[a + 1] - log_start[a]
        if many[a] != 0:
            for i in range(size):
                keep[b + i] = not dead[log_move[b + i]]
                kept[log_move[b + i]] |= keep[b + i]
        if size == 0 or many[a] != 0:
            continue
        rank = np.empty(size, np.int64)
        for i in range(size):
            k = log_move[b + i]
            far = len(noticing(start[k], start[k + 1], cells, n, log_times[b + i], denominator[k], known))
            rank[i] = far + (NEVER >> 2 if dead[k] else 0) + (0 if kept[k] else 1 << 20)
        many[a] = -1
        for i in np.argsort(rank, kind="mergesort"):
            k = log_move[b + i]
            if many[a] == 0 or dead[k]:
                break
            notices = noticing(start[k], start[k + 1], cells, n, log_times[b + i], denominator[k], known)
            helps, pool, used = narrow(a, notices, asks, known, first, many, pool, used)
            if helps:
                keep[b + i] = True
                kept[k] = True
    return keep
