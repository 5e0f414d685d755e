//! nginx as the baseline.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::side::{Addresses, Side};
use super::stage::{PROXY_CPU, free_addrs};
use crate::process::Process;

const CONFIG: &str = include_str!("nginx.conf");
/// Where Debian and others put it, beside the PATH of ordinary users.
const PLACES: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/sbin/nginx"];

/// Starts an nginx that passes everything to the upstream. `name` is its folder and what it is called.
pub(super) fn start(name: &'static str, upstream: SocketAddr, folder: &Path) -> anyhow::Result<Side> {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder)?;
    let [plain, big_body, unbuffered] = free_addrs()?;
    let config = CONFIG
        .replace("UPSTREAM", &upstream.to_string())
        .replace("PLAIN", &plain.to_string())
        .replace("BIG_BODY", &big_body.to_string())
        .replace("UNBUFFERED", &unbuffered.to_string());
    let file = folder.join("nginx.conf");
    std::fs::write(&file, config)?;
    let mut command = Command::new(program()?);
    command.arg("-p").arg(&folder).arg("-c").arg(&file).stdout(Stdio::null());
    let process = Process::start(&mut command, PROXY_CPU, &folder)?;
    let mut side = Side { name, process, addresses: Addresses { plain, big_body, unbuffered } };
    side.ready()?;
    Ok(side)
}

fn program() -> anyhow::Result<PathBuf> {
    let found = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("nginx")).find(|file| file.is_file())
    });
    let found = found.or_else(|| PLACES.iter().map(PathBuf::from).find(|file| file.is_file()));
    let Some(program) = found else {
        bail!(
            "nginx is not installed: it is the baseline. On Debian: apt-get install nginx-light (the service need \
             not run)"
        );
    };
    program.canonicalize().context("nginx cannot be found")
}
