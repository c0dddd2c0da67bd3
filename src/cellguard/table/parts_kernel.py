"""The compiled core of tabulation where no contribution is negative: rows first, then the few cells where they meet.

A holding h contributes x(h, c) to cell c, the sum of its rows there. Take each row for a contribution of its own, and
of each holding in a cell only its largest row m(h, c) <= x(h, c). Lists of the k holdings with the largest m merge
upward, as those of contributions would. The k largest by x are among these k and the holdings that have several rows in
c: if z has one row there, and k others have a larger m, these have a larger x too, so z is none of the k largest. So it
is enough to visit the cells where rows of one holding meet, few of those above its rows, and to put x in the place of m
there; N(c) is the number of rows less those that meet another.

Rows are ranked once, the largest first and those of one size by holding. A list then holds ranks, four bytes each, and
merging it compares nothing else. An entry is 2 * rank, plus 1 if the holding has several rows: only these can meet.
Nobody is an even number larger than all entries.
"""

from __future__ import annotations

from cellguard.kernels.kernel import kernel


@kernel(nogil=True, inline=True)
def _twin(lists, cell, begin, end, holder, entry):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return where a list has another row of the same holding, -1 if nowhere."""
    for slot in range(begin, end):
        other = lists[cell, slot]
        if other & 1 and holder[other >> 1] == holder[entry >> 1]:
            return slot
    return -1


@kernel(nogil=True)
def take_rows(order, places, holding, top, nobody, lists, used):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """List the first rows of each leaf cell, whose ranks are ``used``; ``order`` has the row of each rank.

    The place of a row is four times its leaf cell, plus 2 if its holding has several rows, plus 1 if it has a waiver.
    """
    for rank in range(len(order)):
        row = order[rank]
        cell, several, waived = places[row] >> 2, (places[row] >> 1) & 1, places[row] & 1
        for part in range(2):
            begin, end = (0, top) if part == 0 else (top, lists.shape[1])
            if begin == end or lists[cell, end - 1] != nobody or (part == 1 and waived):
                continue
            slot = begin
            while lists[cell, slot] != nobody:
                other = lists[cell, slot]
                if several and other & 1 and holding[order[other >> 1]] == holding[row]:
                    break
                slot += 1
            if lists[cell, slot] == nobody:
                lists[cell, slot] = 2 * rank + several
                used[rank] = True


@kernel(nogil=True)
def renumber(lists, ranks, cells, nobody, wider):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Put the lists of leaf cells among those of all cells, with new ranks."""
    for here in range(len(lists)):
        for slot in range(lists.shape[1]):
            entry = lists[here, slot]
            if entry != nobody:
                wider[cells[here], slot] = 2 * ranks[entry >> 1] + (entry & 1)


@kernel(nogil=True)
def lift(child, parent, span, holder, top, lists):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take the lists of some cells into those of the cells above them."""
    width = lists.shape[1]
    for edge in range(span[0], span[1]):
        source, target = child[edge], parent[edge]
        for part in range(2):
            begin, end = (0, top) if part == 0 else (top, width)
            for slot in range(begin, end):
                entry = lists[source, slot]
                if entry >= lists[target, end - 1]:
                    break
                hole = end - 1
                if entry & 1:
                    twin = _twin(lists, target, begin, end, holder, entry)
                    if twin >= 0:
                        if lists[target, twin] < entry:
                            continue
                        hole = twin
                while hole > begin and lists[target, hole - 1] > entry:
                    lists[target, hole] = lists[target, hole - 1]
                    hole -= 1
                lists[target, hole] = entry


@kernel(nogil=True)
def look_up(entries, begin, column, found):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Write down what a column says of the entries of some lists."""
    for cell in range(len(entries)):
        for slot in range(found.shape[1]):
            found[cell, slot] = column[entries[cell, begin + slot]]
