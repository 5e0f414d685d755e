//! What entities were: against a model, with few revisions kept.

use super::{DEADLINE, change, open, write};
use crate::consensus::{
    ChainError, Change, Changed, Consensus, Entity, Prepared, Record, Revision, Step, Write, chain,
    record::{self, entity_key},
    start::Pace,
};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, path::Path};
use tempfile::TempDir;
use trestle_proto::log;

const KEPT: u64 = 4;

type State = BTreeMap<(String, String), Entity>;

/// What the consensus should hold: every state that there ever was.
struct Model {
    consensus: Consensus,
    states: Vec<State>,
}

async fn open_keeping(folder: &Path) -> Consensus {
    let pace = Pace { revisions_kept: KEPT, ..Pace::default() };
    Prepared::open(folder).await.unwrap().at_pace(pace).up_to(2).alone().await.unwrap().consensus
}

impl Model {
    async fn new(folder: &Path) -> Self {
        Self { consensus: open_keeping(folder).await, states: vec![State::new()] }
    }

    async fn propose(&mut self, writes: Vec<Write>) {
        let revision = self.states.len() as u64;
        let mut state = self.states.last().unwrap().clone();
        for Write { kind, id, introduced, value } in writes.clone() {
            let name = (kind.clone(), id.clone());
            match value {
                Some(value) => state.insert(name, Entity { kind, id, revision, introduced, value }),
                None => state.remove(&name),
            };
        }
        self.states.push(state);
        let change = Change { expected_revision: Some(revision - 1), writes, origin: vec![7] };
        assert_eq!(self.consensus.propose(change, DEADLINE).await.unwrap(), revision);
    }

    /// All that can be asked, except what a revision that is partly gone would say.
    fn check(&self, first: u64) {
        let last = self.states.len() as u64 - 1;
        let entities = |state: &State| state.values().cloned().collect::<Vec<_>>();
        assert_eq!(self.consensus.entities().unwrap(), (last, entities(&self.states[last as usize])));
        assert_eq!(self.consensus.revision(), last);
        for (revision, state) in (0..).zip(&self.states) {
            let there = revision + 1 >= first;
            assert_eq!(self.consensus.entities_at(revision).unwrap(), there.then(|| entities(state)));
            let changed = there.then(|| (last, self.changed_since(revision)));
            assert_eq!(self.consensus.changed_since(revision).unwrap(), changed);
            let record = self.consensus.record(revision).unwrap();
            assert_eq!(record.is_some(), revision >= first, "{revision}");
            if let Some(record) = record {
                self.check_record(&record);
            }
        }
        assert_eq!(self.consensus.entities_at(last + 1).unwrap(), None);
        assert_eq!(self.consensus.changed_since(last + 1).unwrap(), None);
        let mut history = self.consensus.history(None, usize::MAX).unwrap();
        assert!(history.iter().map(|revision| revision.revision).eq((first..=last).rev()));
        history.reverse();
        if let Some(records) = raw(&history) {
            assert_eq!(self.consensus.head().unwrap(), (last, chain(records).unwrap()));
        }
        check_values(&self.consensus);
    }

    fn changed_since(&self, revision: u64) -> Vec<Changed> {
        let later = &self.states[revision as usize..];
        let now = later.last().unwrap();
        let mut names: Vec<_> = later.iter().flat_map(BTreeMap::keys).collect();
        names.sort();
        names.dedup();
        names.retain(|name| later.iter().any(|state| state.get(*name) != later[0].get(*name)));
        names
            .into_iter()
            .map(|name| Changed { kind: name.0.clone(), id: name.1.clone(), now: now.get(name).cloned() })
            .collect()
    }

    fn check_record(&self, record: &Revision) {
        let states = &self.states[record.revision as usize - 1..];
        assert_eq!(record.origin, [7]);
        for Step { kind, id, before, after } in &record.steps {
            let name = (kind.clone(), id.clone());
            let value = |state: &State| state.get(&name).map(|entity| entity.value.clone());
            assert_eq!((before, after), (&value(&states[0]), &value(&states[1])));
        }
    }
}

