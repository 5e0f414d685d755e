//! Node settings: what concerns this process alone. Flags win over the environment, the environment over the file.

use std::{
    collections::BTreeMap,
    fmt::Display,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

mod mesh;
mod metrics;
mod otlp;
mod traces;
pub(crate) use mesh::{Mesh, host_name};
pub(crate) use metrics::Metrics;
pub(crate) use otlp::{HeaderSource, Otlp, Protocol};
pub(crate) use traces::Traces;

#[cfg(test)]
mod tests;

/// The members of `node.toml`. `tls.cert` is `TRESTLE_TLS_CERT` in the environment and `--tls-cert` on the command line.
pub(crate) const MEMBERS: [&str; 42] = [
    "listen",
    "admin_listen",
    "data_dir",
    "document",
    "authoritative",
    "watch",
    "root_token",
    "key_encryption_key",
    "key_encryption_key_previous",
    "threads",
    "tls.cert",
    "tls.key",
    "drain_ms",
    "head_timeout_ms",
    "idle_timeout_ms",
    "log_format",
    "connections_max",
    "ledger_bytes_max",
    "ledger_keep_days",
    "cluster_secret_file",
    "seeds",
    "bootstrap_expect",
    "node_name",
    "zone",
    "mesh.name",
    "mesh.listen",
    "mesh.address",
    "mesh.gossip_listen",
    "mesh.gossip_address",
    "mesh.tls_dir",
    "otlp.endpoint",
    "otlp.protocol",
    "otlp.headers",
    "otlp.ca",
    "otlp.resource",
    "traces.sample",
    "traces.parent",
    "traces.errors",
    "traces.include",
    "traces.exclude",
    "metrics.push_interval_ms",
    "metrics.keys_max",
];

const DAY: Duration = Duration::from_secs(24 * 3600);
/// A year, and time to close its books.
const LEDGER_KEEP_DAYS: u32 = 400;

/// What concerns this process alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Where clients connect; port 0 takes a free one.
    pub(crate) listen: SocketAddr,
    /// Where metrics are, if not on the listener of clients. Plain HTTP.
    pub(crate) admin_listen: Option<SocketAddr>,
    /// For what must survive a restart.
    pub(crate) data_dir: PathBuf,
    /// The gateway document that an empty data folder is filled with.
    pub(crate) document: Option<PathBuf>,
    /// The file of `document` is the only source of the document.
    pub(crate) authoritative: bool,
    /// Apply changes of that file as they happen.
    pub(crate) watch: bool,
    /// A reference to an admin token that is taken beside those in the data folder.
    pub(crate) root_token: Option<String>,
    /// A reference to the key that wraps the data key of sealed secrets.
    pub(crate) key_encryption_key: Option<String>,
    /// A reference to the one before, while it is changed.
    pub(crate) key_encryption_key_previous: Option<String>,
    /// Data threads; 0 is as many as there are processors.
    pub(crate) threads: usize,
    /// TLS on the listener of clients.
    pub(crate) tls: Option<TlsFiles>,
    /// How long running requests may take after SIGTERM.
    pub(crate) drain: Duration,
    /// For a TLS handshake and for each head of a request, from its first byte to its last.
    pub(crate) head_timeout: Duration,
    /// For a connection without a request, and for a client that does not take what is written to it.
    pub(crate) idle_timeout: Duration,
    /// How lines on stderr look.
    pub(crate) log_format: LogFormat,
    /// Connections of clients; beyond, new ones are closed at once.
    pub(crate) connections_max: usize,
    /// All files of the ledger together; beyond, calls of providers are answered 503.
    pub(crate) ledger_bytes_max: u64,
    /// Files of the ledger whose last line is older are dropped; `None`: never.
    pub(crate) ledger_keep: Option<Duration>,
    /// How it is one of several; `None`: it is alone.
    pub(crate) mesh: Option<Mesh>,
    /// Where telemetry goes; `None`: nowhere.
    pub(crate) otlp: Option<Otlp>,
    /// What is told of this process, and how often.
    pub(crate) metrics: Metrics,
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TlsFiles {
    /// The chain, leaf first.
    pub(crate) cert: PathBuf,
    /// The key.
    pub(crate) key: PathBuf,
}

/// How lines on stderr look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For machines.
    Json,
    /// For people.
    Text,
}

impl FromStr for LogFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "json" => Ok(Self::Json),
            "text" => Ok(Self::Text),
            _ => Err(()),
        }
    }
}

