//! Which shares should be fixed now: decided by the leader from the clock, the members, and what is fixed.

use crate::{NodeId, ShareRun};
use std::collections::BTreeSet;
use trestle_counters::{Window, WindowId};

/// What runs at any time within the next hour is fixed: so long strict limits go on without a leader. For windows of a
/// minute that is one entry an hour. It is not more, since who joins has a share only from where the fixed windows end: for a
/// long window the next one is fixed an hour before it opens, and not a month.
const AHEAD_MS: u64 = 3_600_000;
/// What is fixed then reaches so far.
const REACH_MS: u64 = 2 * AHEAD_MS;

/// What the leader knows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation<'a> {
    /// Now (unix milliseconds).
    pub(super) now_ms: u64,
    /// The windows of strict limits, in any order, each as often as one likes.
    pub(super) windows: &'a [Window],
    /// All members of consensus, with a vote or without, there or away. Gossip is not asked: what one node hears is not what
    /// another hears, and who is away for a minute would have nothing for an hour. The share of a member that stays away is
    /// spent by nobody, until it is removed.
    pub(super) members: &'a BTreeSet<NodeId>,
    /// What is fixed; those of a window ascending.
    pub(super) runs: &'a [ShareRun],
}

/// What is to be fixed, one for each window that needs it.
///
/// A node spends nothing of windows that are not fixed. So whoever has them fixed first may do so for any nodes, and all
/// windows behind the last fixed one can be fixed at once, even those that have ended. The first time that is all windows from
/// the first on, so that rolling windows have their share in all parts that are in view.
pub(super) fn decide(situation: &Situation<'_>) -> Vec<ShareRun> {
    let Situation { now_ms, windows, members, runs } = *situation;
    let windows: BTreeSet<_> = windows.iter().copied().filter(|window| is_shared(*window)).collect();
    let behind =
        |window: Window, ms: u64| WindowId(window.id_at(now_ms.saturating_add(ms)).0.saturating_add(1));
    let missing = windows.into_iter().filter_map(|window| {
        let last = runs.iter().rfind(|run| run.window == window);
        let from = last.map_or(WindowId(0), |last| last.until);
        // A clock that went back finds all fixed that it needs, or what it needs forgotten: that stays so.
        (from < behind(window, AHEAD_MS)).then(|| ShareRun {
            window,
            from,
            until: behind(window, REACH_MS),
            nodes: members.iter().copied().collect(),
        })
    });
    if members.is_empty() { Vec::new() } else { missing.collect() }
}

/// Whether nodes can share it: what runs at once has no window that ends, so a share of it could never change hands.
pub(super) fn is_shared(window: Window) -> bool {
    window != Window::Standing
}

