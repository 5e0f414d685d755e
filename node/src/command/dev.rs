//! `trestle dev`: a gateway that needs no configuration.

use super::dev_nodes::Nodes;
use crate::{
    boot,
    control::{Begin, Keyring, Purpose, Role, TokenEntity},
    key::{Holder, Key, hex},
    node::{self, Bound},
    private_file,
    settings::{LogFormat, Settings, default_data_dir},
    source::{Source, VendorKeys},
};
use serde::{Deserialize, Serialize};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// The file in the data folder that tells others how to reach the node.
pub(super) const FILE: &str = "dev.json";

/// Start a gateway for development: no configuration needed.
///
/// Uses the provider keys that it finds in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, ...) and
/// always the built-in provider `mock`: `mock/echo` repeats the last message, `mock/lorem` writes `max_tokens` words.
/// Prints the URL, a key for applications and an admin token, which stay the same over restarts; DIR/dev.json holds them.
/// What is changed over the admin API is kept in DIR as well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle dev
  OPENAI_API_KEY=sk-... trestle dev --listen 127.0.0.1:9000
  trestle dev --mock       never calls a provider, whatever the environment holds
  trestle dev --nodes 3    a cluster of three nodes: kill one, and the others go on")]
pub(super) struct Dev {
    /// Where clients connect; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where dev.json is [default: $XDG_STATE_HOME/trestle/dev or ~/.local/state/trestle/dev].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Use only the built-in mock, even where the environment holds keys of providers.
    #[arg(long)]
    mock: bool,
    /// So many nodes of one cluster, each a process of its own, the first at --listen and the others at the ports behind it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    nodes: u16,
}

/// What `dev.json` holds, for scripts, tests, and the commands that ask a node.
#[derive(Deserialize, Serialize)]
pub(super) struct DevFile {
    pub(super) url: String,
    pub(super) key: String,
    #[serde(default)]
    pub(super) admin_token: String,
}

impl DevFile {
    /// The one where `trestle dev` has it if nothing else is said; none if there is no such file, or a damaged one.
    pub(super) fn of_default() -> anyhow::Result<Option<Self>> {
        let text = private_file::read(&default_folder().join(FILE))?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

fn default_folder() -> PathBuf {
    default_data_dir(|name| std::env::var(name).ok()).join("dev")
}

impl Dev {
    pub(super) fn run(self) -> anyhow::Result<()> {
        boot::logging(LogFormat::Text);
        let folder = self.data_dir.unwrap_or_else(default_folder);
        let vendors = if self.mock { VendorKeys::Ignored } else { VendorKeys::Environment };
        let path = folder.join(FILE);
        if self.nodes != 1 {
            // Apart from what a single node keeps.
            let folder = folder.join(if self.mock { "nodes-mock" } else { "nodes" });
            return Nodes { count: self.nodes, listen: self.listen, folder, vendors }.run(&path);
        }
        let (key, token) = kept_keys(&path)?;
        let begin = Begin {
            // Providers with real keys that are kept must not be there with --mock.
            folder: if self.mock { folder.join("mock") } else { folder.clone() },
            keyring: Keyring::new(Some(&kept_kek(&folder.join("key-encryption-key"))?), None)?,
            source: Source::environment(key.hash(), vendors),
            purpose: Purpose::Dev,
            first_token: Some(TokenEntity::new(token.hash(), Role::Admin)),
            own_token: None,
        };
        let settings = Settings { listen: self.listen, data_dir: folder, ..Settings::default() };
        node::run(settings, begin, |bound| {
            let (key, admin_token) = (key.reveal().to_owned(), token.reveal().to_owned());
            let file = DevFile { url: bound.url.clone(), key, admin_token };
            private_file::write(&path, &serde_json::to_string(&file)?)?;
            print!("{}", banner(&path, &file, bound));
            Ok(())
        })
    }
}

/// The keys of the file, or new ones.
pub(super) fn kept_keys(path: &Path) -> anyhow::Result<(Key, Key)> {
    let Some(text) = private_file::read(path)? else {
        return Ok((Key::generate(Holder::Application)?, Key::generate(Holder::Operator)?));
    };
    let file = serde_json::from_str::<DevFile>(&text).ok();
    let key = file.as_ref().and_then(|file| Key::parse(Holder::Application, &file.key));
    let Some((key, file)) = key.zip(file) else {
        anyhow::bail!("{} is damaged: delete it for a new key", path.display());
    };
    let token = Key::parse(Holder::Operator, &file.admin_token);
    Ok((key, token.map_or_else(|| Key::generate(Holder::Operator), Ok)?))
}

/// The key that seals what is entered over the admin API.
pub(super) fn kept_kek(path: &Path) -> anyhow::Result<String> {
    if let Some(text) = private_file::read(path)? {
        return Ok(text);
    }
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)
        .map_err(|error| anyhow::anyhow!("the system gives no random numbers: {error}"))?;
    let text = hex(&bits);
    private_file::write(path, &text)?;
    Ok(text)
}

fn banner(path: &Path, file: &DevFile, bound: &Bound) -> String {
    let DevFile { url, key, admin_token } = file;
    let found = if bound.providers.is_empty() {
        "mock (no key of a provider in the environment)".to_owned()
    } else {
        format!("{}, mock", bound.providers.join(", "))
    };
    let real = bound
        .providers
        .iter()
        .find_map(|provider| example_model(provider))
        .map(|model| format!("\n  A real model instead of mock/echo: {model}\n"))
        .unwrap_or_default();
    format!(
        "\n  Trestle listens on {url}

  OpenAI SDKs     base_url = {url}/v1
  Anthropic SDK   base_url = {url}
  Key             {key}
  Providers       {found}
  Admin API       {url}/api/docs
  Admin token     {admin_token}
  All kept in     {}

  Try it:

  curl {url}/v1/chat/completions -H 'authorization: Bearer {key}' -H 'content-type: application/json' \
-d '{{\"model\": \"mock/echo\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello\"}}]}}'
{real}\n",
        path.display()
    )
}

/// A model that the vendor has, for the example.
fn example_model(provider: &str) -> Option<&'static str> {
    match provider {
        "openai" => Some("openai/gpt-4o-mini"),
        "anthropic" => Some("anthropic/claude-sonnet-5"),
        "gemini" => Some("gemini/gemini-2.5-flash"),
        "groq" => Some("groq/llama-3.3-70b-versatile"),
        "mistral" => Some("mistral/mistral-small-latest"),
        "deepseek" => Some("deepseek/deepseek-chat"),
        _ => None,
    }
}
