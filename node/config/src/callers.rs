//! Who may ask: by the hash of their key for requests, by name for changes. In shards that snapshots share, so that a
//! change of one caller copies one shard of each table and not 100,000 entries.

use crate::{Access, Limit, Limits, Membership, pattern};
use std::{
    borrow::Borrow,
    collections::{HashMap, HashSet},
    fmt,
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::SystemTime,
};

/// Of 100,000 callers a shard holds 400.
const SHARDS: usize = 256;

type ByHash = HashMap<[u8; 32], Arc<Caller>, BuildHasherDefault<FirstBytes>>;
type ByName = HashSet<Named>;

/// Who asks.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The key's name in the document.
    pub name: Box<str>,
    /// The SHA-256 of the key.
    pub hash: [u8; 32],
    /// The SHA-256 of the key before it, while that is still taken.
    pub previous: Option<[u8; 32]>,
    /// What it may use.
    pub grants: Grants,
    /// Refused while true.
    pub disabled: bool,
    /// What a target cannot be told is refused.
    pub strict: bool,
    /// It may ask why its requests went as they did.
    pub trace: bool,
    /// Refused from then on.
    pub expires_at: Option<SystemTime>,
    /// The customer that it belongs to, by itself or through its team.
    pub customer: Option<Arc<str>>,
    /// The team that it belongs to, by itself or through its user.
    pub team: Option<Arc<str>>,
    /// The user whose key it is.
    pub user: Option<Arc<str>>,
    /// Its own, its user's, its team's and its customer's.
    pub tags: Arc<[Box<str>]>,
    /// Limits of its customer, team and user, and its own: in that order, which is that of charging.
    pub limits: Limits,
    /// Its limits at single providers, by the name of the provider.
    pub provider_limits: Arc<[(Box<str>, Limits)]>,
    /// From where and to where it may ask, and with which headers.
    pub access: Access,
    /// What it says of whom it belongs to, where it belongs to someone.
    pub membership: Option<Arc<Membership>>,
}

impl Caller {
    /// Its limits at a provider.
    pub fn limits_at(&self, provider: &str) -> &[Arc<Limit>] {
        let found = self.provider_limits.iter().find(|(name, _)| **name == *provider);
        found.map_or(&[], |(_, limits)| limits)
    }
}

/// What a caller may use.
#[derive(Debug, Default, Clone)]
pub struct Grants {
    /// Everything.
    pub all: bool,
    /// Names of groups, and patterns of targets (`*` stands for any run of characters). No text is both: there is no group
    /// with a star in its name, nor one below the name of a provider.
    pub items: Box<[Box<str>]>,
}

impl Grants {
    /// Whether a target may be used; `group` is the group through which it was reached.
    pub fn allow(&self, group: Option<&str>, target: &str) -> bool {
        self.all
            || self
                .items
                .iter()
                .any(|item| group.is_some_and(|group| **item == *group) || pattern::matches(item, target))
    }

    /// Whether any target of a provider may be used, whatever its model: by an item such as `provider/*`.
    pub fn allow_all_of(&self, provider: &str) -> bool {
        // What is before the last star must fit a beginning of all its targets.
        let start = format!("{provider}/");
        let fits = |head: &str| {
            (0..=start.len()).any(|end| start.get(..end).is_some_and(|start| pattern::matches(head, start)))
        };
        self.all || self.items.iter().any(|item| item.strip_suffix('*').is_some_and(fits))
    }
}

/// All callers. A clone shares what it does not change.
#[derive(Clone)]
pub struct Callers {
    by_hash: Box<[Arc<ByHash>]>,
    by_name: Box<[Arc<ByName>]>,
}

