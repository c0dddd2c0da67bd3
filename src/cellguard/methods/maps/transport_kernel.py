"""Minimum-cost flow on a graph whose steps all cost 1: the cheapest way to bring supplies to demands.

Primal-dual. Every node has a price; the price of a node whose supply is not used up is 0, prices of neighbours differ
by at most 1, and flow goes only where they differ by exactly 1, uphill. So every path of the flow from an unused supply
costs the price of its end, and a flow that serves all demands is optimal (its prices prove it). In each phase the
prices rise by the distance, in reduced costs 0, 1, 2, to the nearest unserved demand; then as much as possible is sent
there over steps of reduced cost 0 (Dinic: layers by breadth, blocking flow by depth). The number of phases is at most
the length of the longest path. All numbers are whole.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers the types
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel

_FAR = 2**30


@kernel
def carry(start, neighbours, supply, demand):  # type: ignore[no-untyped-def]
    """Return the flow along each arc, the price of each node, and what is left of supply and demand."""
    supply, demand = supply.copy(), demand.copy()
    back = _twins(start, neighbours)
    flow = np.zeros(len(neighbours), np.int64)
    price = np.zeros(len(supply), np.int32)
    top = 0
    while demand.sum() > 0:
        rise = _raise_prices(start, neighbours, back, flow, supply, demand, price, top)
        if rise < 0:
            break
        top += rise
        while _send(start, neighbours, back, flow, supply, demand, price, top) > 0:
            pass
    return flow, price, supply, demand


@kernel
def _twins(start, neighbours):  # type: ignore[no-untyped-def]
    """Return the position of each arc's opposite."""
    back = np.empty(len(neighbours), np.int32)
    for node in range(len(start) - 1):
        for arc in range(start[node], start[node + 1]):
            other = neighbours[arc]
            for twin in range(start[other], start[other + 1]):
                if neighbours[twin] == node:
                    back[arc] = twin
    return back


@kernel
def _raise_prices(start, neighbours, back, flow, supply, demand, price, top):  # type: ignore[no-untyped-def]
    """Raise the prices until an unserved demand can be reached; return by how much, -1 if none ever can."""
    nodes = len(supply)
    away = np.full(nodes, _FAR, np.int32)
    lists = np.empty((3, nodes), np.int32)
    size = np.zeros(3, np.int64)
    for node in range(nodes):
        if supply[node] > 0:
            away[node] = 0
            lists[0, size[0]] = node
            size[0] += 1
    now, best = 0, _FAR
    while size.sum() > 0:
        here = now % 3
        done = 0
        while done < size[here]:
            node = lists[here, done]
            done += 1
            if away[node] != now:
                continue
            if demand[node] > 0:
                best = min(best, now + price[node] - top)
            for arc in range(start[node], start[node + 1]):
                other = neighbours[arc]
                if flow[back[arc]] > 0:
                    more = 0
                else:
                    more = 1 + price[node] - price[other]
                if now + more < away[other]:
                    away[other] = now + more
                    at = (now + more) % 3
                    lists[at, size[at]] = other
                    size[at] += 1
        if best <= now:
            break
        size[here] = 0
        now += 1
    if best == _FAR:
        return -1
    for node in range(nodes):
        price[node] += min(away[node], best)
    return best


@kernel
def _send(start, neighbours, back, flow, supply, demand, price, top):  # type: ignore[no-untyped-def]
    """Send a blocking flow along shortest ways of reduced cost 0 to demands at the top price; return how much."""
    nodes = len(supply)
    layer = np.full(nodes, _FAR, np.int32)
    queue = np.empty(nodes, np.int32)
    end = 0
    for node in range(nodes):
        if supply[node] > 0:
            layer[node] = 0
            queue[end] = node
            end += 1
    sources, first, goal = end, 0, _FAR
    while first < end and layer[queue[first]] < goal:
        node = queue[first]
        first += 1
        if demand[node] > 0 and price[node] == top:
            goal = layer[node]
            break
        for arc in range(start[node], start[node + 1]):
            other = neighbours[arc]
            if layer[other] == _FAR and _open(node, other, arc, back, flow, price):
                layer[other] = layer[node] + 1
                queue[end] = other
                end += 1
    if goal == _FAR:
        return 0
    sent = np.int64(0)
    at = start[:-1].copy()
    path = np.empty(goal + 1, np.int32)
    for i in range(sources):
        sent += _block(queue[i], start, neighbours, back, flow, supply, demand, price, top, layer, goal, at, path)
    return sent


@kernel
def _open(node, other, arc, back, flow, price):  # type: ignore[no-untyped-def]
    """Return whether a step has reduced cost 0: one uphill, or one that takes flow back."""
    return price[other] == price[node] + 1 or (price[other] == price[node] - 1 and flow[back[arc]] > 0)


@kernel
def _block(source, start, neighbours, back, flow, supply, demand, price, top, layer, goal, at, path):  # type: ignore[no-untyped-def]
    """Send from a source as much as the layers allow; dead ends are left for good."""
    sent = np.int64(0)
    node, depth = source, 0
    while supply[source] > 0:
        if depth == goal and demand[node] > 0 and price[node] == top:
            units = min(supply[source], demand[node])
            for i in range(depth):
                if price[neighbours[path[i]]] < price[neighbours[back[path[i]]]]:
                    units = min(units, flow[back[path[i]]])
            for i in range(depth):
                if price[neighbours[path[i]]] < price[neighbours[back[path[i]]]]:
                    flow[back[path[i]]] -= units
                else:
                    flow[path[i]] += units
            supply[source] -= units
            demand[node] -= units
            sent += units
            node, depth = source, 0
            continue
        moved = False
        while depth < goal and at[node] < start[node + 1]:
            arc = at[node]
            other = neighbours[arc]
            if layer[other] == depth + 1 and _open(node, other, arc, back, flow, price):
                path[depth] = arc
                node = other
                depth += 1
                moved = True
                break
            at[node] += 1
        if moved:
            continue
        if depth == 0:
            break
        depth -= 1
        node = neighbours[back[path[depth]]]
        at[node] += 1
    return sent


@kernel
def take_apart(start, neighbours, flow, supplied, demanded):  # type: ignore[no-untyped-def]
    """Take a flow apart into ways from a supply to a demand: source, target, units and steps of each."""
    flow, left = flow.copy(), demanded.copy()
    at = start[:-1].copy()
    rows = np.empty((4, 1024), np.int64)
    written = 0
    path = np.empty(len(supplied) + 1, np.int32)
    for source in range(len(supplied)):
        units_left = supplied[source]
        while units_left > 0:
            node, depth = source, 0
            units = units_left
            while left[node] == 0:
                while flow[at[node]] == 0:
                    at[node] += 1
                path[depth] = at[node]
                units = min(units, flow[at[node]])
                node = neighbours[at[node]]
                depth += 1
            units = min(units, left[node])
            for i in range(depth):
                flow[path[i]] -= units
            left[node] -= units
            units_left -= units
            if written == rows.shape[1]:
                longer = np.empty((4, 2 * written), np.int64)
                longer[:, :written] = rows
                rows = longer
            rows[0, written], rows[1, written], rows[2, written], rows[3, written] = source, node, units, depth
            written += 1
    return rows[:, :written]
