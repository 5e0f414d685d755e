//! One node from start to end: load, bind, serve, drain.

use crate::{
    admin::{self, Admin, Health},
    boot, cluster,
    control::{Begin, Control},
    ledger,
    metric::{Push, Recorded, Registry},
    reload::Reload,
    serve::{self, Front, Limits, Tls},
    settings::Settings,
    telemetry::{Collector, Tracer},
};
use anyhow::Context;
use std::{
    net::SocketAddr,
    process,
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::JoinHandle,
};
use trestle_cluster::Cluster;
use trestle_config::Snapshot;
use trestle_counters::Cells;
use trestle_gateway::{Gateway, Options, Tracing};

/// How often a drain looks whether it is done.
const DRAIN_POLL: Duration = Duration::from_millis(20);

/// How long a start waits for credentials that are fetched; those that are late are told to the requests that need them.
const CREDENTIALS_WAIT: Duration = Duration::from_secs(5);

/// How long the request log may take to be written at the end.
const LOG_FLUSH: Duration = Duration::from_secs(5);

/// How long the end waits for another node to lead.
const STEP_DOWN: Duration = Duration::from_secs(5);
/// And for others to have what was counted here.
const HAND_OVER: Duration = Duration::from_secs(2);

/// What is known once the node serves.
#[derive(Debug)]
pub(crate) struct Bound {
    /// How clients on this machine reach it.
    pub(crate) url: String,
    /// How operators on this machine reach it.
    pub(crate) admin_url: String,
    /// Providers beside the mock.
    pub(crate) providers: Vec<String>,
    /// The data folder was empty.
    pub(crate) first: bool,
}

/// Runs a node until it is told to end. `announce` is called once the listeners are bound.
pub(crate) fn run(
    settings: Settings,
    begin: Begin,
    announce: impl FnOnce(&Bound) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    boot::cryptography();
    boot::descriptors(settings.connections_max);
    let runtime = boot::admin_runtime()?;
    let served = runtime.block_on(serve(settings, begin, announce));
    // Does not wait for what blocks: everything that had to be finished is.
    runtime.shutdown_background();
    served
}

async fn serve(
    settings: Settings,
    begin: Begin,
    announce: impl FnOnce(&Bound) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut stop = Stop::install()?;
    let recorded = Recorded::begin()?;
    let collector = Collector::open(&settings)?;
    let tls = settings.tls.clone().map(Tls::load).transpose()?.map(Arc::new);
    let listener = bind(settings.listen, "--listen").await?;
    let admin_listener = match settings.admin_listen {
        Some(address) => Some(bind(address, "--admin-listen").await?),
        None => None,
    };
    let cluster::Joined { cluster: node, opened, cells, answers, gather, copier } =
        cluster::join(&settings, &begin.folder).await?;
    let probed = admin_listener.as_ref().or(tls.is_none().then_some(&listener));
    if !entered(&node, &mut stop, probed).await? {
        tracing::info!("stopped before there was a cluster to serve for");
        return Ok(());
    }
    let (control, first) = begin.take_up(node.consensus().clone()).await?;
    let snapshot = control.snapshot();
    let urls = (url(if tls.is_some() { "https" } else { "http" }, listener.local_addr()?), &admin_listener);
    let bound = bound(urls, &snapshot, first)?;
    let (tracer, tracing) = trace(collector.clone(), &settings);
    let (gateway, keeper) = start(&settings, snapshot, (opened, cells), tracing)?;
    answers.serves(gateway.clone());
    control.drive(gateway.clone());
    gateway.credentials_settled(CREDENTIALS_WAIT).await;
    cluster::share(&node, &gateway).await;
    let reload = Reload::install(control.clone(), tls.clone())?;
    let (drain, draining) = watch::channel(false);
    let health = Health::new(control.clone(), gateway.clone(), draining.clone());
    let place = admin::Place { cluster: node.clone(), folder: settings.data_dir.clone() };
    let registry = Registry {
        recorded,
        gateway: gateway.clone(),
        cluster: node.clone(),
        tls: tls.clone(),
        data_dir: settings.data_dir.clone(),
    };
    let push = push(collector, (&settings, &registry));
    let admin = Admin::new(registry, health.clone(), (control.clone(), gather, place));
    let front = Arc::new(Front {
        gateway: gateway.clone(),
        tls,
        admin: admin_listener.is_none().then(|| admin.clone()),
        health,
        limits: limits(&settings),
        draining,
        open: AtomicUsize::new(0),
    });

    let http = admin_listener.as_ref().and_then(|listener| listener.local_addr().ok());
    tokio::spawn(cluster::tell(node.clone(), gateway.clone(), front.draining.clone(), http));
    tokio::spawn(end_without_gossip(node.clone()));

    announce(&bound)?;
    if let Some(listener) = admin_listener {
        tracing::info!("admin listening on {}", bound.admin_url);
        tokio::spawn(admin::listen(listener, admin));
    }
    tracing::info!("listening on {}", bound.url);
    tokio::spawn(if settings.watch { reload.watching() } else { reload }.run());
    let accepting = tokio::spawn(serve::accept(listener, Arc::clone(&front)));

    let running =
        Running { stop, drain, accepting, front, gateway, keeper, tracer, copier, push, node, control };
    running.until_told(settings.drain).await
}