impl Default for Callers {
    fn default() -> Self {
        let (by_hash, by_name) = (Arc::default(), Arc::default());
        Self { by_hash: vec![by_hash; SHARDS].into(), by_name: vec![by_name; SHARDS].into() }
    }
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Callers {
    /// The caller with a key of this SHA-256.
    pub fn get(&self, hash: &[u8; 32]) -> Option<&Arc<Caller>> {
        self.by_hash[shard_of_hash(hash)].get(hash)
    }

    /// The caller of this name.
    pub fn named(&self, name: &str) -> Option<&Arc<Caller>> {
        self.by_name[shard_of_name(name)].get(name).map(|Named(caller)| caller)
    }

    /// All, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Caller>> {
        self.by_name.iter().flat_map(|shard| shard.iter().map(|Named(caller)| caller))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.iter().map(|shard| shard.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.iter().all(|shard| shard.is_empty())
    }

    /// Adds a caller of a name that is free, or refuses with the one that has the same key.
    pub(crate) fn insert(&mut self, caller: &Arc<Caller>) -> Result<(), Arc<Caller>> {
        let taken = self.get(&caller.hash).filter(|other| other.hash == caller.hash);
        if let Some(other) = taken {
            return Err(Arc::clone(other));
        }
        Arc::make_mut(&mut self.by_hash[shard_of_hash(&caller.hash)]).insert(caller.hash, Arc::clone(caller));
        Arc::make_mut(&mut self.by_name[shard_of_name(&caller.name)]).insert(Named(Arc::clone(caller)));
        Ok(())
    }

    /// Lets a caller be known by its former key, too. A key in use wins over one of before.
    pub(crate) fn insert_previous(&mut self, hash: [u8; 32], former: Caller) {
        Arc::make_mut(&mut self.by_hash[shard_of_hash(&hash)])
            .entry(hash)
            .or_insert_with(|| Arc::new(former));
    }

    /// Puts a caller in the place of the one of the same name and keys.
    pub(crate) fn replace(&mut self, caller: &Arc<Caller>) {
        Arc::make_mut(&mut self.by_name[shard_of_name(&caller.name)]).replace(Named(Arc::clone(caller)));
        Arc::make_mut(&mut self.by_hash[shard_of_hash(&caller.hash)]).insert(caller.hash, Arc::clone(caller));
        let Some(previous) = caller.previous else { return };
        let shard = Arc::make_mut(&mut self.by_hash[shard_of_hash(&previous)]);
        // Its former key may be one that another has now.
        if let Some(former) = shard.get_mut(&previous).filter(|former| former.name == caller.name) {
            *former = Arc::new(Caller { expires_at: former.expires_at, ..Caller::clone(caller) });
        }
    }

    /// Removes the caller of a name.
    pub(crate) fn remove(&mut self, name: &str) {
        let Some(Named(caller)) = Arc::make_mut(&mut self.by_name[shard_of_name(name)]).take(name) else {
            return;
        };
        for hash in [Some(caller.hash), caller.previous].into_iter().flatten() {
            let shard = Arc::make_mut(&mut self.by_hash[shard_of_hash(&hash)]);
            if shard.get(&hash).is_some_and(|found| *found.name == *name) {
                shard.remove(&hash);
            }
        }
    }
}

/// By the last byte: the tables use the first ones.
fn shard_of_hash(hash: &[u8; 32]) -> usize {
    usize::from(hash[31])
}

fn shard_of_name(name: &str) -> usize {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish() as usize % SHARDS
}

/// A caller, found by its name.
#[derive(Clone)]
struct Named(Arc<Caller>);

impl Borrow<str> for Named {
    fn borrow(&self) -> &str {
        &self.0.name
    }
}

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // As `str` does it, for `borrow`.
        (*self.0.name).hash(state);
    }
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Named {}

/// The key of the table is a good hash already: its first eight bytes serve.
#[derive(Debug, Default, Clone, Copy)]
pub struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str, hash: u8, previous: Option<u8>) -> Arc<Caller> {
        Arc::new(Caller {
            name: name.into(),
            hash: [hash; 32],
            previous: previous.map(|byte| [byte; 32]),
            ..Caller::default()
        })
    }

    fn name_of(callers: &Callers, hash: u8) -> Option<&str> {
        callers.get(&[hash; 32]).map(|caller| &*caller.name)
    }

    #[test]
    fn a_change_leaves_other_clones_as_they_are() {
        let mut callers = Callers::default();
        for (name, hash) in [("a", 1), ("b", 2)] {
            callers.insert(&caller(name, hash, None)).unwrap();
        }
        let before = callers.clone();
        callers.remove("a");
        callers.insert(&caller("c", 1, None)).unwrap();
        assert_eq!((name_of(&before, 1), name_of(&callers, 1)), (Some("a"), Some("c")));
        assert_eq!((before.len(), callers.len()), (2, 2));
        assert!(before.named("c").is_none() && callers.named("a").is_none() && callers.named("b").is_some());
        let other = callers.insert(&caller("d", 2, None)).unwrap_err();
        assert_eq!(&*other.name, "b");
    }

    #[test]
    fn all_of_a_provider_is_more_than_some_of_it() {
        let check = |item: &str, expected: bool| {
            let grants = Grants { all: false, items: [item.into()].into() };
            assert_eq!(grants.allow_all_of("openai"), expected, "{item}");
        };
        for item in ["openai/*", "*/*", "open*", "*", "openai*", "o*i/*", "openai/**"] {
            check(item, true);
        }
        for item in
            ["openai/gpt-*", "openai/*-mini", "openai", "openai/", "anthropic/*", "openai2/*", "*/gpt*", ""]
        {
            check(item, false);
        }
        assert!(Grants { all: true, items: [].into() }.allow_all_of("openai"));
        assert!(!Grants::default().allow_all_of("openai"));
    }

    #[test]
    fn former_keys_come_and_go_with_their_caller() {
        let mut callers = Callers::default();
        let rotated = caller("a", 1, Some(9));
        callers.insert(&rotated).unwrap();
        callers.insert_previous([9; 32], Caller::clone(&rotated));
        assert_eq!(name_of(&callers, 9), Some("a"));
        // A key in use wins, whichever came first, and stays when the other goes.
        callers.insert(&caller("b", 9, None)).unwrap();
        assert_eq!(name_of(&callers, 9), Some("b"));
        callers.remove("a");
        assert_eq!((name_of(&callers, 1), name_of(&callers, 9)), (None, Some("b")));
        callers.remove("b");
        assert!(callers.is_empty());
    }
}
