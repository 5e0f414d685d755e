//! Who may spend of strict limits, window by window: fixed by entries of the log, so the same on every node, and never changed.
//! They are no entities: they make no revision, and no backup holds them.

use super::{
    disk::{Disk, DiskError},
    handle::{Consensus, ProposeError},
    record::{self, RecordError},
    types::{Answer, NodeId},
};
use sled::transaction::{ConflictableTransactionError, TransactionalTree};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use trestle_counters::{Window, WindowId};
use trestle_proto::log::{self, command::Body};

/// More than a cluster may have nodes.
const NODES_MAX: usize = 64;
/// No window has a number above this: by the millisecond it is in 2527.
const WINDOW_ID_MAX: u64 = 1 << 44;
/// Their keys among the rest of the state begin with this; then the window and the first number, in big-endian.
const KEY: &[u8] = b"shares\0";

/// Who spends of strict limits in windows that follow each other: each of some nodes an equal share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareRun {
    /// Which windows.
    pub window: Window,
    /// The first one.
    pub from: WindowId,
    /// The first one behind the last.
    pub until: WindowId,
    /// The nodes, ascending, each once.
    pub nodes: Vec<NodeId>,
}

/// What a run that is fixed does to those that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    put: ShareRun,
    removed: Vec<Vec<u8>>,
}

impl ShareRun {
    /// So many runs are kept at most. One more comes with a change of the members, for each window that strict limits have.
    pub const RUNS_MAX: usize = 2_000;

    /// Reads one that somebody proposes; what is wrong with it.
    fn proposed(run: &log::ShareRun) -> Result<Self, String> {
        let log::ShareRun { window, from, until, nodes } = run;
        let window = Window::from_word(*window)
            .ok_or_else(|| format!("this version does not know the window {window} of shares"))?;
        if from >= until || *until > WINDOW_ID_MAX {
            return Err(format!(
                "shares of windows from {from} to before {until}: there are no such windows"
            ));
        }
        if nodes.is_empty() || nodes.len() > NODES_MAX || !nodes.is_sorted_by(|one, next| one < next) {
            return Err(format!("shares are for at most {NODES_MAX} nodes, ascending, each once"));
        }
        Ok(Self { window, from: WindowId(*from), until: WindowId(*until), nodes: nodes.clone() })
    }

    fn message(&self) -> log::ShareRun {
        let Self { window, from, until, nodes } = self;
        log::ShareRun { window: window.to_word(), from: from.0, until: until.0, nodes: nodes.clone() }
    }

    fn key(&self) -> Vec<u8> {
        [KEY, &self.window.to_word().to_be_bytes(), &self.from.0.to_be_bytes()].concat()
    }

    /// Whether counters know none of its windows any more.
    fn is_over(&self, now_ms: u64) -> bool {
        let last = WindowId(self.until.0.saturating_sub(1));
        self.window.kept_until_ms(last).is_some_and(|until| until <= now_ms)
    }
}

/// The runs that a disk holds: those of a window together, ascending.
pub(super) fn read(disk: &Disk) -> Result<Arc<[ShareRun]>, DiskError> {
    let mut all = Vec::new();
    for value in disk.state.scan_prefix(KEY).values() {
        let run = ShareRun::proposed(&record::read(&value?)?).map_err(|_| RecordError::Shares)?;
        all.push(run);
    }
    Ok(all.into())
}

/// What fixing a run leads to, or why it cannot be fixed.
///
/// Nothing is fixed but behind all that is fixed of its window; the last run may grow. So what was forgotten is never fixed
/// anew: the last run of each window stays for that, unless others need its room.
pub(super) fn place(
    disk: &Disk,
    run: &log::ShareRun,
    now_ms: u64,
) -> Result<Result<Placed, String>, DiskError> {
    match ShareRun::proposed(run) {
        Ok(run) => Ok(placed(&read(disk)?, run, now_ms)),
        Err(why) => Ok(Err(why)),
    }
}

