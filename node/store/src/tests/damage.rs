//! Damaged files: what was not touched comes back, nothing is made up, and nothing panics.

use super::{HEADER, Made};
use crate::{
    Basis, Intent, Ledger, Options, Outcome, OutcomeKind, Query, Tokens,
    payload::{read_intent, read_outcome, write_intent},
    record::{self, Kind, Place, Records},
    replay,
    segment::{HEADER_BYTES, Header},
};
use proptest::{collection::vec, prelude::*};
use std::{collections::BTreeMap, fs, ops::Range, path::Path};

/// A call: how long its texts are, and after how many other records its outcome comes, if one does.
type Call = (usize, Option<usize>);

/// Where its records lie.
struct Placed {
    call: u128,
    intent: Range<usize>,
    outcome: Option<Range<usize>>,
}

fn made(calls: &[Call]) -> (Vec<u8>, Vec<Placed>) {
    let mut made = Made::new();
    let mut placed: Vec<Placed> = Vec::new();
    let mut due: Vec<(usize, usize)> = Vec::new();
    let settle = |made: &mut Made, placed: &mut Vec<Placed>, at: usize| {
        let of = &mut placed[at];
        let outcome = Outcome {
            end_ms: 2_000 + of.call as u64,
            kind: OutcomeKind::Ok,
            basis: Basis::Reported,
            nano_usd: of.call as u64,
            ..Outcome::default()
        };
        of.outcome = Some(made.outcome(&outcome, of.intent.start, 0));
    };
    for (at, (length, settled_after)) in calls.iter().enumerate() {
        let text = "tl".repeat(length / 2);
        let tokens = Tokens { output: at as u64, ..Tokens::default() };
        let call = at as u128;
        let intent = Intent {
            call,
            model: &text,
            operation: &text,
            start_ms: 1_000,
            tokens,
            nano_usd: 5,
            ..Intent::default()
        };
        placed.push(Placed { call, intent: made.intent(&intent), outcome: None });
        due.extend(settled_after.map(|after| (at + after, at)));
        let (now, later) = due.into_iter().partition(|(when, _)| *when <= at);
        due = later;
        let now: Vec<(usize, usize)> = now;
        now.into_iter().for_each(|(_, at)| settle(&mut made, &mut placed, at));
    }
    due.into_iter().for_each(|(_, at)| settle(&mut made, &mut placed, at));
    (made.bytes, placed)
}

/// What is done to a file.
#[derive(Debug, Clone)]
enum Harm {
    Flip(f64, u8),
    Fill(f64, u8, usize),
    /// A page that never came to the disk.
    Page(f64),
    /// Bytes that stand elsewhere in the file.
    Copy(f64, f64, usize),
    Cut(f64),
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        4 => (0.0..1.0, 1..=255_u8).prop_map(|(at, by)| Harm::Flip(at, by)),
        2 => (0.0..1.0, any::<u8>(), 1..600_usize).prop_map(|(at, by, count)| Harm::Fill(at, by, count)),
        2 => (0.0..1.0).prop_map(Harm::Page),
        1 => (0.0..1.0, 0.0..1.0, 1..600_usize).prop_map(|(at, from, count)| Harm::Copy(at, from, count)),
        1 => (0.5..1.0).prop_map(Harm::Cut),
    ]
}

fn harmed(bytes: &mut Vec<u8>, harm: &Harm) {
    let length = bytes.len();
    let place = |at: f64| ((at * length as f64) as usize).min(length.saturating_sub(1));
    let span = |at: f64, count: usize| place(at)..(place(at) + count).min(length);
    match *harm {
        _ if length == 0 => {}
        Harm::Flip(at, by) => bytes[place(at)] ^= by,
        Harm::Fill(at, by, count) => bytes[span(at, count)].fill(by),
        Harm::Page(at) => {
            let begin = place(at) / 4_096 * 4_096;
            bytes[begin..(begin + 4_096).min(length)].fill(0);
        }
        Harm::Copy(at, from, count) => {
            let from = bytes[span(from, count)].to_vec();
            let to = span(at, from.len());
            let count = to.len();
            bytes[to].copy_from_slice(&from[..count]);
        }
        Harm::Cut(at) => bytes.truncate(place(at)),
    }
}

