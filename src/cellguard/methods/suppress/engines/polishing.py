"""Local search: a safe pattern gets cheaper by dropping, exchanging and inserting cells."""

from __future__ import annotations

from cellguard.methods.suppress.engines.search import Search


def polish(search: Search) -> None:
    """Drop, exchange and insert cells in batches as long as that pays; every kept pattern is safe."""
    budget, policy, n = search.budget, search.policy, search.system.n
    batch, dropping, failures = policy.batch, True, 0
    while search.gap > search.effort.gap and search.work < budget and failures < policy.patience:
        search.run.check()
        search.state.move_to(search.pattern())
        changed = bool(dropping and search.state.clean(most=batch))
        if not changed:
            dropping = False
            changed = search.exchange(policy.spread * batch) > 0
        share = policy.trial * max(1.0, n / 10_000)
        better = changed and search.try_pattern(min(share, budget - search.work))
        failures = 0 if better else failures + 1
        dropping = dropping or better
        batch = int(min(batch * 1.5, n)) if better else max(batch // 2, policy.least_batch)
        search.report_progress("polishing")
        if search.is_stale(search.effort.stale, policy.little):
            break
