//! Keys of providers that are out for a while, as nodes tell each other: what one has found out the others need not.

use crate::{
    Gateway,
    state::{KeyHealth, lock},
};
use std::{sync::Arc, time::Duration};

/// Told and taken at most; there are hardly ever more keys.
const COOLDOWNS_MAX: usize = 500;
/// What another node says keeps a key out no longer than this at a time.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// A key that is out until some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cooldown {
    /// The first eight bytes of the key's fingerprint.
    pub key: u64,
    /// Until when, in seconds of unix time.
    pub until: u64,
}

impl Gateway {
    /// The keys that are out now, those that are longest first.
    pub fn cooldowns(&self, now_ms: u64) -> Vec<Cooldown> {
        let mut all = Vec::new();
        self.each_key(|key, health| {
            let out = health.benched().map(|left| (now_ms + left.as_millis() as u64).div_ceil(1_000));
            all.extend(out.map(|until| Cooldown { key, until }));
        });
        all.sort_unstable_by_key(|cooldown| (std::cmp::Reverse(cooldown.until), cooldown.key));
        all.truncate(COOLDOWNS_MAX);
        all
    }

    /// Keeps keys out that another node has found to be. One that is known here to be out for longer stays so.
    pub fn keep_out(&self, cooldowns: &[Cooldown], now_ms: u64) {
        if cooldowns.is_empty() {
            return;
        }
        self.each_key(|key, health| {
            for cooldown in cooldowns.iter().take(COOLDOWNS_MAX).filter(|cooldown| cooldown.key == key) {
                let left = (cooldown.until.saturating_mul(1_000)).saturating_sub(now_ms);
                if left > 0 {
                    health.bench(Duration::from_millis(left).min(LONGEST));
                }
            }
        });
    }

    fn each_key(&self, mut visit: impl FnMut(u64, &Arc<KeyHealth>)) {
        for (_, state) in self.shared().providers() {
            for (fingerprint, health) in lock(&state.keys).iter() {
                if let Some(first) = fingerprint.first_chunk() {
                    visit(u64::from_be_bytes(*first), health);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use trestle_config::Compilation;

    #[test]
    fn what_one_has_found_out_the_others_take() {
        let gateway = || {
            let snapshot = Compilation::new(&crate::HostSecrets).snapshot().clone();
            Gateway::start(snapshot, Options { threads: 1, ..Options::default() }).unwrap()
        };
        let (one, other) = (gateway(), gateway());
        for gateway in [&one, &other] {
            gateway.shared().provider("openai").key(&[7; 32]);
            gateway.shared().provider("openai").key(&[8; 32]);
        }
        let now = 1_796_000_000_000;
        one.shared().provider("openai").key(&[7; 32]).bench(Duration::from_secs(60));
        let told = one.cooldowns(now);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].key, 0x0707_0707_0707_0707);
        assert!((now / 1_000 + 59..=now / 1_000 + 61).contains(&told[0].until), "{told:?}");
        other.keep_out(&told, now);
        assert!(other.shared().provider("openai").key(&[7; 32]).benched().is_some());
        assert!(other.shared().provider("openai").key(&[8; 32]).benched().is_none());
        let far = Cooldown { until: u64::MAX, key: 0x0808_0808_0808_0808 };
        other.keep_out(&[Cooldown { until: now / 1_000 - 1, ..far }], now);
        assert!(other.shared().provider("openai").key(&[8; 32]).benched().is_none(), "that has passed");
        other.keep_out(&[far], now);
        assert!(other.shared().provider("openai").key(&[8; 32]).benched().unwrap() <= LONGEST);
        one.stop();
        other.stop();
    }
}
