//! Everything that runs while we measure: the mock, nginx, the gateway, a folder for their files.

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow};

use super::cases::Case;
use super::side::Side;
use super::{gateway, nginx};
use crate::load::{Target, requests};
use crate::process::Process;

/// The CPU of the proxies.
pub(super) const PROXY_CPU: usize = 0;
/// The CPU of load and mock.
pub(super) const LOAD_CPU: usize = 1;
/// Time to settle before memory counts as idle.
const SETTLE: Duration = Duration::from_secs(1);

/// The running processes. The folder goes last.
pub(super) struct Stage {
    pub(super) gateway: Side,
    pub(super) nginx: Side,
    pub(super) gateway_idle_bytes: u64,
    pub(super) gateway_path: String,
    pub(super) upstream: SocketAddr,
    _mock: Process,
    pub(super) folder: Folder,
}

/// The two proxies of a comparison.
pub(super) struct Sides<'a> {
    pub(super) nginx: &'a Side,
    pub(super) gateway: &'a Side,
}

impl Stage {
    /// Starts everything. Without a path the gateway is built; `nginx` compares nginx with itself.
    pub(super) fn set(path: Option<&Path>) -> anyhow::Result<Self> {
        let folder = Folder::new()?;
        let (mock, upstream) = mock(&folder.0)?;
        let nginx = nginx::start("nginx", upstream, &folder.0)?;
        let (gateway, gateway_path) = match path {
            Some(path) if path == Path::new("nginx") => {
                (nginx::start("nginx again", upstream, &folder.0)?, "nginx".to_owned())
            }
            path => {
                let binary =
                    path.map_or_else(|| gateway::build(gateway::GATEWAY), |path| Ok(path.to_owned()))?;
                (gateway::start(&binary, upstream, &folder.0)?, binary.display().to_string())
            }
        };
        std::thread::sleep(SETTLE);
        let gateway_idle_bytes = gateway.process.memory_bytes();
        Ok(Self { gateway, nginx, gateway_idle_bytes, gateway_path, upstream, _mock: mock, folder })
    }

    /// The two proxies.
    pub(super) fn sides(&self) -> Sides<'_> {
        Sides { nginx: &self.nginx, gateway: &self.gateway }
    }

    /// The mock itself, without a proxy.
    pub(super) fn direct(&self, case: &Case) -> Target {
        Target { addr: self.upstream, requests: requests(case.prompt), expect: case.expect }
    }
}

fn mock(folder: &Path) -> anyhow::Result<(Process, SocketAddr)> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["mock", "--canned"]).stdout(Stdio::piped());
    let mut process = Process::start(&mut command, LOAD_CPU, folder)?;
    let mut line = String::new();
    BufReader::new(process.stdout()?).read_line(&mut line)?;
    let addr = line.trim().strip_prefix("listening ").and_then(|addr| addr.parse().ok());
    let addr = addr.ok_or_else(|| anyhow!("the mock does not start: {line:?}\n{}", process.errors()))?;
    Ok((process, addr))
}

/// Addresses that were free a moment ago.
pub(super) fn free_addrs<const N: usize>() -> anyhow::Result<[SocketAddr; N]> {
    let sockets = (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<Vec<_>, _>>()?;
    let addrs = sockets.iter().map(TcpListener::local_addr).collect::<Result<Vec<_>, _>>()?;
    addrs.try_into().map_err(|_| anyhow!("no free addresses")).context("cannot listen on 127.0.0.1")
}

/// A folder that is removed when dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// A new one.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join(format!("trestle-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
