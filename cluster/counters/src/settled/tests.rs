//! Folding, bounds, and the form on the disk.

use super::*;
use crate::tests::{MINUTE, MINUTE_MS, counter_id};
use proptest::prelude::*;

fn one(limit: u64, window: Window, window_id: u64, amount: u64) -> Settlement {
    Settlement { counter: counter_id(limit, window), window_id: WindowId(window_id), amount }
}

fn folded(settlements: &[Settlement]) -> Settled {
    let mut settled = Settled::new(100);
    for settlement in settlements {
        settled.add(*settlement).unwrap();
    }
    settled
}

#[test]
fn settlements_of_one_window_are_one_sum() {
    let hour = Window::rolling(60 * MINUTE_MS, 6).unwrap();
    let lines = [
        one(1, MINUTE, 5, 10),
        one(1, MINUTE, 5, 3),
        one(1, MINUTE, 6, 1),
        one(1, hour, 5, 100),
        one(2, MINUTE, 5, u64::MAX),
        one(2, MINUTE, 5, 1),
        one(3, MINUTE, 5, 0),
        one(1, Window::Standing, 0, 7),
    ];
    let settled = folded(&lines);
    let sums =
        [one(1, MINUTE, 5, 13), one(1, MINUTE, 6, 1), one(1, hour, 5, 100), one(2, MINUTE, 5, u64::MAX)];
    assert_eq!(settled.checkpoint().collect::<Vec<_>>(), sums);
    assert_eq!((settled.len(), settled.is_empty(), Settled::new(1).is_empty()), (4, false, true));
}

#[test]
fn sums_are_dropped_when_their_window_is_no_longer_kept() {
    let mut settled = folded(&[one(1, MINUTE, 0, 1), one(1, MINUTE, 1, 1)]);
    let until_ms = MINUTE.kept_until_ms(WindowId(0)).unwrap();
    assert_eq!((settled.expire(until_ms - 1), settled.expire(until_ms)), (0, 1));
    assert_eq!(settled, folded(&[one(1, MINUTE, 1, 1)]));
}

#[test]
fn one_sum_more_is_refused() {
    let mut settled = Settled::new(1);
    assert_eq!(settled.add(one(1, MINUTE, 0, 1)), Ok(()));
    assert_eq!(settled.add(one(2, MINUTE, 0, 1)), Err(SettledFull));
    assert_eq!(settled.add(one(2, MINUTE, 0, 0)), Ok(()), "nothing needs no room");
    assert_eq!(settled.add(one(1, MINUTE, 0, 1)), Ok(()));
    assert_eq!(settled.checkpoint().collect::<Vec<_>>(), [one(1, MINUTE, 0, 2)]);
}

/// What is on a disk is read by every later version: it never changes.
#[test]
fn the_form_on_the_disk_never_changes() {
    let counter = CounterId {
        limit: LimitId(0x0102_0304_0506_0708),
        subject: Subject(0x1112_1314_1516_1718_2122_2324_2526_2728),
        window: Window::rolling(MINUTE_MS, 6).unwrap(),
    };
    let settlement = Settlement { counter, window_id: WindowId(0x31), amount: 0x4142 };
    let expected = [
        [0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01],
        [0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21],
        [0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11],
        [0x02, 0x06, 0x60, 0xea, 0x00, 0x00, 0x00, 0x00],
        [0x31, 0, 0, 0, 0, 0, 0, 0],
        [0x42, 0x41, 0, 0, 0, 0, 0, 0],
        [0x73, 0xcc, 0x21, 0x58, 0x6d, 0xb7, 0xa5, 0xdb],
    ];
    assert_eq!(settlement.to_bytes().as_chunks::<8>().0, expected);
}

#[test]
fn bytes_of_no_window_are_refused_though_the_hash_is_right() {
    let words = [1, 2, 3, 0xff, 5, 6];
    let all: Vec<u8> = words.into_iter().chain([hash::of_words(words)]).flat_map(u64::to_le_bytes).collect();
    let bytes: [u8; Settlement::BYTES] = all.try_into().unwrap();
    assert_eq!(Settlement::from_bytes(&bytes), Err(Damaged));
    assert_eq!(Settlement::from_bytes(&[0; Settlement::BYTES]), Err(Damaged), "a hole in a file");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        (limit, subject, window_id, amount) in any::<(u64, u128, u64, u64)>(),
        (length_ms, parts) in (64u64..=crate::LENGTH_MS_MAX, 1..=crate::PARTS_MAX),
        bit in 0..8 * Settlement::BYTES,
    ) {
        let window = Window::rolling(length_ms, parts).unwrap();
        let counter = CounterId { limit: LimitId(limit), subject: Subject(subject), window };
        let settlement = Settlement { counter, window_id: WindowId(window_id), amount };
        let mut bytes = settlement.to_bytes();
        prop_assert_eq!(Settlement::from_bytes(&bytes), Ok(settlement));
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(Settlement::from_bytes(&bytes), Err(Damaged), "one bit is another");
    }

    #[test]
    fn the_order_of_lines_and_a_checkpoint_between_make_no_difference(
        lines in prop::collection::vec((0u64..3, 0u64..3, 0u64..10), 0..30),
        at in any::<prop::sample::Index>(),
    ) {
        let lines: Vec<_> = lines.iter().map(|(limit, id, amount)| one(*limit, MINUTE, *id, *amount)).collect();
        let (before, after) = lines.split_at(at.index(lines.len() + 1));
        let checkpoint: Vec<_> = folded(before).checkpoint().collect();
        let restored = folded(&[checkpoint.as_slice(), after].concat());
        prop_assert_eq!(restored, folded(&lines));
    }
}
