//! `trestle serve`: a gateway for operators.

use crate::{
    boot,
    key::{ApplicationKey, is_hash},
    node::{self, Bound},
    private_file,
    settings::Settings,
    source::{Source, VendorKeys},
};
use anyhow::Context;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Serve a gateway document.
///
/// Every setting can be given in the file of --node, in the environment (`TRESTLE_LISTEN`, `TRESTLE_TLS_CERT`, ...) or
/// as a flag; flags win over the environment, the environment over the file. SIGHUP applies changes of the document,
/// of the secrets that it refers to and of the certificate; SIGTERM finishes what runs, then ends the process.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle serve --document gateway.yaml --watch
  trestle serve --node node.toml --admin-listen 127.0.0.1:9090
  trestle serve --document gateway.yaml --tls-cert cert.pem --tls-key key.pem
  trestle serve            without a document: the provider keys of the environment, and a key
                           for applications that is shown once

node.toml:
  listen = \"0.0.0.0:8080\"
  document = \"/etc/trestle/gateway.yaml\"
  watch = true
  [tls]
  cert = \"/etc/trestle/tls.crt\"
  key = \"/etc/trestle/tls.key\"")]
pub(super) struct Serve {
    /// Node settings in TOML.
    #[arg(long, value_name = "FILE", env = "TRESTLE_NODE")]
    node: Option<PathBuf>,
    /// The gateway document, in YAML or JSON.
    #[arg(long, value_name = "FILE")]
    document: Option<String>,
    /// Apply changes of the document and of the secrets that it refers to as they happen.
    #[arg(long)]
    watch: bool,
    /// Where clients connect [default: 0.0.0.0:8080].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Where metrics are (plain HTTP), if not on the listener of clients.
    #[arg(long, value_name = "ADDR")]
    admin_listen: Option<String>,
    /// For what must survive a restart [default: $XDG_STATE_HOME/trestle or ~/.local/state/trestle].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Certificate chain in PEM, leaf first; applied anew when it changes.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// Key of the certificate, in PEM.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// Data threads [default: 0, as many as there are processors].
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// How long running requests may take after SIGTERM, in milliseconds [default: 30000].
    #[arg(long, value_name = "MS")]
    drain_ms: Option<String>,
    /// For a TLS handshake and for each head of a request, in milliseconds [default: 10000].
    #[arg(long, value_name = "MS")]
    head_timeout_ms: Option<String>,
    /// For a connection without a request, in milliseconds; keep it above that of a load balancer in front
    /// [default: 75000].
    #[arg(long, value_name = "MS")]
    idle_timeout_ms: Option<String>,
    /// How lines on stderr look: json or text [default: json].
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Connections of clients; beyond, new ones are closed at once [default: 20000].
    #[arg(long, value_name = "N")]
    connections_max: Option<String>,
}

impl Serve {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let settings = Settings::load(self.node.as_deref(), self.flags())?;
        boot::logging(settings.log_format);
        if let Some(path) = &settings.document {
            let source = Source::File(path.clone());
            return node::run(settings, source, |_| Ok(()));
        }
        let first = FirstKey::find(&settings.data_dir)?;
        let source = Source::environment(first.hash.clone(), VendorKeys::Environment);
        node::run(settings, source, |bound| first.announce(bound))
    }

    fn flags(&self) -> BTreeMap<&'static str, String> {
        let given = [
            ("document", &self.document),
            ("listen", &self.listen),
            ("admin_listen", &self.admin_listen),
            ("data_dir", &self.data_dir),
            ("tls.cert", &self.tls_cert),
            ("tls.key", &self.tls_key),
            ("threads", &self.threads),
            ("drain_ms", &self.drain_ms),
            ("head_timeout_ms", &self.head_timeout_ms),
            ("idle_timeout_ms", &self.idle_timeout_ms),
            ("log_format", &self.log_format),
            ("connections_max", &self.connections_max),
        ];
        let mut flags: BTreeMap<_, _> =
            given.into_iter().filter_map(|(member, value)| Some((member, value.clone()?))).collect();
        if self.watch {
            flags.insert("watch", "true".to_owned());
        }
        flags
    }
}

/// The application key of a node without a document: made at the first start, kept as its hash.
struct FirstKey {
    path: PathBuf,
    hash: String,
    /// Until it was shown.
    new: Option<ApplicationKey>,
}

impl FirstKey {
    fn find(data_dir: &Path) -> anyhow::Result<Self> {
        let path = data_dir.join("first-key.sha256");
        if let Some(text) = private_file::read(&path)? {
            let text = text.trim();
            anyhow::ensure!(is_hash(text), "{} is damaged: delete it for a new key", path.display());
            return Ok(Self { hash: text.to_owned(), path, new: None });
        }
        let key = ApplicationKey::generate()?;
        Ok(Self { hash: key.hash(), path, new: Some(key) })
    }

    /// Kept before it is shown: a key that someone saw is valid after a restart.
    fn announce(self, bound: &Bound) -> anyhow::Result<()> {
        let Some(key) = self.new else { return Ok(()) };
        private_file::write(&self.path, &self.hash)
            .context("the application key must survive a restart (--data-dir sets the folder)")?;
        eprintln!("\n  URL   {}\n  Key   {}   (shown only now)\n", bound.url, key.reveal());
        Ok(())
    }
}