/// All that is wrong with the settings, a line each.
#[derive(Debug, thiserror::Error)]
#[error("the node settings are not valid:\n{}", .0.join("\n"))]
pub(crate) struct SettingsError(pub(crate) Vec<String>);

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([0, 0, 0, 0], 8080)),
            admin_listen: None,
            data_dir: default_data_dir(|name| std::env::var(name).ok()),
            document: None,
            authoritative: false,
            watch: false,
            root_token: None,
            key_encryption_key: None,
            key_encryption_key_previous: None,
            threads: 0,
            tls: None,
            drain: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            // Longer than load balancers keep a connection to us (60 s is usual), so that it is never we who close
            // one that a request is just being sent on. Behind one that keeps them longer, such as Google's (600 s),
            // set it above that.
            idle_timeout: Duration::from_secs(75),
            log_format: LogFormat::Json,
            connections_max: 20_000,
            ledger_bytes_max: 16 << 30,
            ledger_keep: Some(DAY * LEDGER_KEEP_DAYS),
            mesh: None,
            otlp: None,
            metrics: Metrics::default(),
        }
    }
}

impl Settings {
    /// Settings from the three layers; `flags` by the name of the member.
    pub(crate) fn load(
        file: Option<&Path>,
        flags: BTreeMap<&'static str, String>,
    ) -> Result<Self, SettingsError> {
        let mut layers = Layers::default();
        if let Some(path) = file {
            layers.add_file(path);
        }
        for member in MEMBERS {
            let name = format!("TRESTLE_{}", member.to_uppercase().replace('.', "_"));
            match std::env::var(&name) {
                Ok(value) => layers.add(member, value, name),
                Err(std::env::VarError::NotPresent) => {}
                Err(error) => layers.problems.push(format!("{name}: {error}")),
            }
        }
        for (member, value) in flags {
            layers.add(member, value, format!("--{}", member.replace(['.', '_'], "-")));
        }
        layers.settle()
    }
}

/// The directory for state by the convention of the desktop, or one here.
pub(crate) fn default_data_dir(env: impl Fn(&str) -> Option<String>) -> PathBuf {
    let absolute = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map_or_else(|| PathBuf::from("./.trestle"), |state| state.join("trestle"))
}

/// Values by member with where each comes from, later layers over earlier ones.
#[derive(Debug, Default)]
struct Layers {
    values: BTreeMap<&'static str, (String, String)>,
    problems: Vec<String>,
}

impl Layers {
    fn add(&mut self, member: &'static str, value: String, origin: String) {
        self.values.insert(member, (value, origin));
    }

    fn add_file(&mut self, path: &Path) {
        let shown = path.display();
        let parsed = std::fs::read_to_string(path)
            .map_err(|error| format!("{shown}: cannot be read: {error}"))
            .and_then(|text| {
                text.parse::<toml::Table>()
                    .map_err(|error| format!("{shown}: {}", error.to_string().trim_end()))
            });
        match parsed {
            Ok(table) => self.add_table(&shown.to_string(), "", &table),
            Err(problem) => self.problems.push(problem),
        }
    }

