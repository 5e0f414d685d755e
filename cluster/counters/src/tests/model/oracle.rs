//! What a node must do, said as plainly as it can be: sums over all that was settled and all that is held.

use crate::{CounterId, LimitId, Settlement, Window, WindowId};
use std::collections::BTreeMap;

/// A permit of the model.
pub(super) type Key = usize;
/// A counter, how much of it, and its limit's amount.
pub(super) type Asked = (CounterId, u64, u64);

#[derive(Debug, Default)]
pub(super) struct Oracle {
    /// All that was settled, by window.
    spent: BTreeMap<(CounterId, WindowId), u64>,
    permits: BTreeMap<Key, Of>,
    next: Key,
    /// The newest window of each counter, which never goes back while the process lives.
    newest: BTreeMap<CounterId, WindowId>,
    swept_ms: u64,
}

/// What a permit holds, in the order in which it was charged.
#[derive(Debug, Clone)]
struct Of {
    until_ms: u64,
    ended: bool,
    holds: Vec<Settlement>,
}

impl Oracle {
    pub(super) fn open(&mut self, id: CounterId, now_ms: u64) {
        self.newest.entry(id).or_insert_with(|| id.window.id_at(now_ms.max(self.swept_ms)));
    }

    pub(super) fn begin(&mut self, until_ms: u64) -> Key {
        self.next += 1;
        self.permits.insert(self.next, Of { until_ms, ended: false, holds: Vec::new() });
        self.next
    }

    /// All or none; or which of them is refused, and what it had left.
    pub(super) fn take(&mut self, key: Key, asked: &[Asked], now_ms: u64) -> Result<(), (usize, u64)> {
        let before = self.permits[&key].holds.clone();
        for (at, (id, amount, limit)) in asked.iter().enumerate() {
            let held = self.permits[&key].holds.iter().position(|hold| hold.counter == *id);
            let used = match (held, id.window) {
                (Some(held), Window::Calendar(_)) => {
                    self.in_window(*id, self.permits[&key].holds[held].window_id)
                }
                _ => {
                    let newest = self.newest.get_mut(id).unwrap();
                    *newest = id.window.id_at(now_ms).max(*newest);
                    let newest = *newest;
                    self.in_view(*id, newest)
                }
            };
            if used + amount > *limit {
                self.permits.get_mut(&key).unwrap().holds = before;
                return Err((at, limit.saturating_sub(used)));
            }
            let window_id = self.newest[id];
            let holds = &mut self.permits.get_mut(&key).unwrap().holds;
            match held {
                Some(held) => holds[held].amount += amount,
                None => holds.push(Settlement { counter: *id, window_id, amount: *amount }),
            }
        }
        Ok(())
    }

    pub(super) fn shrink(&mut self, key: Key, limit: LimitId, amount: u64) {
        let holds = &mut self.permits.get_mut(&key).unwrap().holds;
        for hold in holds.iter_mut().filter(|hold| hold.counter.limit == limit) {
            hold.amount = hold.amount.min(amount);
        }
    }

    pub(super) fn settle(&mut self, key: Key, line: &[Settlement]) {
        self.permits.remove(&key).unwrap();
        for settlement in line.iter().filter(|settlement| settlement.counter.window != Window::Standing) {
            *self.spent.entry((settlement.counter, settlement.window_id)).or_default() += settlement.amount;
        }
    }

    /// What closes a call that never ended: what it holds, or held when its lease ended.
    pub(super) fn estimate(&self, key: Key) -> Vec<Settlement> {
        self.permits[&key].holds.clone()
    }

    pub(super) fn forget(&mut self, key: Key) {
        self.permits.remove(&key);
    }

    /// Ends leases and says how many.
    pub(super) fn sweep(&mut self, now_ms: u64) -> usize {
        let mut ending: Vec<_> =
            self.permits.values_mut().filter(|of| !of.ended && of.until_ms <= now_ms).collect();
        ending.iter_mut().for_each(|of| of.ended = true);
        ending.len()
    }

    pub(super) fn has_ended(&self, key: Key) -> bool {
        self.permits[&key].ended
    }

    pub(super) fn open_permits(&self) -> usize {
        self.permits.values().filter(|of| !of.ended).count()
    }

    pub(super) fn expire(&mut self, now_ms: u64) {
        self.swept_ms = self.swept_ms.max(now_ms);
        self.newest.retain(|id, newest| !id.window.is_expired(*newest, self.swept_ms));
    }

    pub(super) fn restart(&mut self) {
        assert!(self.permits.is_empty());
        self.newest.clear();
        self.swept_ms = 0;
    }

    /// Spent, held, the newest window.
    pub(super) fn view(&self, id: CounterId, now_ms: u64) -> (u64, u64, WindowId) {
        let newest = id.window.id_at(now_ms).max(self.newest[&id]);
        let held = self.held(id, newest);
        (self.in_view(id, newest) - held, held, newest)
    }

    fn in_view(&self, id: CounterId, newest: WindowId) -> u64 {
        let spent = self.spent.range((id, id.window.oldest_in_view(newest))..=(id, newest));
        spent.map(|(_, amount)| amount).sum::<u64>() + self.held(id, newest)
    }

    fn held(&self, id: CounterId, newest: WindowId) -> u64 {
        let in_view = id.window.oldest_in_view(newest)..=newest;
        let open = self.permits.values().filter(|of| !of.ended).flat_map(|of| &of.holds);
        open.filter(|hold| hold.counter == id && in_view.contains(&hold.window_id))
            .map(|hold| hold.amount)
            .sum()
    }

    fn in_window(&self, id: CounterId, window_id: WindowId) -> u64 {
        let open = self.permits.values().filter(|of| !of.ended).flat_map(|of| &of.holds);
        let held =
            open.filter(|hold| hold.counter == id && hold.window_id == window_id).map(|hold| hold.amount);
        self.spent.get(&(id, window_id)).copied().unwrap_or_default() + held.sum::<u64>()
    }
}
