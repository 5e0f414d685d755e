//! One of the two proxies: its process and its addresses.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::cases::{Baseline, Case, chat};
use crate::load::{Target, probe, requests};
use crate::process::Process;

/// Time that a process gets to serve.
const READY_MAX: Duration = Duration::from_secs(15);

/// Where a proxy listens, by what the case asks of nginx; a gateway has one address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) plain: SocketAddr,
    pub(super) big_body: SocketAddr,
    pub(super) unbuffered: SocketAddr,
}

impl Addresses {
    /// The same address for everything.
    pub(super) fn one(addr: SocketAddr) -> Self {
        Self { plain: addr, big_body: addr, unbuffered: addr }
    }

    fn of(&self, baseline: Baseline) -> SocketAddr {
        match baseline {
            Baseline::Plain => self.plain,
            Baseline::BigBody => self.big_body,
            Baseline::Unbuffered => self.unbuffered,
        }
    }
}

/// A proxy.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) process: Process,
    pub(super) addresses: Addresses,
}

impl Side {
    /// The load's target for a case.
    pub(super) fn target(&self, case: &Case) -> Target {
        Target {
            addr: self.addresses.of(case.baseline),
            requests: requests(case.prompt),
            expect: case.expect,
        }
    }

    /// Waits until a chat is answered as it should be.
    pub(super) fn ready(&mut self) -> anyhow::Result<()> {
        let target = self.target(chat());
        let deadline = Instant::now() + READY_MAX;
        loop {
            let Err(problem) = probe(&target) else { return Ok(()) };
            if let Some(status) = self.process.ended() {
                bail!("{} ended at once: {status}\n{}", self.name, self.process.errors());
            }
            if Instant::now() > deadline {
                bail!("{} does not serve: {problem}\n{}", self.name, self.process.errors());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
