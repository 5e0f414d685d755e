//! The leader's task: what runs and what comes next is fixed, for the members that there are.

use super::{
    decide::{Situation, decide, is_shared},
    own::OwnShares,
};
use crate::{Clock, ProposeError, ShareRun};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};
use trestle_counters::Window;

/// How often it is looked whether something is to be fixed. A limit that becomes strict admits nothing for so long.
const LOOK: Duration = Duration::from_millis(250);
/// Longest wait for one entry.
const FIX: Duration = Duration::from_secs(5);
/// What was refused is asked for again after so long.
const REFUSED: Duration = Duration::from_secs(60);
/// In a new cluster the very first shares wait so long for the nodes that are expected: else one that comes a moment later
/// would have nothing until the next window, which may be a month.
const EXPECTED: Duration = Duration::from_secs(10);

impl OwnShares {
    /// Has what these windows need fixed, while this node leads, until consensus ends. `windows` are those of the strict
    /// limits that there are at the moment.
    pub(crate) async fn keep(&self, clock: Arc<dyn Clock>, mut windows: impl FnMut() -> Vec<Window> + Send) {
        let (mut refused, mut begun, mut told) = (BTreeMap::new(), None, false);
        while self.consensus.is_running() {
            if self.consensus.leads() {
                let windows = windows();
                let begun = *begun.get_or_insert_with(Instant::now);
                if !self.waits_for_others(begun) {
                    self.pass(clock.now_ms(), &windows, &mut refused).await;
                }
                if !told && !windows.iter().all(|window| is_shared(*window)) {
                    tracing::error!(
                        "strict limits on requests at once admit nothing in a cluster: nodes cannot share them; make them soft"
                    );
                    told = true;
                }
            }
            sleep(LOOK).await;
        }
    }

    fn waits_for_others(&self, begun: Instant) -> bool {
        let expect = if self.was_alone { None } else { self.expect };
        let missing = expect.is_some_and(|expect| self.consensus.members().len() < expect as usize);
        missing && begun.elapsed() < EXPECTED && self.consensus.shares().borrow().is_empty()
    }

    /// Has fixed what is missing; what was refused is left alone for a while.
    async fn pass(&self, now_ms: u64, windows: &[Window], refused: &mut BTreeMap<Window, Instant>) {
        let (members, runs) = (self.consensus.members(), self.consensus.shares().borrow().clone());
        refused.retain(|window, at| at.elapsed() < REFUSED && windows.contains(window));
        let missing = decide(&Situation { now_ms, windows, members: &members, runs: &runs });
        let mut done = true;
        for run in missing.iter().filter(|run| !refused.contains_key(&run.window)).collect::<Vec<_>>() {
            match self.consensus.fix_shares(run, FIX).await {
                Ok(()) => tell(run),
                Err(ProposeError::Refused(why)) => {
                    tracing::error!(window = %run.window, "strict limits have no shares, and admit nothing: {why}");
                    refused.insert(run.window, Instant::now());
                }
                // The next pass looks what became of it.
                Err(error) => {
                    tracing::warn!(window = %run.window, %error, "shares of strict limits are not fixed yet");
                    done = false;
                }
            }
        }
        if done {
            self.first_pass.send_if_modified(|before| !std::mem::replace(before, true));
        }
    }
}

fn tell(run: &ShareRun) {
    let ShareRun { window, from, until, nodes } = run;
    tracing::info!(%window, from = from.0, until = until.0, ?nodes, "shares of strict limits are fixed");
}