fn raw(history: &[Revision]) -> Option<impl Iterator<Item = &[u8]>> {
    let records = history.iter().flat_map(|revision| &revision.records).map(Vec::as_slice);
    (!history.is_empty()).then_some(records)
}

/// The values that are kept are the ones that somebody refers to, as often as it is so.
fn check_values(consensus: &Consensus) {
    let (mut expected, mut found) = (BTreeMap::new(), BTreeMap::new());
    let looked = consensus.machine.look(|disk, _| {
        for pair in &disk.revisions {
            let record: log::Revision = record::read(&pair?.1)?;
            for step in record.steps.into_iter().filter(|step| !step.before_sha256.is_empty()) {
                *expected.entry(step.before_sha256.to_vec()).or_default() += 1;
            }
        }
        for pair in &disk.entities {
            let entity: log::Entity = record::read(&pair?.1)?;
            if !entity.large_sha256.is_empty() {
                *expected.entry(entity.large_sha256.to_vec()).or_default() += 1;
            }
        }
        let (mut pieces, mut pieces_expected) = (0, 0);
        for pair in &disk.values {
            let (key, value) = pair?;
            if key.len() > 32 {
                pieces += 1;
                continue;
            }
            let value: log::Value = record::read(&value)?;
            pieces_expected += value.pieces;
            found.insert(key.to_vec(), value.references);
        }
        assert_eq!(pieces, pieces_expected);
        Ok(())
    });
    looked.unwrap();
    assert_eq!(found, expected);
}

