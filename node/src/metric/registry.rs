//! All families of a node, from wherever they come.

use super::{host, process, read};
use crate::serve::Tls;
use metrics_exporter_prometheus::PrometheusHandle;
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};
use trestle_cluster::Cluster;
use trestle_gateway::{Family, Gateway};

/// Values of histograms are kept as they come until they are put into buckets.
const UPKEEP: Duration = Duration::from_secs(5);

/// What the process has recorded so far. A clone is the same.
#[derive(Clone)]
pub(crate) struct Recorded {
    handle: PrometheusHandle,
    started: SystemTime,
}

impl Recorded {
    /// Begins to record, once in a process. To be called inside of a Tokio runtime.
    pub(crate) fn begin() -> anyhow::Result<Self> {
        let recorded = Self { handle: process::install()?, started: SystemTime::now() };
        let handle = recorded.handle.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(UPKEEP).await;
                handle.run_upkeep();
            }
        });
        Ok(recorded)
    }
}

/// All metrics of a node. A clone is the same.
#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) recorded: Recorded,
    pub(crate) gateway: Gateway,
    pub(crate) cluster: Cluster,
    /// Towards clients.
    pub(crate) tls: Option<Arc<Tls>>,
    pub(crate) data_dir: PathBuf,
}

impl Registry {
    /// Since when counters count.
    pub(crate) fn started(&self) -> SystemTime {
        self.recorded.started
    }

    /// All families as they are now, each once.
    pub(crate) async fn families(&self) -> Vec<Family> {
        let registry = self.clone();
        // It reads files, and looks at all limits.
        let gathered = tokio::task::spawn_blocking(move || registry.gather()).await;
        gathered.unwrap_or_else(|error| {
            tracing::error!(%error, "metrics cannot be gathered");
            Vec::new()
        })
    }

    fn gather(&self) -> Vec<Family> {
        let recorded = read::families(&self.recorded.handle.render());
        let mut families = recorded.unwrap_or_else(|error| {
            tracing::error!(%error, "metrics of the process are left out");
            Vec::new()
        });
        families.extend(host::families(self.recorded.started, &self.data_dir));
        families.extend(self.certificates());
        families.extend(self.gateway.families());
        families
    }

    /// None where there are no certificates.
    fn certificates(&self) -> Option<Family> {
        let help = "Time until a certificate of this node ends; below 0 it has ended.";
        let mut family = Family::gauge("trestle_certificate_expires_seconds", help);
        let now = SystemTime::now();
        let ends = [
            ("clients", self.tls.as_ref().and_then(|tls| tls.ends_at())),
            ("mesh", self.cluster.certificate_ends_at()),
        ];
        for (certificate, end) in ends {
            let Some(end) = end else { continue };
            let left = match end.duration_since(now) {
                Ok(left) => left.as_secs_f64(),
                Err(over) => -over.duration().as_secs_f64(),
            };
            family.add(&[("certificate", certificate)], left.round());
        }
        Some(family).filter(|family| !family.samples.is_empty())
    }
}
