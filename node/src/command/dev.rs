//! `trestle dev`: a gateway that needs no configuration.

use crate::{
    boot,
    key::ApplicationKey,
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

/// Start a gateway for development: no configuration needed.
///
/// Uses the provider keys that it finds in the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, ...) and
/// always the built-in provider `mock`: `mock/echo` repeats the last message, `mock/lorem` writes `max_tokens` words.
/// Prints the URL and a key for applications, which stays the same over restarts; DIR/dev.json holds both.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle dev
  OPENAI_API_KEY=sk-... trestle dev --listen 127.0.0.1:9000
  trestle dev --mock       never calls a provider, whatever the environment holds")]
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
}

/// What `dev.json` holds, for scripts and tests.
#[derive(Deserialize, Serialize)]
struct DevFile {
    url: String,
    key: String,
}

impl Dev {
    pub(super) fn run(self) -> anyhow::Result<()> {
        boot::logging(LogFormat::Text);
        let folder =
            self.data_dir.unwrap_or_else(|| default_data_dir(|name| std::env::var(name).ok()).join("dev"));
        let path = folder.join("dev.json");
        let key = kept_key(&path)?.map_or_else(ApplicationKey::generate, Ok)?;
        let vendors = if self.mock { VendorKeys::Ignored } else { VendorKeys::Environment };
        let source = Source::environment(key.hash(), vendors);
        let settings = Settings { listen: self.listen, data_dir: folder, ..Settings::default() };
        node::run(settings, source, |bound| {
            let file = DevFile { url: bound.url.clone(), key: key.reveal().to_owned() };
            private_file::write(&path, &serde_json::to_string(&file)?)?;
            print!("{}", banner(&path, &file, bound));
            Ok(())
        })
    }
}

fn kept_key(path: &Path) -> anyhow::Result<Option<ApplicationKey>> {
    let Some(text) = private_file::read(path)? else { return Ok(None) };
    let key = serde_json::from_str::<DevFile>(&text).ok().and_then(|file| ApplicationKey::parse(&file.key));
    match key {
        Some(key) => Ok(Some(key)),
        None => anyhow::bail!("{} is damaged: delete it for a new key", path.display()),
    }
}

fn banner(path: &Path, file: &DevFile, bound: &Bound) -> String {
    let DevFile { url, key } = file;
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
  Both kept in    {}

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