/// A node that serves.
struct Running {
    stop: Stop,
    drain: watch::Sender<bool>,
    accepting: JoinHandle<()>,
    front: Arc<Front>,
    gateway: Gateway,
    keeper: ledger::Keeper,
    tracer: Option<Tracer>,
    copier: Option<cluster::Copier>,
    push: Option<Push>,
    node: Cluster,
    control: Control,
}

impl Running {
    /// Waits until the node is told to end, lets what runs finish, and gives away what others are to have.
    async fn until_told(mut self, limit: Duration) -> anyhow::Result<()> {
        self.stop.told().await;
        tracing::info!(
            drain_ms = limit.as_millis() as u64,
            "draining: no new connections, what runs may finish"
        );
        self.drain.send_replace(true);
        tokio::spawn(end_at_once(self.stop));
        self.accepting.await?;
        tokio::join!(self.node.step_down(STEP_DOWN), drained(&self.front, limit));
        end(self.gateway, self.keeper).await?;
        // A collector that is away keeps nothing from peers.
        let telling = async {
            if let Some(tracer) = self.tracer {
                tracer.end().await;
            }
            if let Some(push) = self.push {
                push.finish().await;
            }
        };
        let handing = async {
            if let Some(copier) = self.copier {
                copier.flush(HAND_OVER).await;
            }
            self.node.hand_over(HAND_OVER).await;
        };
        tokio::join!(telling, handing);
        self.control.close().await;
        tracing::info!("stopped");
        Ok(())
    }
}

/// What is known once the node serves.
fn bound(
    (url, admin): (String, &Option<TcpListener>),
    snapshot: &Snapshot,
    first: bool,
) -> anyhow::Result<Bound> {
    let admin_url = match admin {
        Some(listener) => self::url("http", listener.local_addr()?),
        None => url.clone(),
    };
    let mut providers: Vec<_> = snapshot.providers.keys().map(ToString::to_string).collect();
    providers.retain(|name| name != "mock");
    providers.sort();
    Ok(Bound { url, admin_url, providers, first })
}

/// Sends metrics to the collector, if there is one.
fn push(collector: Option<Collector>, (settings, registry): (&Settings, &Registry)) -> Option<Push> {
    let (collector, every) = collector.zip(settings.metrics.push_interval)?;
    Some(Push::start(registry.clone(), collector, every))
}

