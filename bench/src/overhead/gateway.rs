//! The gateway as a process: found or built, given a document, started.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use sha2::{Digest as _, Sha256};

use super::side::{Addresses, Side};
use super::stage::{PROXY_CPU, free_addrs};
use crate::load::{KEYS, key};
use crate::process::Process;

/// What Cargo can build for us.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    package: &'static [&'static str],
    /// Below the target folder.
    file: &'static str,
}

/// The gateway.
pub(crate) const GATEWAY: Product = Product { package: &["-p", "trestle"], file: "release/trestle" };
/// A program that embeds it.
pub(super) const EMBEDDED: Product = Product {
    package: &["-p", "trestle-gateway", "--example", "in_process"],
    file: "release/examples/in_process",
};

/// Builds a product for release with Cargo; returns its path, in the target folder that our own binary is in.
pub(crate) fn build(product: Product) -> anyhow::Result<PathBuf> {
    let what = product.package.join(" ");
    eprintln!("cargo build --release {what}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--release"]).args(product.package).status();
    ensure!(built.context("cannot start cargo")?.success(), "cargo build --release {what} failed");
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent).context("our own binary is in no target folder")?;
    let binary = target.join(product.file);
    ensure!(binary.is_file(), "{} is missing after the build", binary.display());
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
    command.arg("--authoritative").arg("--data-dir").arg(&folder);
    // Ids of what providers keep are looked for where they can be sealed.
    command
        .arg("--key-encryption-key")
        .arg("env:TRESTLE_BENCH_KEK")
        .env("TRESTLE_BENCH_KEK", "5a".repeat(32));
    command.env("TRESTLE_BENCH_UPSTREAM_KEY", "sk-mock").stdout(Stdio::from(log));
    let process = Process::start(&mut command, PROXY_CPU, &folder)?;
    let mut side = Side { name: "gateway", process, addresses: Addresses::one(addr) };
    side.ready()?;
    Ok(side)
}

fn document(upstream: SocketAddr) -> String {
    let mut text = "providers:\n".to_owned();
    let mut models = "models:\n".to_owned();
    for (group, dialect, base, model) in [
        ("chat", "openai-chat", "/v1", "gpt-4o-mini"),
        ("claude", "anthropic-messages", "/v1", "claude-sonnet-4-5"),
        ("gemini", "gemini", "/v1beta", "gemini-2.5-flash"),
        ("bedrock", "bedrock-converse", "", "amazon.nova-pro-v1:0"),
        ("cohere", "cohere-chat", "/v2", "command-a-03-2025"),
        ("responses", "openai-responses", "/v1", "gpt-4o-mini"),
    ] {
        let _ = writeln!(
            text,
            "  to-{group}: {{ base_url: \"http://{upstream}{base}\", dialects: [{dialect}], \
             keys: [{{ name: main, value: env:TRESTLE_BENCH_UPSTREAM_KEY }}] }}"
        );
        let _ = writeln!(models, "  {group}: {{ targets: [{{ model: to-{group}/{model} }}] }}");
    }
    text.push_str(&models);
    text.push_str("keys:\n");
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
