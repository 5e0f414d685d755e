//! The settings of metrics.

use super::Layers;
use std::time::Duration;

/// More series of keys than that are too many for who stores them.
const KEYS_MAX: u64 = 100_000;
const PUSH_INTERVAL: Duration = Duration::from_secs(15);

/// What is told of this process, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metrics {
    /// How often they are sent to the collector; `None`: never.
    pub(crate) push_interval: Option<Duration>,
    /// So many keys have series of their own.
    pub(crate) keys_max: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { push_interval: Some(PUSH_INTERVAL), keys_max: 0 }
    }
}

impl Layers {
    pub(super) fn metrics(&mut self) -> Metrics {
        let push_interval = match self.milliseconds("metrics.push_interval_ms", 0) {
            None => Metrics::default().push_interval,
            Some(interval) => Some(interval).filter(|interval| !interval.is_zero()),
        };
        let keys_max = self.number("metrics.keys_max", 0, KEYS_MAX).unwrap_or(0) as usize;
        Metrics { push_interval, keys_max }
    }
}
