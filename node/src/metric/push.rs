//! Sends all metrics to a collector, again and again, and a last time at the end.

use super::{
    otlp::{self, Span},
    registry::Registry,
};
use crate::telemetry::{Collector, Export};
use std::time::{Duration, SystemTime};
use tokio::{
    sync::oneshot,
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};

/// For all messages of one round; after that the next ones say more.
const ROUND_MAX: Duration = Duration::from_secs(30);
/// For the last round.
const LAST_MAX: Duration = Duration::from_secs(5);

/// The task that sends.
pub(crate) struct Push {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

struct Pushing {
    registry: Registry,
    collector: Collector,
}

impl Push {
    /// Begins to send.
    pub(crate) fn start(registry: Registry, collector: Collector, every: Duration) -> Self {
        let (stop, stopped) = oneshot::channel();
        let pushing = Pushing { registry, collector };
        Self { stop, task: tokio::spawn(pushing.run(every, stopped)) }
    }

    /// Sends a last time and ends.
    pub(crate) async fn finish(self) {
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

impl Pushing {
    async fn run(self, every: Duration, mut stopped: oneshot::Receiver<()>) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first comes at once, when there is nothing to tell.
        ticks.tick().await;
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = &mut stopped => break,
            }
            // A collector that hangs does not hold up the end.
            tokio::select! {
                _ = timeout(ROUND_MAX, self.send()) => {}
                _ = &mut stopped => break,
            }
        }
        if timeout(LAST_MAX, self.send()).await.is_err() {
            tracing::warn!("the collector does not take the last metrics: they are lost");
        }
    }

    async fn send(&self) {
        let families = self.registry.families().await;
        let span = Span { from: self.registry.started(), to: SystemTime::now() };
        for message in otlp::messages(&families, &self.collector.resource(), span) {
            if self.collector.export(Export::Metrics(message)).await.is_none() {
                return;
            }
        }
    }
}
