//! Limits as requests read them: who is bound, what is counted, over which time, and what happens at the end of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use trestle_counters::{LimitId, Window, WindowId};

/// Begins what a [`LimitId`] is hashed of. Never changes: usage is kept by these ids.
const TAG: &[u8] = b"trestle limit 1";

/// The limits of one owner, or of several in the order of charging; empty mostly, which costs nothing.
pub type Limits = Arc<[Arc<Limit>]>;

/// What kind of thing has limits. The order is that of charging; the numbers enter hashes, so they never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum OwnerKind {
    /// A customer.
    Customer = 1,
    /// A team.
    Team = 2,
    /// A user.
    User = 3,
    /// A key of a client.
    Key = 4,
    /// A key of a client at one provider.
    KeyProvider = 5,
    /// A name that clients ask for.
    Model = 6,
    /// A vendor account.
    Provider = 7,
}

/// Who is bound by a limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// What it is.
    pub kind: OwnerKind,
    /// Its name in the document; `KEY@PROVIDER` for a key at a provider.
    pub name: Box<str>,
}

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Requests.
    Requests,
    /// Tokens that are sent.
    InputTokens,
    /// Tokens that are answered.
    OutputTokens,
    /// Both.
    Tokens,
    /// Calls that run at once.
    Concurrent,
    /// Money, in thousand millionths of a US dollar.
    NanoUsd,
}

/// How hard a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Never passed: the most that a call may cost is held for it before it begins.
    Strict,
    /// May be passed by what runs already.
    Soft,
}

/// What becomes of a call that what is left is not enough for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnShort {
    /// It is refused.
    Refuse,
    /// Its answer is cut to what is left.
    Clamp,
}

/// What a node does with a soft limit while it is cut off from others of its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnPartition {
    /// It uses an equal part of what was left, so that all nodes together stay within the limit.
    Share,
    /// It goes on by what it sees: each part of the cluster may use all that was left.
    Optimistic,
}

/// What becomes of calls once nothing is left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtLimit {
    /// They are refused.
    #[default]
    Refuse,
    /// They go to another name in `models`, or `provider/model`, which should be cheaper.
    Downgrade(Box<str>),
}

/// Another amount for some windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Override {
    /// The first window.
    pub from: WindowId,
    /// The first window behind the last.
    pub until: WindowId,
    /// What may be used in each of them.
    pub amount: u64,
}

/// A bound on what its owner may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// By what usage is kept: the same as long as owner and name are.
    pub id: LimitId,
    /// Who is bound.
    pub owner: Owner,
    /// Its name; one of each among those of an owner.
    pub name: Box<str>,
    /// What is counted.
    pub measure: Measure,
    /// How much may be used: requests, tokens, calls, or nano-USD. Nothing at all where it is 0.
    pub amount: u64,
    /// Over which time.
    pub window: Window,
    /// How hard it is.
    pub mode: Mode,
    /// What becomes of a call that what is left is not enough for.
    pub on_short: OnShort,
    /// What a node does while it is cut off from others. Strict limits have a rule of their own.
    pub on_partition: OnPartition,
    /// What becomes of calls once nothing is left.
    pub at_limit: AtLimit,
    /// Percents of the amount at which a warning is due, ascending, each once.
    pub warn_at: Box<[u8]>,
    /// Other amounts for some windows; no window is in two of them.
    pub overrides: Box<[Override]>,
}

impl Limit {
    /// How much may be used in a window (of a window that rolls: in the view that ends with that part).
    pub fn amount_at(&self, window: WindowId) -> u64 {
        let holds = |other: &&Override| (other.from..other.until).contains(&window);
        self.overrides.iter().find(holds).map_or(self.amount, |other| other.amount)
    }
}

impl Owner {
    /// A key at one of the providers.
    pub fn key_at(key: &str, provider: &str) -> Self {
        Self { kind: OwnerKind::KeyProvider, name: format!("{key}@{provider}").into() }
    }

    /// The id of its limit of a name: the first eight bytes (big-endian) of the SHA-256 over a tag, the number of the kind,
    /// and both names with their lengths ahead. The same for ever, so that no edit of a limit resets its usage.
    pub fn limit_id(&self, limit: &str) -> LimitId {
        let mut hasher = Sha256::new_with_prefix(TAG);
        hasher.update([self.kind as u8]);
        for name in [&*self.name, limit] {
            hasher.update((name.len() as u64).to_be_bytes());
            hasher.update(name);
        }
        let hash: [u8; 32] = hasher.finalize().into();
        LimitId(hash.iter().take(8).fold(0, |id, byte| (id << 8) | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(overrides: &[(u64, u64, u64)]) -> Limit {
        let owner = Owner { kind: OwnerKind::Team, name: "a".into() };
        let made =
            |&(from, until, amount): &_| Override { from: WindowId(from), until: WindowId(until), amount };
        Limit {
            id: owner.limit_id("requests/1m"),
            owner,
            name: "requests/1m".into(),
            measure: Measure::Requests,
            amount: 10,
            window: Window::rolling(60_000, 12).unwrap(),
            mode: Mode::Soft,
            on_short: OnShort::Refuse,
            on_partition: OnPartition::Share,
            at_limit: AtLimit::Refuse,
            warn_at: [].into(),
            overrides: overrides.iter().map(made).collect(),
        }
    }

    /// What is counted is kept under these numbers, made by another program: a change of one resets that limit's usage.
    #[test]
    fn ids_are_the_same_for_ever() {
        use OwnerKind::{Customer, Key, KeyProvider, Model, Provider, Team, User};
        let golden = [
            (Customer, "acme", "usd/month", 0x70ea_c94d_2041_dcc9),
            (Team, "acme", "usd/month", 0xb8b0_69bd_db2d_3cff),
            (User, "acme", "usd/month", 0x83dd_81f7_437b_f908),
            (Key, "acme", "usd/month", 0x7414_27cf_7491_0ebb),
            (KeyProvider, "acme@openai", "usd/month", 0xf364_01d7_7011_27e3),
            (Model, "acme", "usd/month", 0xb5a9_432e_130e_c8a4),
            (Provider, "acme", "usd/month", 0x509f_a26e_c977_bf10),
            (Key, "", "", 0x7979_bb30_1061_2e09),
            (Key, "a", "bc", 0x0931_f3e9_7bb1_0976),
            (Key, "ab", "c", 0xf2e8_4994_f3c4_32b2),
        ];
        let made = golden.map(|(kind, name, limit, _)| {
            (kind, name, limit, Owner { kind, name: name.into() }.limit_id(limit).0)
        });
        assert_eq!(made, golden, "{made:x?}");
        assert_eq!(Owner::key_at("acme", "openai").limit_id("usd/month").0, golden[4].3);
    }

    #[test]
    fn an_override_holds_for_its_windows_alone() {
        let limit = limit(&[(5, 7, 99), (7, 8, 0)]);
        let amounts: Vec<_> = (4..9).map(|id| limit.amount_at(WindowId(id))).collect();
        assert_eq!(amounts, [10, 99, 99, 0, 10]);
    }
}
