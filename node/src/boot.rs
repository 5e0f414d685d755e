//! What is set up once, before anything else runs: logs, panics, cryptography, the admin runtime.

use crate::settings::LogFormat;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{backtrace::Backtrace, io::IsTerminal};
use tracing_subscriber::EnvFilter;

/// Threads of the admin runtime: acceptor, signals, reload, admin listener. Requests run elsewhere.
const ADMIN_THREADS: usize = 2;

/// The consensus library tells each step of its engine at the level of our own news, and each call of a peer that is away as
/// an error. What ends it is told by us.
const DEFAULT_FILTER: &str = "info,openraft=off";

/// Logs to stderr. A wrong `TRESTLE_LOG` is said and replaced, it does not end the process.
pub(crate) fn logging(format: LogFormat) {
    let wanted = std::env::var("TRESTLE_LOG").unwrap_or_default();
    let (filter, wrong) = match EnvFilter::try_new(if wanted.is_empty() { DEFAULT_FILTER } else { &wanted }) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(DEFAULT_FILTER), Some(error)),
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let installed = match format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => builder.with_target(false).with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    if let Err(error) = installed {
        eprintln!("warning: no logs: {error}");
    }
    if let Some(error) = wrong {
        tracing::warn!(%error, "TRESTLE_LOG is not a filter; `{DEFAULT_FILTER}` is used");
    }
    std::panic::set_hook(Box::new(report_panic));
}

/// Only literal messages are logged: a formatted one may hold what a client or a provider sent.
fn report_panic(info: &std::panic::PanicHookInfo<'_>) {
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    let message = info.payload().downcast_ref::<&'static str>().copied().unwrap_or("(formatted, not shown)");
    let thread = std::thread::current();
    let backtrace = Backtrace::capture();
    tracing::error!(
        location,
        message,
        thread = thread.name().unwrap_or_default(),
        backtrace =
            (backtrace.status() == std::backtrace::BacktraceStatus::Captured).then(|| backtrace.to_string()),
        "panic"
    );
}

/// The one cryptographic backend.
pub(crate) fn cryptography() {
    // Fails only if one is installed already, and there is only one in this binary.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Takes as many file descriptors as the system grants: the soft limit is often 1024, for programs that use `select`.
pub(crate) fn descriptors(connections_max: usize) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    let result = setrlimit(Resource::Nofile, raised);
    let granted = if result.is_ok() { limit.maximum } else { limit.current };
    if granted.is_some_and(|granted| granted < connections_max as u64) {
        tracing::warn!(
            granted,
            connections_max,
            "the system grants fewer file descriptors than connections_max: raise the limit (ulimit -n, LimitNOFILE)"
        );
    }
}

/// The runtime beside the data threads.
pub(crate) fn admin_runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(ADMIN_THREADS)
        .thread_name("admin")
        .enable_all()
        .build()
}