/// Calls with what is known of them: the outcome that was written, or that it was killed.
fn lines(folder: &Path) -> BTreeMap<u128, (OutcomeKind, u64)> {
    let (ledger, recovery) = Ledger::open(folder, Options::default()).unwrap();
    let (mut lines, mut after) = (BTreeMap::new(), None);
    loop {
        let page = ledger.query(&Query::default(), after, 100).unwrap();
        for line in page.lines {
            assert!(lines.insert(line.call, (line.outcome, line.nano_usd)).is_none(), "twice");
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    for closed in recovery.closed {
        assert_eq!(lines.get(&closed.call), Some(&(OutcomeKind::Killed, 5)));
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_was_not_touched_comes_back(
        calls in vec((0..250_usize, proptest::option::weighted(0.8, 0..6_usize)), 1..60),
        harms in vec(harm(), 0..6),
        zeros in 0..20_000_usize,
    ) {
        let (mut whole, placed) = made(&calls);
        whole.resize(whole.len() + zeros, 0);
        let mut bytes = whole.clone();
        harms.iter().for_each(|harm| harmed(&mut bytes, harm));
        let is_same = |range: &Range<usize>| bytes.get(range.clone()) == whole.get(range.clone());
        let mut expected = BTreeMap::new();
        if Header::read(&bytes).is_ok() {
            for of in placed.iter().filter(|of| is_same(&of.intent)) {
                let settled = of.outcome.as_ref().is_some_and(is_same);
                let (kind, nano_usd) = if settled { (OutcomeKind::Ok, of.call as u64) } else { (OutcomeKind::Killed, 5) };
                expected.insert(of.call, (kind, nano_usd));
            }
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(HEADER.name.segment()), &bytes).unwrap();
        // The second time it is sealed.
        prop_assert_eq!(&lines(folder.path()), &expected);
        prop_assert_eq!(&lines(folder.path()), &expected);
        // Where the process is killed in the middle of closing, the next one goes on. What was written is cut off anywhere.
        let closed = fs::read(folder.path().join(HEADER.name.segment())).unwrap_or_default();
        for cut in [0.1, 0.5, 0.9] {
            let folder = tempfile::tempdir().unwrap();
            let mut half = bytes.clone();
            let written = closed.iter().zip(&bytes).take_while(|(new, old)| new == old).count();
            let until = written + ((closed.len() - written.min(closed.len())) as f64 * cut) as usize;
            if half.len() < until {
                half.resize(until, 0);
            }
            half[written.min(until)..until].copy_from_slice(&closed[written.min(until)..until]);
            fs::write(folder.path().join(HEADER.name.segment()), &half).unwrap();
            prop_assert_eq!(&lines(folder.path()), &expected, "cut at {}", cut);
        }
    }

    #[test]
    fn a_sealed_segment_that_is_damaged_is_read_around(
        calls in vec((0..250_usize, (0..6_usize).prop_map(Some)), 1..60),
        harms in vec(harm(), 0..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (whole, placed) = made(&calls);
        let path = folder.path().join(HEADER.name.segment());
        fs::write(&path, &whole).unwrap();
        let (ledger, _) = Ledger::open(folder.path(), Options::default()).unwrap();
        let mut bytes = whole.clone();
        harms.iter().for_each(|harm| harmed(&mut bytes, harm));
        fs::write(&path, &bytes).unwrap();
        let page = ledger.query(&Query::default(), None, 1_000).unwrap();
        let is_same = |range: &Range<usize>| bytes.get(range.clone()) == whole.get(range.clone());
        let fits = |of: &&Placed| is_same(&of.intent) && of.outcome.as_ref().is_some_and(is_same);
        let expected: Vec<_> = placed.iter().filter(fits).map(|of| of.call).collect();
        let mut found: Vec<_> = page.lines.iter().map(|line| line.call).collect();
        found.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..400), salt in any::<u32>()) {
        let _ = (read_intent(&bytes), read_outcome(&bytes), Header::read(&bytes));
        for record in Records::new(&bytes, salt, 0) {
            let _ = record.payload;
        }
        // The same in a record that is whole, and in a summary that is.
        for kind in [Kind::Intent, Kind::Outcome] {
            let mut made = Made::new();
            made.record(kind, |out| out.extend_from_slice(&bytes));
            replay::replay(&made.bytes, HEADER.salt, HEADER_BYTES, &mut |_| {});
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(HEADER.name.segment()), &made.bytes).unwrap();
            let mut sums = b"TRLSUMS\x01\x05\x03".to_vec();
            sums.extend_from_slice(&bytes);
            let sum = crc32fast::hash(&sums);
            sums.extend_from_slice(&sum.to_le_bytes());
            fs::write(folder.path().join(HEADER.name.summary()), &sums).unwrap();
            let (ledger, _) = Ledger::open(folder.path(), Options::default()).unwrap();
            let _ = (ledger.query(&Query::default(), None, 10), ledger.sums(&Query::default(), &[]));
        }
    }

    #[test]
    fn bytes_of_intents_that_change_do_not_panic(
        calls in vec((0..250_usize, Just(Some(0))), 1..2),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let (mut bytes, placed) = made(&calls);
        let payloads = [placed[0].intent.clone(), placed[0].outcome.clone().unwrap()];
        for (index, by) in changes {
            let at = HEADER_BYTES + index.index(bytes.len() - HEADER_BYTES);
            bytes[at] = by;
        }
        for range in payloads {
            let _ = (read_intent(&bytes[range.start + 16..range.end]), read_outcome(&bytes[range.start + 16..range.end]));
        }
    }
}

#[test]
fn damage_is_counted() {
    let (mut bytes, placed) = made(&[(10, Some(0)), (10, Some(0)), (10, Some(0)), (10, None)]);
    bytes[placed[1].intent.start + 20] ^= 1;
    bytes[placed[1].outcome.clone().unwrap().start] ^= 1;
    bytes.extend([1; 50]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(HEADER.name.segment()), &bytes).unwrap();
    let (_, recovery) = Ledger::open(folder.path(), Options::default()).unwrap();
    assert_eq!((recovery.damage.records, recovery.closed.len()), (2, 1));
    let missing = placed[2].intent.start - placed[1].intent.start;
    assert_eq!(recovery.damage.bytes, missing as u64);
}

#[test]
fn a_record_inside_of_a_text_is_none() {
    // With another salt, or in another place.
    let salt = HEADER.salt;
    let places = [(salt ^ 1, HEADER_BYTES), (salt, HEADER_BYTES + 8)];
    let mut bytes = HEADER.write();
    let mut forged = Vec::new();
    for (salt, offset) in places {
        let place = Place { salt, offset, number: 0 };
        record::write(&mut forged, Kind::Intent, place, |out| write_intent(out, &Intent::default()));
        bytes.extend_from_slice(&forged);
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(HEADER.name.segment()), &bytes).unwrap();
    let (_, recovery) = Ledger::open(folder.path(), Options::default()).unwrap();
    assert!(recovery.closed.is_empty());
}

#[test]
fn segments_without_a_header_are_put_aside_and_later_ones_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(HEADER.name.segment());
    fs::write(&path, vec![7; HEADER_BYTES + 100]).unwrap();
    let (_, recovery) = Ledger::open(folder.path(), Options::default()).unwrap();
    let [aside] = &recovery.damage.set_aside[..] else { panic!("{recovery:?}") };
    assert_eq!(fs::read(aside).unwrap(), vec![7; HEADER_BYTES + 100]);
    let mut later = HEADER.write();
    for copy in [0, 4_096] {
        later[copy + 8] = 2;
        let sum = crc32fast::hash(&later[copy..copy + 44]);
        later[copy + 44..copy + 48].copy_from_slice(&sum.to_le_bytes());
    }
    fs::write(&path, &later).unwrap();
    assert!(matches!(Ledger::open(folder.path(), Options::default()), Err(crate::OpenError::Later(_))));
    assert!(path.exists());
}