fn placed(kept: &[ShareRun], mut run: ShareRun, now_ms: u64) -> Result<Placed, String> {
    let (mut removed, mut left) = (Vec::new(), Vec::new());
    if let Some(last) = kept.iter().rfind(|kept| kept.window == run.window) {
        let joins = last.nodes == run.nodes && last.from <= run.from && run.from <= last.until;
        if !joins && run.from < last.until {
            let (window, until) = (run.window, last.until.0);
            return Err(format!("the shares of windows ({window}) up to {until} are fixed already"));
        }
        if joins {
            run = ShareRun { until: run.until.max(last.until), ..last.clone() };
        }
    }
    for (at, other) in kept.iter().enumerate() {
        let is_last = kept.get(at + 1).is_none_or(|next| next.window != other.window);
        let of_another = other.window != run.window;
        match other.key() == run.key() {
            true => {}
            false if other.is_over(now_ms) && !(is_last && of_another) => removed.push(other.key()),
            false => left.push((other, is_last && other.is_over(now_ms))),
        }
    }
    let surplus = (left.len() + 1).saturating_sub(ShareRun::RUNS_MAX);
    let spare: Vec<_> = left.iter().filter(|(_, spare)| *spare).take(surplus).collect();
    if spare.len() < surplus {
        return Err(format!(
            "{} runs of shares are kept, and more are not: use fewer kinds of windows",
            ShareRun::RUNS_MAX
        ));
    }
    removed.extend(spare.into_iter().map(|(other, _)| other.key()));
    Ok(Placed { put: run, removed })
}

impl Placed {
    /// Does it, in a transaction.
    pub(super) fn write(
        &self,
        state: &TransactionalTree,
    ) -> Result<(), ConflictableTransactionError<RecordError>> {
        for key in &self.removed {
            state.remove(&key[..])?;
        }
        state.insert(self.put.key(), record::write(&self.put.message()))?;
        Ok(())
    }
}

impl Consensus {
    /// Fixes who spends of strict limits in windows behind all that are fixed. Once it is, it is never changed. The same
    /// again is fine.
    ///
    /// # Errors
    ///
    /// Windows of the run are fixed already for other nodes, or there is no such run, or as many are kept as may be; or no
    /// leader has confirmed it in time.
    pub async fn fix_shares(&self, run: &ShareRun, deadline: Duration) -> Result<(), ProposeError> {
        match self.command(Body::FixShares(run.message()), Instant::now() + deadline).await? {
            Answer::Fixed => Ok(()),
            Answer::Refused(why) => Err(ProposeError::Refused(why)),
            _ => Err(ProposeError::Unknown),
        }
    }

