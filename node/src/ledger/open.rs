//! Opens the ledger of the data folder, and makes of it what limits have counted.

use super::checkpoint::Checkpoint;
use crate::{private_file, settings::Settings};
use anyhow::Context;
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};
use trestle_counters::Settled;
use trestle_store::{Ledger, Options};

/// One file of the ledger.
const SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// A ledger that can be written.
pub(crate) struct Opened {
    /// The ledger.
    pub(crate) ledger: Ledger,
    /// What limits have counted before.
    pub(crate) settled: Settled,
    /// Which of its lives this is of the node: higher than that of any before.
    pub(crate) incarnation: u64,
    pub(super) checkpoint: Checkpoint,
    pub(super) path: PathBuf,
}

/// Opens it. Calls that were open when the last process ended are closed, as estimated.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<Opened> {
    let folder = settings.data_dir.join("ledger");
    let now_ms = now_ms();
    let incarnation = next_incarnation(&settings.data_dir.join("incarnation"), now_ms)?;
    let options = Options {
        bytes_max: settings.ledger_bytes_max,
        segment_bytes: SEGMENT_BYTES.min(settings.ledger_bytes_max / 4),
        keep: settings.ledger_keep,
        incarnation,
    };
    let opened = Ledger::open(&folder, options);
    let (ledger, recovery) =
        opened.with_context(|| format!("cannot open the ledger in {}", folder.display()))?;
    if !recovery.closed.is_empty() {
        tracing::warn!(
            calls = recovery.closed.len(),
            "calls were running when the last process ended: they are closed as estimated"
        );
    }
    if recovery.damage != trestle_store::Damage::default() {
        tracing::error!(damage = ?recovery.damage, "parts of the ledger are damaged: what they held is lost");
    }
    let path = settings.data_dir.join("counters");
    let mut checkpoint = match Checkpoint::read(&path) {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            let file = path.display();
            tracing::error!(%file, "what limits had counted is damaged ({error:#}); it is made anew of the ledger");
            None
        }
    }
    .map_or_else(Checkpoint::first, Ok)?;
    checkpoint.advance(&ledger, ledger.position()).context("cannot read the ledger")?;
    checkpoint.settled.expire(now_ms);
    Ok(Opened { settled: checkpoint.settled.clone(), ledger, incarnation, checkpoint, path })
}

/// The number of this life, which is on the disk before anything is counted: peers keep the larger of what they know, so a life
/// with the number of an earlier one, after the clock went back, would count beside it and not be seen.
/// It is no secret, so whoever else may read it does not matter: Kubernetes may open what is on a disk to a group.
fn next_incarnation(path: &Path, now_ms: u64) -> anyhow::Result<u64> {
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        Ok(text) => text.trim().parse().with_context(|| {
            format!("{} is damaged: it should hold a number; delete it if the clock is right", path.display())
        })?,
    };
    let incarnation = now_ms.max(before + 1);
    private_file::write(path, incarnation.to_string())?;
    Ok(incarnation)
}

/// The time, in unix milliseconds.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
