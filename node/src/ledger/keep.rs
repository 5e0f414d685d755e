//! Twice a second: what was written is put on the disk, what limits have counted is kept, leases end. More often room is
//! prepared.

use super::{Opened, checkpoint::Checkpoint, open::now_ms};
use crate::metric;
use std::{
    io,
    path::PathBuf,
    process,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::JoinHandle,
    time::{Duration, Instant},
};
use trestle_gateway::Gateway;
use trestle_store::{Ledger, Position, Tended};

/// How often room is prepared: a thread fills a file within a second where it makes 20,000 calls.
const TEND: Duration = Duration::from_millis(250);
/// Each so many times the rest is done: what a loss of power takes is no older than two of these rounds.
const ROUND: u32 = 2;
/// How often what limits have counted is written.
const WRITE: Duration = Duration::from_secs(1);
/// Sums that are written in a second; with more of them the file is written less often.
const SUMS_A_SECOND: usize = 20_000;

/// The thread that tends to the ledger.
pub(crate) struct Keeper {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

struct Keeping {
    ledger: Ledger,
    gateway: Gateway,
    checkpoint: Checkpoint,
    path: PathBuf,
    written: Instant,
    kept: Option<Position>,
    short: bool,
}

impl Keeper {
    /// Begins to tend.
    pub(crate) fn start(opened: Opened, gateway: Gateway) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let Opened { ledger, checkpoint, path, .. } = opened;
        let mut keeping =
            Keeping { ledger, gateway, checkpoint, path, written: Instant::now(), kept: None, short: false };
        let thread = std::thread::Builder::new().name("ledger".to_owned()).spawn(move || {
            let mut times = 0_u32;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(TEND) {
                keeping.tend();
                times = times.wrapping_add(1);
                if times.is_multiple_of(ROUND) {
                    keeping.round(Ledger::sync_behind);
                }
            }
            keeping.round(Ledger::sync);
            keeping.write();
        })?;
        Ok(Self { stop, thread })
    }

    /// Does it once more, after the last request, and ends.
    pub(crate) fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.thread.join();
    }
}

impl Keeping {
    fn tend(&mut self) {
        let tended = self.ledger.tend(now_ms());
        self.tell(&tended);
    }

    fn round(&mut self, sync: fn(&Ledger) -> io::Result<Position>) {
        let now_ms = now_ms();
        match sync(&self.ledger) {
            Ok(position) => match self.checkpoint.advance(&self.ledger, position) {
                Ok(0) => {}
                Ok(records) => tracing::error!(records, "records of the ledger cannot be read"),
                Err(error) => tracing::error!(%error, "the ledger cannot be read"),
            },
            Err(error) => {
                // What a disk has kept that failed once is unknown: a new process reads what is there.
                tracing::error!(%error, "the ledger cannot be kept: ending");
                process::exit(1);
            }
        }
        self.checkpoint.settled.expire(now_ms);
        let expired = self.gateway.sweep(now_ms);
        metric::ledger(&self.ledger.lag(), &self.ledger.room(), expired);
        let sums = self.checkpoint.settled.len();
        if self.written.elapsed() >= WRITE * (1 + sums / SUMS_A_SECOND) as u32 {
            self.write();
        }
    }

    /// Later is as good: a start reads what the ledger has since.
    fn write(&mut self) {
        self.written = Instant::now();
        if self.kept.as_ref() == Some(&self.checkpoint.position) {
            return;
        }
        match self.checkpoint.write(&self.path) {
            Ok(()) => self.kept = Some(self.checkpoint.position.clone()),
            Err(error) => tracing::error!("what limits have counted cannot be written: {error:#}"),
        }
    }

    /// Says once that there is no room, and once that there is again.
    fn tell(&mut self, tended: &Tended) {
        if let Some(error) = &tended.refused {
            tracing::error!(%error, "files of the ledger cannot be sealed or dropped");
        }
        let short = tended.short.is_some();
        if let Some(why) = tended.short.as_ref().filter(|_| !self.short) {
            tracing::error!(
                %why,
                "no room is left for the ledger: once what is prepared is used, calls are answered 503"
            );
        } else if self.short && !short {
            tracing::info!("there is room for the ledger again");
        }
        self.short = short;
    }
}