/// Few names and few values, some of them large, so that the same ones come again.
fn writes() -> impl Strategy<Value = Vec<Write>> {
    let value = prop_oneof![
        2 => Just(None),
        4 => (0..3_u8).prop_map(|byte| Some(vec![byte; 5])),
        1 => (0..2_u8).prop_map(|byte| Some(vec![byte; 60_000])),
    ];
    let names = prop::sample::subsequence(vec!["a", "b", "ab", "b/c"], 0..=4);
    (names, prop::collection::vec((value, 1..3_u32), 4)).prop_map(|(names, values)| {
        let write = |(id, (value, introduced)): (&str, (Option<Vec<u8>>, u32))| Write {
            kind: id.chars().take(1).collect(),
            id: id.to_owned(),
            introduced,
            value,
        };
        names.into_iter().zip(values).map(write).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn what_was_is_there_as_long_as_it_is_kept(changes in prop::collection::vec(writes(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = TempDir::new().unwrap();
            let mut model = Model::new(folder.path()).await;
            for (revision, writes) in (1_u64..).zip(changes) {
                model.propose(writes).await;
                model.check(revision.saturating_sub(KEPT) + 1);
            }
            let first = (model.states.len() as u64 - 1).saturating_sub(KEPT) + 1;
            model.consensus.close().await.unwrap();
            model.consensus = open_keeping(folder.path()).await;
            model.check(first);
        });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_old_revision_goes_bit_by_bit() {
    let folder = TempDir::new().unwrap();
    let mut model = Model::new(folder.path()).await;
    let many =
        |value: &str| (0..3_000).map(|n| write("key", &n.to_string(), Some(value))).collect::<Vec<_>>();
    model.propose(many("1")).await;
    model.propose(many("2")).await;
    let records = |model: &Model| model.consensus.machine.look(|disk, _| Ok(disk.revisions.len())).unwrap();
    assert_eq!(records(&model), 2 * 94);
    // Each small one removes 34 at most, of which one may be a look past the end.
    let mut before = records(&model);
    for revision in 3..=KEPT + 2 + 6 {
        model.propose(vec![write("key", "0", Some(&revision.to_string()))]).await;
        let now = records(&model);
        assert!(before + 1 - now <= 34, "{before} {now}");
        before = now;
        check_values(&model.consensus);
    }
    assert_eq!(before, KEPT as usize);
    model.check(9);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_of_one_kind_in_order() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    let names = [("a", "1"), ("b", "1"), ("b", "2"), ("b", "22"), ("b", "3"), ("ba", "1"), ("c", "1")];
    let writes = names.map(|(kind, id)| write(kind, id, Some("x"))).to_vec();
    consensus.propose(change(None, writes), DEADLINE).await.unwrap();
    for (kind, after, limit, expected) in [
        ("b", None, 10, &["1", "2", "22", "3"][..]),
        ("b", None, 2, &["1", "2"]),
        ("b", Some("2"), 2, &["22", "3"]),
        ("b", Some("20"), 1, &["22"]),
        ("b", Some("3"), 2, &[]),
        ("none", None, 2, &[]),
    ] {
        let (revision, page) = consensus.page(kind, after, limit).unwrap();
        assert_eq!(revision, 1);
        assert!(page.iter().all(|entity| entity.kind == kind));
        assert!(page.iter().map(|entity| &entity.id).eq(expected), "{kind} {after:?} {limit}: {page:?}");
    }
    let reader = consensus.clone();
    consensus.close().await.unwrap();
    assert_eq!(reader.entity("a", "1").unwrap().unwrap().value, b"x");
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_are_whole() {
    let folder = TempDir::new().unwrap();
    let mut model = Model::new(folder.path()).await;
    let sizes = [24 * 1024, 24 * 1024 + 1, 48 * 1024, Consensus::ENTITY_BYTES_MAX];
    for (id, size) in ["a", "b", "c", "d"].into_iter().zip(sizes) {
        let value: String = (0..size).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
        model.propose(vec![write("list", id, Some(&value))]).await;
    }
    model.check(1);
    model.consensus.close().await.unwrap();
    model.consensus = open_keeping(folder.path()).await;
    model.check(1);
    // Back and forth: the record and the entity refer to the same value.
    let last = model.states[4][&("list".to_owned(), "d".to_owned())].value.clone();
    let last = String::from_utf8(last).unwrap();
    for value in [None, Some(&last[..]), Some(&last[..]), Some("small"), None, None, None, None] {
        model.propose(vec![write("list", "d", value)]).await;
        model.check((model.states.len() as u64 - 1).saturating_sub(KEPT) + 1);
    }
    let small = ["a", "b", "c"].map(|id| write("list", id, None)).to_vec();
    model.propose(small).await;
    for _ in 0..KEPT {
        model.propose(Vec::new()).await;
    }
    assert!(model.consensus.machine.look(|disk, _| Ok(disk.values.is_empty())).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_shows_what_was_changed_in_it() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    for value in ["1", "2", "3"] {
        let many = (0..40).map(|n| write("key", &n.to_string(), Some(value))).collect();
        consensus.propose(change(None, many), DEADLINE).await.unwrap();
    }
    let mut history = consensus.history(Some(4), 2).unwrap();
    history.reverse();
    let records: Vec<_> = raw(&history).unwrap().map(<[u8]>::to_vec).collect();
    let of = |records: &[Vec<u8>]| chain(records.iter().map(Vec::as_slice));
    assert_eq!(of(&records).unwrap(), consensus.head().unwrap().1);
    let first = Record::decode(&records[0]).unwrap();
    let before = consensus.record(1).unwrap().unwrap().records;
    assert_eq!(first.previous_sha256, Sha256::digest(before.last().unwrap())[..]);
    let step = &first.steps[0];
    let sha256 = |value: &str| Some(Sha256::digest(value).into());
    assert_eq!((step.before_sha256, step.after_sha256), (sha256("1"), sha256("2")));
    assert_eq!(entity_key(&step.kind, &step.id), b"key\x000");

    assert_eq!(of(&[]), Err(ChainError::Empty));
    assert_eq!(of(&records[1..]), Err(ChainError::Gap { index: 0, revision: 2, part: 1 }));
    let without = [&records[..1], &records[2..]].concat();
    assert_eq!(of(&without), Err(ChainError::Broken { index: 1 }));
    assert_eq!(of(&records[..1]).and(of(&records[2..])), of(&records), "each revision is a chain");
    let swapped = [&records[2..], &records[..2]].concat();
    assert_eq!(of(&swapped), Err(ChainError::Gap { index: 2, revision: 2, part: 0 }));
    let mut changed = records.clone();
    let last = changed[1].len() - 1;
    changed[1][last] ^= 1;
    assert!(of(&changed).is_err());
    let mut cut = records.clone();
    cut[2].truncate(20);
    assert!(matches!(of(&cut), Err(ChainError::Unreadable { index: 2, .. })));
}
