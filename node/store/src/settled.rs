//! The settled lines of a segment: outcomes, each with its intent.

use crate::{
    payload::{IntentSeen, OutcomeSeen, read_intent, read_outcome},
    record::{self, Kind, Records},
    segment::HEADER_BYTES,
};

/// A settled line, without copies.
#[derive(Clone, Copy)]
pub(crate) struct Settled<'a> {
    pub(crate) intent: IntentSeen<'a>,
    pub(crate) outcome: OutcomeSeen<'a>,
}

/// Finds the intent of an outcome. It is gone where it was damaged.
pub(crate) fn with_intent<'a>(segment: &'a [u8], salt: u32, outcome: OutcomeSeen<'a>) -> Option<Settled<'a>> {
    let intent = record::read(segment, salt, outcome.intent).filter(|record| record.kind == Kind::Intent)?;
    Some(Settled { intent: read_intent(intent.payload)?, outcome })
}

/// Tells all outcomes with where they begin, in the order in which they were written; how many records could not be read.
pub(crate) fn outcomes<'a>(
    segment: &'a [u8],
    salt: u32,
    visit: &mut dyn FnMut(usize, OutcomeSeen<'a>),
) -> u64 {
    let mut records = Records::new(segment, salt, HEADER_BYTES);
    for record in records.by_ref().filter(|record| record.kind == Kind::Outcome) {
        if let Some(outcome) = read_outcome(record.payload) {
            visit(record.offset, outcome);
        }
    }
    records.skipped.records
}

/// Tells all settled lines.
pub(crate) fn lines<'a>(segment: &'a [u8], salt: u32, visit: &mut dyn FnMut(Settled<'a>)) -> u64 {
    outcomes(segment, salt, &mut |_, outcome| {
        if let Some(settled) = with_intent(segment, salt, outcome) {
            visit(settled);
        }
    })
}
