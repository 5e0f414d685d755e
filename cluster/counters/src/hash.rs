//! Hashes that every node computes alike, for telling where two tables differ, and of what is on the disk.

use crate::{Cell, CounterId};

/// The bucket of a counter: all of its cells are in one.
pub(crate) fn bucket_of(counter: &CounterId) -> u8 {
    let [.., last] = of_counter(counter).to_be_bytes();
    last
}

/// The hash of one cell with its numbers.
pub(crate) fn of_cell(cell: &Cell) -> u64 {
    let (id, totals) = (&cell.id, &cell.totals);
    let words = [id.window_id.0, id.actor.node.0, id.actor.incarnation, totals.charged, totals.refunded];
    fold(of_counter(&id.counter), words)
}

/// The hash of words on the disk, for telling damage.
pub(crate) fn of_words<const N: usize>(words: [u64; N]) -> u64 {
    fold(N as u64, words)
}

fn of_counter(counter: &CounterId) -> u64 {
    let subject = counter.subject.0;
    let [kind, length] = counter.window.words();
    // Both halves of the subject, each cut to 64 bits.
    fold(0, [counter.limit.0, subject as u64, (subject >> 64) as u64, kind, length])
}

fn fold<const N: usize>(start: u64, words: [u64; N]) -> u64 {
    // The odd constant keeps a zero word from leaving a zero state as it is.
    words.iter().fold(start, |state, word| mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word))
}

/// SplitMix64's finalizer (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014, with the
/// constants of Stafford's variant 13): every bit of the input changes about half of the output's. It keeps off chance,
/// not attackers: cells come from nodes of the cluster alone.
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
