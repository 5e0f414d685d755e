//! The gateway as a process: found or built, given a document, started.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};

use super::process::Process;
use super::side::{Addresses, Side};
use super::stage::{PROXY_CPU, free_addrs};
use crate::load::{KEYS, key};

/// Builds the release binary with Cargo and returns its path, beside or near our own.
pub(super) fn build() -> anyhow::Result<PathBuf> {
    eprintln!("building the gateway (cargo build --release -p trestle)");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--release", "-p", "trestle"]).status();
    ensure!(built.context("cannot start cargo")?.success(), "cargo build --release -p trestle failed");
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent).context("our own binary is in no target folder")?;
    let binary = target.join("release").join("trestle");
    ensure!(binary.is_file(), "{} is missing after the build; give --gateway PATH", binary.display());
    Ok(binary)
}

/// Starts a gateway that passes chats to the upstream.
pub(super) fn start(binary: &Path, upstream: SocketAddr, folder: &Path) -> anyhow::Result<Side> {
    let folder = folder.join("gateway");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("gateway.yaml");
    std::fs::write(&file, document(upstream))?;
    let [addr] = free_addrs()?;
    let mut command = Command::new(binary);
    command.arg("serve").arg("--listen").arg(addr.to_string()).arg("--document").arg(&file);
    let log = std::fs::File::create(folder.join("out.log"))?;
    command.arg("--data-dir").arg(&folder).stdout(Stdio::from(log));
    let process = Process::start(&mut command, PROXY_CPU, &folder)?;
    let mut side = Side { name: "gateway", process, addresses: Addresses::one(addr) };
    side.ready()?;
    Ok(side)
}

fn document(upstream: SocketAddr) -> String {
    let mut text = format!(
        r#"providers:
  mockoai: {{ base_url: "http://{upstream}/v1", dialects: [openai-chat], keys: [{{ name: main, value: sk-mock }}] }}
  mockant: {{ base_url: "http://{upstream}/v1", dialects: [anthropic-messages], keys: [{{ name: main, value: sk-mock }}] }}
models:
  chat: {{ targets: [{{ model: mockoai/gpt-4o-mini }}] }}
  claude: {{ targets: [{{ model: mockant/claude-sonnet-4-5 }}] }}
keys:
"#
    );
    for number in 0..KEYS {
        let digest = Sha256::digest(key(number));
        let hex = digest.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let _ = writeln!(text, "  bench{number}: {{ value: \"sha256:{hex}\" }}");
    }
    text
}