/// Waits until this node is one of its cluster, and answers probes meanwhile; not if it is told to stop before.
async fn entered(node: &Cluster, stop: &mut Stop, probed: Option<&TcpListener>) -> anyhow::Result<bool> {
    let joining = async {
        node.joined().await?;
        node.filled().await
    };
    let probing = async {
        match probed {
            Some(listener) => serve::wait(listener).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        joined = joining => joined.map(|()| true).map_err(Into::into),
        () = probing => Ok(false),
        () = stop.told() => Ok(false),
    }
}

/// After the last request: the log and the ledger are written to their ends.
async fn end(gateway: Gateway, keeper: ledger::Keeper) -> anyhow::Result<()> {
    let stopped = tokio::task::spawn_blocking(move || gateway.stop());
    match tokio::time::timeout(LOG_FLUSH, stopped).await {
        Ok(stopped) => stopped?,
        Err(_) => tracing::warn!("nobody takes the request log from stdout: its last lines are lost"),
    }
    tokio::task::spawn_blocking(move || keeper.stop()).await?;
    Ok(())
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        head: settings.head_timeout,
        idle: settings.idle_timeout,
        connections_max: settings.connections_max,
    }
}

/// Spans go to the collector, where there is one.
fn trace(collector: Option<Collector>, settings: &Settings) -> (Option<Tracer>, Option<Tracing>) {
    collector
        .zip(settings.otlp.as_ref())
        .map(|(collector, otlp)| Tracer::start(collector, &otlp.traces))
        .unzip()
}

/// Starts the gateway, and what tends to its ledger.
fn start(
    settings: &Settings,
    snapshot: Snapshot,
    (opened, cells): (ledger::Opened, Arc<Cells>),
    tracing: Option<Tracing>,
) -> anyhow::Result<(Gateway, ledger::Keeper)> {
    let options = Options {
        threads: settings.threads,
        log: Some(Box::new(std::io::stdout())),
        ledger: Some(opened.ledger.clone()),
        cells,
        key_series_max: settings.metrics.keys_max,
        tracing,
    };
    let gateway = Gateway::start(snapshot, options).context("cannot start the data threads")?;
    let keeper =
        ledger::Keeper::start(opened, gateway.clone()).context("cannot start the ledger's thread")?;
    Ok((gateway, keeper))
}

/// A node that peers do not hear of is of no use to them: another process begins anew.
async fn end_without_gossip(node: Cluster) {
    let why = node.gossip_ended().await;
    tracing::error!("gossip has ended: {why}; ending");
    process::exit(1);
}

/// When a second signal comes.
async fn end_at_once(mut stop: Stop) {
    stop.told().await;
    tracing::warn!("told to stop again: ending at once");
    process::exit(130);
}

/// Waits until no connection is left and no call that goes on without its client, but not longer than the limit.
async fn drained(front: &Front, limit: Duration) {
    let done = async {
        while front.connections() > 0 || front.gateway.in_flight() > 0 {
            tokio::time::sleep(DRAIN_POLL).await;
        }
    };
    if tokio::time::timeout(limit, done).await.is_err() {
        tracing::warn!(
            connections = front.connections(),
            "the time to drain is over: what still runs is cut off"
        );
    }
}

async fn bind(address: SocketAddr, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "{address} is in use: end the process that listens there, or choose another address with {flag} (port 0 \
             takes a free one)"
        ),
        _ => anyhow::anyhow!("cannot listen on {address} ({flag}): {error}"),
    })
}

/// An unspecified address is reached by loopback.
fn url(scheme: &str, mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        match address {
            SocketAddr::V4(_) => address.set_ip(std::net::Ipv4Addr::LOCALHOST.into()),
            SocketAddr::V6(_) => address.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
        }
    }
    format!("{scheme}://{address}")
}

/// SIGTERM and SIGINT.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn install() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn told(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::url;

    #[test]
    fn urls_can_be_reached() {
        for (address, wanted) in [
            ("127.0.0.1:80", "http://127.0.0.1:80"),
            ("0.0.0.0:81", "http://127.0.0.1:81"),
            ("[::]:82", "http://[::1]:82"),
            ("[::1]:83", "http://[::1]:83"),
        ] {
            assert_eq!(url("http", address.parse().unwrap()), wanted);
        }
    }
}
