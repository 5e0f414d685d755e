//! `trestle serve`: a gateway for operators.

use super::{start, telemetry::Telemetry};
use crate::{
    boot,
    control::{Begin, Purpose, Role, TokenEntity},
    key::{Holder, Key},
    node,
    settings::Settings,
    source::{Source, VendorKeys},
};
use std::{collections::BTreeMap, path::PathBuf};

/// Serve what the data folder holds; an empty one is filled with a document first.
///
/// Every setting can be given in the file of --node, in the environment (`TRESTLE_LISTEN`, `TRESTLE_TLS_CERT`, ...) or
/// as a flag; flags win over the environment, the environment over the file. SIGHUP applies changes of the secrets that
/// are referred to, of the certificate and, with --authoritative, of the document's file; SIGTERM finishes what runs, then ends the process.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle serve --document gateway.yaml                            its first content; then by the admin API
  trestle serve --document gateway.yaml --authoritative --watch    the file alone
  trestle serve --node node.toml --admin-listen 127.0.0.1:9090
  trestle serve --document gateway.yaml --tls-cert cert.pem --tls-key key.pem
  trestle serve            the first start without a document: the provider keys of the environment,
                           and a key for applications that is shown once

node.toml:
  listen = \"0.0.0.0:8080\"
  document = \"/etc/trestle/gateway.yaml\"
  authoritative = true
  watch = true
  [tls]
  cert = \"/etc/trestle/tls.crt\"
  key = \"/etc/trestle/tls.key\"")]
pub(super) struct Serve {
    /// Node settings in TOML.
    #[arg(long, value_name = "FILE", env = "TRESTLE_NODE")]
    node: Option<PathBuf>,
    /// The gateway document, in YAML or JSON: an empty data folder is filled with it.
    #[arg(long, value_name = "FILE")]
    document: Option<String>,
    /// Make the file of --document the only source: at each start and on SIGHUP the document becomes what the file says,
    /// and the admin API does not change it.
    #[arg(long)]
    authoritative: bool,
    /// With --authoritative: apply changes of the file as they happen.
    #[arg(long)]
    watch: bool,
    /// An admin token beside those in the data folder: env:NAME or file:PATH.
    #[arg(long, value_name = "REFERENCE")]
    root_token: Option<String>,
    /// Seals secrets that are given in clear: 32 bytes in hexadecimal or base64, by env:NAME or file:PATH.
    #[arg(long, value_name = "REFERENCE")]
    key_encryption_key: Option<String>,
    /// The key-encryption key before, for a start that changes it.
    #[arg(long, value_name = "REFERENCE")]
    key_encryption_key_previous: Option<String>,
    /// Where clients connect [default: 0.0.0.0:8080].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Where metrics and the admin API are (plain HTTP), if not on the listener of clients.
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
    /// All files of the ledger together, in bytes; beyond, calls of providers are answered 503.
    #[arg(long, value_name = "BYTES")]
    ledger_bytes_max: Option<String>,
    /// Days after which lines of the ledger are dropped; 0 is never.
    #[arg(long, value_name = "DAYS")]
    ledger_keep_days: Option<String>,
    /// The secret that the nodes of a cluster have in common, in a file: the node is one of several. A second line is a
    /// secret that is still accepted.
    #[arg(long, value_name = "FILE")]
    cluster_secret_file: Option<String>,
    /// Where other nodes gossip: host:port, separated by commas; a name may stand for several.
    #[arg(long, value_name = "ADDRS")]
    seeds: Option<String>,
    /// So many new nodes found a cluster together [default: 1].
    #[arg(long, value_name = "N")]
    bootstrap_expect: Option<String>,
    /// A name that stays when the node is made anew [default: that of the machine].
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,
    /// Where the node runs, for those who look.
    #[arg(long, value_name = "NAME")]
    zone: Option<String>,
    /// What the nodes have in common; their certificates are for this name [default: trestle.mesh].
    #[arg(long, value_name = "NAME")]
    mesh_name: Option<String>,
    /// Where peers are served [default: port 10102 of all addresses with --mesh-tls-dir, else of 127.0.0.1].
    #[arg(long, value_name = "ADDR")]
    mesh_listen: Option<String>,
    /// Where peers reach that, host:port, if it is another address.
    #[arg(long, value_name = "ADDR")]
    mesh_address: Option<String>,
    /// Where the node gossips, over UDP [default: port 10101, as --mesh-listen].
    #[arg(long, value_name = "ADDR")]
    mesh_gossip_listen: Option<String>,
    /// Where peers reach that, if it is another address.
    #[arg(long, value_name = "ADDR")]
    mesh_gossip_address: Option<String>,
    /// Certificates for peers: a folder with tls.crt, tls.key and ca.crt.
    #[arg(long, value_name = "DIR")]
    mesh_tls_dir: Option<String>,
    #[command(flatten)]
    telemetry: Telemetry,
}