    /// All that is fixed, as it is in effect here: those of a window together, ascending. A look or a wait.
    pub fn shares(&self) -> watch::Receiver<Arc<[ShareRun]>> {
        self.machine.shares()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_counters::Calendar;

    const MINUTE: Window = Window::Calendar(Calendar::Minute);
    const HOUR: Window = Window::Calendar(Calendar::Hour);

    fn run(window: Window, from: u64, until: u64, nodes: &[NodeId]) -> ShareRun {
        ShareRun { window, from: WindowId(from), until: WindowId(until), nodes: nodes.to_vec() }
    }

    /// Fixes one after the other, as the state machine does; what is kept then, or why the last one is refused.
    fn fix(runs: &[ShareRun], now_ms: u64) -> Result<Vec<ShareRun>, String> {
        let mut kept: Vec<ShareRun> = Vec::new();
        for run in runs {
            let Placed { put, removed } = placed(&kept, run.clone(), now_ms)?;
            kept.retain(|kept| kept.key() != put.key() && !removed.contains(&kept.key()));
            kept.push(put);
            kept.sort_by_key(ShareRun::key);
        }
        Ok(kept)
    }

    #[test]
    fn shares_are_fixed_behind_each_other() {
        let first = run(MINUTE, 0, 10, &[1, 2, 3]);
        for (next, kept) in [
            (run(MINUTE, 10, 12, &[1, 2]), Some(vec![first.clone(), run(MINUTE, 10, 12, &[1, 2])])),
            (run(MINUTE, 15, 16, &[1, 2]), Some(vec![first.clone(), run(MINUTE, 15, 16, &[1, 2])])),
            // The same, or more of the same.
            (first.clone(), Some(vec![first.clone()])),
            (run(MINUTE, 4, 8, &[1, 2, 3]), Some(vec![first.clone()])),
            (run(MINUTE, 4, 12, &[1, 2, 3]), Some(vec![run(MINUTE, 0, 12, &[1, 2, 3])])),
            (run(MINUTE, 10, 12, &[1, 2, 3]), Some(vec![run(MINUTE, 0, 12, &[1, 2, 3])])),
            // Others have them.
            (run(MINUTE, 9, 12, &[1, 2]), None),
            (run(MINUTE, 0, 1, &[1, 2, 3, 4]), None),
            (run(HOUR, 0, 1, &[1]), Some(vec![first.clone(), run(HOUR, 0, 1, &[1])])),
        ] {
            let found = fix(&[first.clone(), next.clone()], 0);
            match kept {
                Some(kept) => assert_eq!(found.as_deref(), Ok(&kept[..]), "{next:?}"),
                None => {
                    assert!(found.unwrap_err().contains("minute) up to 10 are fixed already"), "{next:?}")
                }
            }
        }
        // Nothing before the last run either, though it was forgotten.
        let later = [first, run(MINUTE, 10, 20, &[1]), run(MINUTE, 9, 10, &[1])];
        assert!(fix(&later, 0).is_err());
    }

    #[test]
    fn what_is_over_is_forgotten_but_the_last_of_each() {
        let over = MINUTE.kept_until_ms(WindowId(19)).unwrap();
        let runs = [
            run(MINUTE, 0, 10, &[1]),
            run(MINUTE, 10, 20, &[1, 2]),
            run(MINUTE, 20, 21, &[2]),
            run(HOUR, 0, 1, &[1, 2]),
        ];
        assert_eq!(fix(&runs, over - 1).unwrap(), [&runs[1..]].concat(), "the first is over");
        assert_eq!(fix(&runs, over).unwrap(), [&runs[2..]].concat());
        // Long after all of it.
        let late = over * 1_000;
        assert_eq!(fix(&runs, late).unwrap(), [&runs[2..]].concat());
        assert!(fix(&[&runs[..], &[run(HOUR, 0, 1, &[3])]].concat(), late).is_err(), "it was not forgotten");
    }

    #[test]
    fn as_many_are_kept_as_there_may_be() {
        let rolling = |n: u64| run(Window::rolling(1_000 * (n + 1), 1).unwrap(), 0, 1, &[1]);
        let full: Vec<_> = (0..ShareRun::RUNS_MAX as u64).map(rolling).collect();
        let kept = |kept: &[ShareRun], next, now_ms| placed(kept, next, now_ms);
        assert!(kept(&full, rolling(5_000), 0).unwrap_err().contains("fewer kinds of windows"));
        assert!(kept(&full, run(full[7].window, 1, 2, &[1]), 0).is_ok(), "it grows");
        let late = rolling(9).window.kept_until_ms(WindowId(0)).unwrap();
        let placed = kept(&full, rolling(5_000), late).unwrap();
        assert_eq!(placed.removed, [full[0].key()], "what is over makes room");
    }

    #[test]
    fn what_is_no_run_is_refused() {
        let good = run(MINUTE, 3, 5, &[7, 9]).message();
        assert_eq!(ShareRun::proposed(&good).unwrap().message(), good);
        for (bad, why) in [
            (log::ShareRun { window: 0xff, ..good.clone() }, "does not know the window 255"),
            (log::ShareRun { until: 3, ..good.clone() }, "no such windows"),
            (log::ShareRun { until: u64::MAX, ..good.clone() }, "no such windows"),
            (log::ShareRun { nodes: vec![], ..good.clone() }, "at most 64 nodes"),
            (log::ShareRun { nodes: vec![9, 7], ..good.clone() }, "each once"),
            (log::ShareRun { nodes: vec![7, 7], ..good.clone() }, "each once"),
            (log::ShareRun { nodes: (0..65).collect(), ..good.clone() }, "at most 64 nodes"),
        ] {
            assert!(ShareRun::proposed(&bad).unwrap_err().contains(why), "{bad:?}");
        }
    }

    #[test]
    fn the_layout_on_the_disk_stays() {
        let run = run(MINUTE, 3, 300, &[7, 9]);
        assert_eq!(record::write(&run.message()), b"\x01\x08\x81\x02\x10\x03\x18\xac\x02\x22\x02\x07\x09");
        assert_eq!(run.key(), b"shares\0\0\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0\x03");
    }
}
