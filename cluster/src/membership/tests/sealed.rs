//! Datagrams that are opened, and all kinds that are not.

use crate::membership::{
    BadSecrets, Secrets,
    open::{Opener, Refused},
    seal::{DATAGRAM_BYTES_MAX, PART_BYTES_MAX, PARTS_MAX, Sealer},
};
use proptest::prelude::*;

const NOW: u64 = 1_700_000_000_000;
const OLD: &[u8] = b"the old secret, long enough";
const NEW: &[u8] = b"the new secret, long enough";

fn secrets(secrets: &[&[u8]]) -> Secrets {
    Secrets::new(secrets).unwrap()
}

fn sealer(with: &[&[u8]], salt: u8) -> Sealer {
    Sealer::new(&secrets(with), [salt; 16]).unwrap()
}

fn opener(with: &[&[u8]]) -> Opener {
    Opener::new(secrets(with), [255; 16])
}

fn seal(sealer: &mut Sealer, message: &[u8]) -> Vec<Vec<u8>> {
    sealer.seal(message, NOW).unwrap().unwrap()
}

fn one(sealer: &mut Sealer, message: &[u8]) -> Vec<u8> {
    seal(sealer, message).remove(0)
}

/// Opens a copy.
fn open(opener: &mut Opener, datagram: &[u8], unix_ms: u64) -> Result<Option<Vec<u8>>, Refused> {
    opener.open(&mut datagram.to_vec(), unix_ms)
}

#[test]
fn what_was_sealed_is_opened_once() {
    let (mut sealer, mut opener) = (sealer(&[OLD], 1), opener(&[OLD]));
    let (first, second) = (one(&mut sealer, b"one"), one(&mut sealer, b"two"));
    assert!(!first.windows(3).any(|bytes| bytes == b"one"));
    // They may overtake each other.
    assert_eq!(open(&mut opener, &second, NOW), Ok(Some(b"two".to_vec())));
    assert_eq!(open(&mut opener, &first, NOW), Ok(Some(b"one".to_vec())));
    for datagram in [&first, &second] {
        assert_eq!(open(&mut opener, datagram, NOW), Err(Refused::Replayed));
    }
    assert_eq!(open(&mut opener, &one(&mut sealer, b""), NOW), Ok(Some(Vec::new())));
}

#[test]
fn each_byte_counts() {
    let (mut sealer, mut opener) = (sealer(&[OLD], 1), opener(&[OLD]));
    // The sender is known or not.
    for known in [false, true] {
        let whole = one(&mut sealer, b"message");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            let refused = open(&mut opener, &changed, NOW);
            let expected = if at == 0 { Refused::Garbage } else { Refused::Sealed };
            assert_eq!(refused, Err(expected), "byte {at}");
        }
        for length in 0..whole.len() {
            assert!(open(&mut opener, &whole[..length], NOW).is_err(), "{length} bytes");
        }
        assert!(open(&mut opener, &whole, NOW).is_ok(), "{known}");
    }
}

#[test]
fn only_those_with_the_secret_are_heard() {
    let datagram = one(&mut sealer(&[NEW], 1), b"message");
    assert_eq!(open(&mut opener(&[OLD]), &datagram, NOW), Err(Refused::Sealed));
    // What a process sent itself comes back from nobody who may.
    let own = one(&mut sealer(&[OLD], 255), b"message");
    assert_eq!(open(&mut opener(&[OLD]), &own, NOW), Err(Refused::Replayed));
}

#[test]
fn a_secret_is_changed_without_a_gap() {
    // Old; both, old first; both, new first; new.
    let steps: [&[&[u8]]; 4] = [&[OLD], &[OLD, NEW], &[NEW, OLD], &[NEW]];
    for (at, of) in steps.iter().enumerate() {
        for (other, to) in steps.iter().enumerate() {
            let opened = open(&mut opener(to), &one(&mut sealer(of, 1), b"message"), NOW);
            // Neighbours run at once, and hear each other.
            if at.abs_diff(other) <= 1 {
                assert_eq!(opened, Ok(Some(b"message".to_vec())), "{at} to {other}");
            }
        }
    }
    assert_eq!(open(&mut opener(&[NEW]), &one(&mut sealer(&[OLD, NEW], 1), b""), NOW), Err(Refused::Sealed));
}

#[test]
fn secrets_must_be_long_and_few() {
    let short: &[u8] = b"short";
    for bad in [&[][..], &[short], &[OLD, short], &[OLD, NEW, OLD]] {
        assert_eq!(Secrets::new(bad).err(), Some(BadSecrets));
    }
    assert_eq!(format!("{:?}", secrets(&[OLD, NEW])), "2 secrets");
}

