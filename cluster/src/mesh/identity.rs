//! Who a process is, to others: its node and, once it belongs to one, its cluster.

use std::{
    fmt, io,
    str::FromStr,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// A node's number: random, made once and kept in its folder.
pub type NodeId = u64;

/// A cluster's number: random, made by its founder. Shown as 32 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClusterId(pub u128);

impl fmt::Display for ClusterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// A text that is not a cluster's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a cluster's number is 32 hex digits")]
pub struct NotAClusterId;

impl FromStr for ClusterId {
    type Err = NotAClusterId;

    fn from_str(text: &str) -> Result<Self, NotAClusterId> {
        // The parser of numbers would also take a sign.
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotAClusterId);
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| NotAClusterId)
    }
}

/// Why a node did not become one of a cluster.
#[derive(Debug, thiserror::Error)]
pub enum NotThisCluster {
    /// It belongs to another one, for ever.
    #[error("this node belongs to cluster {own}, not to {asked}")]
    Another {
        /// Its own.
        own: ClusterId,
        /// The one that was asked for.
        asked: ClusterId,
    },
    /// It could not be written down, so it did not happen.
    #[error("the cluster's number could not be kept: {0}")]
    NotKept(#[source] io::Error),
}

type Keep = Box<dyn Fn(ClusterId) -> io::Result<()> + Send + Sync>;

/// Who this process is, to others. A clone is the same.
#[derive(Clone)]
pub struct Identity {
    shared: Arc<Shared>,
}

struct Shared {
    node: NodeId,
    cluster: OnceLock<ClusterId>,
    /// Held while a cluster is joined: two that ask at once do not both win.
    keep: Mutex<Option<Keep>>,
}

impl Identity {
    /// A node, and the cluster that it belongs to if it already does.
    pub fn new(node: NodeId, cluster: Option<ClusterId>) -> Self {
        let cluster = cluster.map_or_else(OnceLock::new, OnceLock::from);
        Self { shared: Arc::new(Shared { node, cluster, keep: Mutex::new(None) }) }
    }

    /// The node's number.
    pub fn node(&self) -> NodeId {
        self.shared.node
    }

    /// Its cluster: none until it founds or joins one, then the same for ever. One atomic load.
    pub fn cluster(&self) -> Option<ClusterId> {
        self.shared.cluster.get().copied()
    }

    /// What writes a cluster's number to the disk before anybody sees it. Until this was called nothing is written.
    pub fn on_join(&self, keep: impl Fn(ClusterId) -> io::Result<()> + Send + Sync + 'static) {
        *self.shared.keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(keep));
    }

    /// A node without a cluster becomes one of this. The same again is fine. Waits for the disk, so not for an async thread.
    ///
    /// # Errors
    ///
    /// It belongs to another one already, or the number could not be kept.
    pub fn join(&self, cluster: ClusterId) -> Result<(), NotThisCluster> {
        let keep = self.shared.keep.lock().unwrap_or_else(PoisonError::into_inner);
        match self.cluster() {
            Some(own) if own == cluster => return Ok(()),
            Some(own) => return Err(NotThisCluster::Another { own, asked: cluster }),
            None => {}
        }
        if let Some(keep) = keep.as_ref() {
            keep(cluster).map_err(NotThisCluster::NotKept)?;
        }
        // Nobody else sets it while the lock is held.
        let _ = self.shared.cluster.set(cluster);
        Ok(())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Identity")
            .field("node", &self.node())
            .field("cluster", &self.cluster())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_cluster_is_32_hex_digits() -> anyhow::Result<()> {
        let cluster = ClusterId(0xab);
        assert_eq!(cluster.to_string(), "000000000000000000000000000000ab");
        assert_eq!(cluster.to_string().parse::<ClusterId>()?, cluster);
        for text in ["", "ab", "+00000000000000000000000000000ab", "000000000000000000000000000000abc"] {
            assert_eq!(text.parse::<ClusterId>(), Err(NotAClusterId), "{text}");
        }
        Ok(())
    }

    #[test]
    fn a_node_joins_one_cluster_and_keeps_it_first() -> anyhow::Result<()> {
        let identity = Identity::new(7, None);
        let kept = Arc::new(AtomicUsize::new(0));
        let (counted, seen) = (kept.clone(), identity.clone());
        identity.on_join(move |_| {
            assert_eq!(seen.cluster(), None, "nobody sees it before it is kept");
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        identity.join(ClusterId(1))?;
        identity.join(ClusterId(1))?;
        assert_eq!((identity.cluster(), kept.load(Ordering::SeqCst)), (Some(ClusterId(1)), 1));
        let other = identity.clone().join(ClusterId(2));
        assert!(matches!(other, Err(NotThisCluster::Another { own: ClusterId(1), asked: ClusterId(2) })));
        Ok(())
    }

    #[test]
    fn what_cannot_be_kept_is_not_joined() {
        let identity = Identity::new(7, None);
        identity.on_join(|_| Err(io::Error::other("full")));
        assert!(matches!(identity.join(ClusterId(1)), Err(NotThisCluster::NotKept(_))));
        assert_eq!(identity.cluster(), None);
    }
}