impl Serve {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let settings = Settings::load(self.node.as_deref(), self.flags())?;
        boot::logging(settings.log_format);
        let key = Key::generate(Holder::Application)?;
        let token = Key::generate(Holder::Operator)?;
        let (source, key) = match &settings.document {
            Some(path) => (Source::File(path.clone()), None),
            None => (Source::environment(key.hash(), VendorKeys::Environment), Some(key)),
        };
        let own_token = settings.root_token.as_deref().map(start::own_token).transpose()?;
        let token = own_token.is_none().then_some(token);
        let begin = Begin {
            folder: settings.data_dir.clone(),
            keyring: start::keyring(&settings)?,
            source,
            purpose: if settings.authoritative { Purpose::Authoritative } else { Purpose::Seed },
            first_token: token.as_ref().map(|token| TokenEntity::new(token.hash(), Role::Admin)),
            own_token,
        };
        node::run(settings, begin, |bound| {
            if bound.first {
                let shown = |name: &str, key: Option<Key>| {
                    key.map(|key| format!("  {name}  {}   (shown only now)\n", key.reveal()))
                        .unwrap_or_default()
                };
                let (key, token) = (shown("Key        ", key), shown("Admin token", token));
                eprintln!(
                    "\n  URL          {}\n  Admin API    {}/api/docs\n{key}{token}",
                    bound.url, bound.admin_url
                );
            }
            Ok(())
        })
    }

    fn flags(&self) -> BTreeMap<&'static str, String> {
        let given = [
            ("document", &self.document),
            ("listen", &self.listen),
            ("admin_listen", &self.admin_listen),
            ("data_dir", &self.data_dir),
            ("root_token", &self.root_token),
            ("key_encryption_key", &self.key_encryption_key),
            ("key_encryption_key_previous", &self.key_encryption_key_previous),
            ("tls.cert", &self.tls_cert),
            ("tls.key", &self.tls_key),
            ("threads", &self.threads),
            ("drain_ms", &self.drain_ms),
            ("head_timeout_ms", &self.head_timeout_ms),
            ("idle_timeout_ms", &self.idle_timeout_ms),
            ("log_format", &self.log_format),
            ("connections_max", &self.connections_max),
            ("ledger_bytes_max", &self.ledger_bytes_max),
            ("ledger_keep_days", &self.ledger_keep_days),
            ("cluster_secret_file", &self.cluster_secret_file),
            ("seeds", &self.seeds),
            ("bootstrap_expect", &self.bootstrap_expect),
            ("node_name", &self.node_name),
            ("zone", &self.zone),
            ("mesh.name", &self.mesh_name),
            ("mesh.listen", &self.mesh_listen),
            ("mesh.address", &self.mesh_address),
            ("mesh.gossip_listen", &self.mesh_gossip_listen),
            ("mesh.gossip_address", &self.mesh_gossip_address),
            ("mesh.tls_dir", &self.mesh_tls_dir),
        ];
        let mut flags: BTreeMap<_, _> = given
            .into_iter()
            .chain(self.telemetry.flags())
            .filter_map(|(member, value)| Some((member, value.clone()?)))
            .collect();
        for (member, set) in [("watch", self.watch), ("authoritative", self.authoritative)] {
            if set {
                flags.insert(member, "true".to_owned());
            }
        }
        flags
    }
}