/// Whether what runs now is fixed of all these windows that can be shared.
pub(super) fn is_fixed(windows: &[Window], runs: &[ShareRun], now_ms: u64) -> bool {
    windows.iter().filter(|window| is_shared(**window)).all(|window| {
        let now = window.id_at(now_ms);
        runs.iter().any(|run| run.window == *window && (run.from..run.until).contains(&now))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_counters::Calendar;

    /// Begins an hour, a day, and a month (December 2026).
    const DECEMBER: u64 = 1_796_083_200_000;
    const MINUTE_MS: u64 = 60_000;
    const HOUR_MS: u64 = 60 * MINUTE_MS;
    const MINUTE: Window = Window::Calendar(Calendar::Minute);
    const MONTH: Window = Window::Calendar(Calendar::Month);

    fn run(window: Window, from: u64, until: u64, nodes: &[NodeId]) -> ShareRun {
        ShareRun { window, from: WindowId(from), until: WindowId(until), nodes: nodes.to_vec() }
    }

    fn check(now_ms: u64, windows: &[Window], members: &[NodeId], runs: &[ShareRun]) -> Vec<ShareRun> {
        let members = members.iter().copied().collect();
        decide(&Situation { now_ms, windows, members: &members, runs })
    }

    #[test]
    fn what_runs_within_the_hour_is_fixed() {
        let minute = MINUTE.id_at(DECEMBER).0;
        let month = MONTH.id_at(DECEMBER).0;
        let all = &[1, 2, 3][..];
        let fixed = run(MINUTE, 0, minute + 121, all);
        for (case, now_ms, members, runs, expected) in [
            ("founding: from the first window on", 0, all, vec![], Some(run(MINUTE, 0, minute + 121, all))),
            (
                "alone before: it has all of what runs",
                0,
                &[1][..],
                vec![],
                Some(run(MINUTE, 0, minute + 121, &[1])),
            ),
            ("fixed", 0, all, vec![fixed.clone()], None),
            ("fixed for the next hour", HOUR_MS, all, vec![fixed.clone()], None),
            (
                "less than an hour is left",
                HOUR_MS + MINUTE_MS,
                all,
                vec![fixed.clone()],
                Some(run(MINUTE, minute + 121, minute + 182, all)),
            ),
            ("a member more waits", HOUR_MS, &[1, 2, 3, 4], vec![fixed.clone()], None),
            (
                "and has its share from there on",
                HOUR_MS + MINUTE_MS,
                &[1, 2, 3, 4],
                vec![fixed.clone()],
                Some(run(MINUTE, minute + 121, minute + 182, &[1, 2, 3, 4])),
            ),
            (
                "the first of several is alone no more",
                HOUR_MS + MINUTE_MS,
                all,
                vec![run(MINUTE, 0, minute + 121, &[1])],
                Some(run(MINUTE, minute + 121, minute + 182, all)),
            ),
            (
                "nobody led for a day: nobody spent since",
                24 * HOUR_MS,
                all,
                vec![fixed.clone()],
                Some(run(MINUTE, minute + 121, minute + 1_561, all)),
            ),
            (
                "the last run counts",
                0,
                all,
                vec![run(MINUTE, 0, minute - 9, &[1]), run(MINUTE, minute - 9, minute + 61, &[1, 2])],
                None,
            ),
            ("of another window", 0, all, vec![run(MONTH, 0, month + 1, all)], Some(fixed.clone())),
            ("no members", 0, &[], vec![], None),
        ] {
            let found = check(DECEMBER + now_ms, &[MINUTE, MINUTE], members, &runs);
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{case}");
        }
        // The clock went back by a year.
        assert_eq!(check(DECEMBER - 365 * 24 * HOUR_MS, &[MINUTE], &[1, 2], &[fixed]), []);
    }

    #[test]
    fn the_next_month_is_fixed_an_hour_before_it_opens() {
        let all = &[1, 2, 3][..];
        let december = MONTH.id_at(DECEMBER).0;
        let runs = [run(MONTH, 0, december, all)];
        assert_eq!(check(DECEMBER - HOUR_MS - 1, &[MONTH], &[1, 2], &runs), []);
        let expected = [run(MONTH, december, december + 1, &[1, 2])];
        assert_eq!(check(DECEMBER - HOUR_MS, &[MONTH], &[1, 2], &runs), expected);
        // Just founded, a month and more is fixed at most.
        assert_eq!(check(DECEMBER - HOUR_MS, &[MONTH], all, &[]), [run(MONTH, 0, december + 1, all)]);
    }

    #[test]
    fn what_runs_at_once_is_never_shared() {
        assert_eq!(check(DECEMBER, &[Window::Standing], &[1, 2], &[]), []);
        assert!(is_fixed(&[Window::Standing], &[], DECEMBER));
        let minute = MINUTE.id_at(DECEMBER).0;
        assert!(!is_fixed(&[MINUTE], &[run(MINUTE, 0, minute, &[1])], DECEMBER));
        assert!(!is_fixed(&[MINUTE], &[run(MONTH, 0, minute, &[1])], DECEMBER));
        assert!(is_fixed(&[MINUTE], &[run(MINUTE, 0, minute + 1, &[1])], DECEMBER));
    }
}