    fn add_table(&mut self, file: &str, prefix: &str, table: &toml::Table) {
        for (name, value) in table {
            let path = format!("{prefix}{name}");
            let known = MEMBERS.iter().find(|member| **member == path);
            let holds_members = MEMBERS.iter().any(|member| member.starts_with(&format!("{path}.")));
            match (known, value) {
                (None, toml::Value::Table(inner)) if holds_members => {
                    self.add_table(file, &format!("{path}."), inner);
                }
                (Some(member), toml::Value::String(text)) => {
                    self.add(member, text.clone(), format!("{file}: {path}"));
                }
                (Some(member), toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_)) => {
                    self.add(member, value.to_string(), format!("{file}: {path}"));
                }
                (Some(_), _) => {
                    let kind = value.type_str();
                    self.problems
                        .push(format!("{file}: {path}: is {kind}, must be a string, a number or a boolean"));
                }
                (None, _) => {
                    let known = MEMBERS.join(", ");
                    self.problems.push(format!("{file}: {path}: unknown member; there are {known}"));
                }
            }
        }
    }

    fn settle(mut self) -> Result<Settings, SettingsError> {
        let base = Settings::default();
        let address = "must be an address with a port, such as 127.0.0.1:8080 or [::]:8080";
        let listen = self.parse("listen", address).unwrap_or(base.listen);
        let admin_listen = self.parse("admin_listen", address);
        let settings = Settings {
            listen,
            admin_listen,
            data_dir: self.path("data_dir").unwrap_or(base.data_dir),
            document: self.path("document"),
            authoritative: self.switch("authoritative"),
            watch: self.switch("watch"),
            root_token: self.reference("root_token"),
            key_encryption_key: self.reference("key_encryption_key"),
            key_encryption_key_previous: self.reference("key_encryption_key_previous"),
            threads: self.number("threads", 0, 1024).map_or(base.threads, |n| n as usize),
            tls: self.tls(),
            drain: self.milliseconds("drain_ms", 0).unwrap_or(base.drain),
            head_timeout: self.milliseconds("head_timeout_ms", 1).unwrap_or(base.head_timeout),
            idle_timeout: self.milliseconds("idle_timeout_ms", 1).unwrap_or(base.idle_timeout),
            log_format: self.parse("log_format", "must be json or text").unwrap_or(base.log_format),
            connections_max: self
                .number("connections_max", 1, 1_000_000)
                .map_or(base.connections_max, |n| n as usize),
            ledger_bytes_max: self
                .number("ledger_bytes_max", 16 << 20, 1 << 50)
                .unwrap_or(base.ledger_bytes_max),
            ledger_keep: match self.number("ledger_keep_days", 0, 36_500) {
                None => base.ledger_keep,
                Some(0) => None,
                Some(days) => Some(DAY * days as u32),
            },
            mesh: self.mesh(),
            otlp: self.otlp(),
            metrics: self.metrics(),
        };
        if settings.authoritative && settings.document.is_none() {
            self.refuse("authoritative", "needs a document that is the only source: set `document` too");
        }
        if settings.watch && !settings.authoritative {
            let message = "is for a document that is the only source: set `authoritative` too (without it the document \
                           only fills an empty data folder)";
            self.refuse("watch", message);
        }
        if settings.key_encryption_key_previous.is_some() && settings.key_encryption_key.is_none() {
            self.refuse("key_encryption_key_previous", "needs `key_encryption_key` beside it");
        }
        if self.problems.is_empty() { Ok(settings) } else { Err(SettingsError(self.problems)) }
    }

    fn tls(&mut self) -> Option<TlsFiles> {
        match (self.path("tls.cert"), self.path("tls.key")) {
            (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
            (None, None) => None,
            (Some(_), None) => {
                self.refuse("tls.cert", "needs `tls.key` beside it");
                None
            }
            (None, Some(_)) => {
                self.refuse("tls.key", "needs `tls.cert` beside it");
                None
            }
        }
    }

    fn parse<T: FromStr>(&mut self, member: &'static str, wanted: impl Display) -> Option<T> {
        let (value, _) = self.values.get(member)?;
        let parsed = value.trim().parse().ok();
        if parsed.is_none() {
            let message = format!("is `{value}`, {wanted}");
            self.refuse(member, &message);
        }
        parsed
    }

    fn switch(&mut self, member: &'static str) -> bool {
        self.parse(member, "must be true or false").unwrap_or(false)
    }

    /// A secret is never among the settings itself: they are shown by many tools.
    fn reference(&mut self, member: &'static str) -> Option<String> {
        let (value, _) = self.values.get(member)?;
        let value = value.clone();
        let is_reference =
            ["env:", "file:"].iter().any(|kind| value.strip_prefix(kind).is_some_and(|of| !of.is_empty()));
        if !is_reference {
            self.refuse(member, "must be a reference: `env:NAME` or `file:PATH`");
            return None;
        }
        Some(value)
    }

    fn path(&mut self, member: &'static str) -> Option<PathBuf> {
        let (value, _) = self.values.get(member)?;
        if value.is_empty() {
            self.refuse(member, "is empty, must be a path");
            return None;
        }
        Some(PathBuf::from(value))
    }

    fn number(&mut self, member: &'static str, min: u64, max: u64) -> Option<u64> {
        let wanted = format!("must be a whole number from {min} to {max}");
        let number = self.parse(member, &wanted)?;
        if (min..=max).contains(&number) {
            return Some(number);
        }
        self.refuse(member, &format!("is {number}, {wanted}"));
        None
    }

    /// At most a day.
    fn milliseconds(&mut self, member: &'static str, min: u64) -> Option<Duration> {
        self.number(member, min, 86_400_000).map(Duration::from_millis)
    }

    fn refuse(&mut self, member: &'static str, message: &str) {
        let origin = self.values.get(member).map_or(member, |(_, origin)| origin);
        self.problems.push(format!("{origin}: {message}"));
    }
}