#[test]
fn what_is_of_another_time_is_refused() {
    let datagram = one(&mut sealer(&[OLD], 1), b"message");
    for (unix_ms, opened) in [
        (NOW - 30_001, false),
        (NOW - 30_000, true),
        (NOW + 30_000, true),
        (NOW + 30_001, false),
        (0, false),
        (u64::MAX, false),
    ] {
        let seen = open(&mut opener(&[OLD]), &datagram, unix_ms);
        assert_eq!(seen.is_ok(), opened, "{unix_ms}: {seen:?}");
        assert!(opened || seen == Err(Refused::Time));
    }
}

#[test]
fn a_message_in_parts_is_put_together() {
    let message: Vec<u8> = (0..65_507_u32).map(|at| (at % 251) as u8).collect();
    let (mut sealer, mut opener) = (sealer(&[OLD], 1), opener(&[OLD]));
    let mut datagrams = seal(&mut sealer, &message);
    assert!(datagrams.iter().all(|datagram| datagram.len() <= DATAGRAM_BYTES_MAX));
    let mut others = seal(&mut sealer, &message[..PART_BYTES_MAX + 1]);
    assert_eq!(others.len(), 2);
    // Out of order, and with another message between them.
    datagrams.reverse();
    let last = datagrams.pop().unwrap();
    for datagram in &datagrams {
        assert_eq!(open(&mut opener, datagram, NOW), Ok(None));
    }
    assert_eq!(open(&mut opener, &others.remove(0), NOW), Ok(None));
    assert_eq!(open(&mut opener, &datagrams[0], NOW), Err(Refused::Replayed));
    assert_eq!(open(&mut opener, &last, NOW), Ok(Some(message.clone())));
    assert_eq!(open(&mut opener, &others.remove(0), NOW), Ok(Some(message[..PART_BYTES_MAX + 1].to_vec())));
}

#[test]
fn a_message_that_is_too_large_is_not_sent() {
    let mut sealer = sealer(&[OLD], 1);
    assert_eq!(seal(&mut sealer, &vec![0; PARTS_MAX * PART_BYTES_MAX]).len(), PARTS_MAX);
    assert!(sealer.seal(&vec![0; PARTS_MAX * PART_BYTES_MAX + 1], NOW).unwrap().is_none());
}

#[test]
fn messages_that_never_become_whole_do_not_pile_up() {
    let (mut sealer, mut opener) = (sealer(&[OLD], 1), opener(&[OLD]));
    let long = vec![1; PART_BYTES_MAX + 1];
    let firsts: Vec<_> = (0..65).map(|_| seal(&mut sealer, &long)).collect();
    for (at, datagrams) in firsts.iter().enumerate() {
        assert_eq!(open(&mut opener, &datagrams[0], NOW + at as u64), Ok(None));
    }
    // The oldest made room for the last; the second is still waited for.
    assert_eq!(open(&mut opener, &firsts[0][1], NOW), Ok(None));
    assert_eq!(open(&mut opener, &firsts[64][1], NOW), Ok(Some(long)));
}

#[test]
fn senders_are_remembered_for_a_while_and_are_not_without_number() {
    let mut opener = opener(&[OLD]);
    let of = |at: u32| {
        let mut salt = [0; 16];
        salt[..4].copy_from_slice(&at.to_be_bytes());
        Sealer::new(&secrets(&[OLD]), salt).unwrap()
    };
    for at in 0..1024 {
        assert!(open(&mut opener, &one(&mut of(at), b""), NOW).is_ok());
    }
    let next = one(&mut of(1024), b"");
    assert_eq!(open(&mut opener, &next, NOW), Err(Refused::Crowded));
    // Who is known is still heard.
    let mut known = of(5);
    let (first, second) = (one(&mut known, b""), one(&mut known, b""));
    assert_eq!(open(&mut opener, &first, NOW), Err(Refused::Replayed));
    assert!(open(&mut opener, &second, NOW).is_ok());
    // After a minute nothing that they sent would be of now.
    let later = of(1024).seal(b"", NOW + 60_001).unwrap().unwrap().remove(0);
    assert!(open(&mut opener, &later, NOW + 60_001).is_ok());
    assert_eq!(open(&mut opener, &second, NOW + 60_001), Err(Refused::Time));
}

proptest! {
    #[test]
    fn garbage_is_refused(mut datagram in prop::collection::vec(any::<u8>(), 0..1400), begins in any::<bool>()) {
        if begins && let Some(first) = datagram.first_mut() {
            *first = 1;
        }
        let refused = opener(&[OLD]).open(&mut datagram, NOW);
        prop_assert!(matches!(refused, Err(Refused::Garbage | Refused::Sealed)));
    }
}
