//! How often nodes tell each other, and how long they wait.

use std::time::Duration;

/// How often nodes tell each other, and how long they wait.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeSettings {
    /// Changes are sent so often.
    pub every: Duration,
    /// A peer that there is nothing to tell hears that this node is there so often.
    pub heartbeat: Duration,
    /// What this node knows is compared with what one other knows so often.
    pub repair_every: Duration,
    /// A member that was not heard for so long is out of reach. More than a heartbeat.
    pub unreachable_after: Duration,
    /// Which peer is compared with, and how long this node waits before it connects again, differ by it between nodes.
    pub seed: u64,
}

impl Default for ExchangeSettings {
    fn default() -> Self {
        Self {
            every: Duration::from_millis(100),
            heartbeat: Duration::from_secs(1),
            repair_every: Duration::from_secs(10),
            unreachable_after: Duration::from_secs(2),
            seed: 0,
        }
    }
}
