//! What happened between two positions: what calls held of their limits, and what came of it.

use crate::{
    line::Charge,
    payload::{OutcomeSeen, has_charges, read_intent, read_outcome},
    record::{self, Kind, Records},
    settled::{self, Settled},
};

/// One thing that happened to a call that is charged to something.
///
/// Of one call `Held` comes before `Settled`, each once; between calls there is no order. What a call held that is settled
/// between the positions may have been announced before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A call was announced.
    Held {
        /// The call.
        call: u128,
        /// When (unix milliseconds).
        at_ms: u64,
        /// What was charged for it.
        charges: &'a [Charge],
    },
    /// A call was settled.
    Settled {
        /// The call.
        call: u128,
        /// When (unix milliseconds).
        at_ms: u64,
        /// What was charged when it was announced.
        charges: &'a [Charge],
        /// What each charge came to, as many as there are charges.
        amounts: &'a [u64],
    },
}

/// Tells what happened in a segment from one offset on; how many records could not be read.
pub(crate) fn replay(bytes: &[u8], salt: u32, from: usize, visit: &mut dyn FnMut(Change<'_>)) -> u64 {
    let (mut charges, mut amounts) = (Vec::new(), Vec::new());
    let mut records = Records::new(bytes, salt, from);
    for record in &mut records {
        match record.kind {
            // Most calls are charged to nothing: nothing is told of them, and little is read.
            Kind::Intent if has_charges(record.payload) == Some(false) => {}
            Kind::Intent => {
                let Some(intent) = read_intent(record.payload) else { continue };
                charges.clear();
                charges.extend(intent.charges());
                let (call, at_ms) = (intent.intent.call, intent.intent.start_ms);
                visit(Change::Held { call, at_ms, charges: &charges });
            }
            Kind::Outcome => {
                let Some(outcome) = read_outcome(record.payload) else { continue };
                if outcome.amounts().next().is_none() {
                    let intent = record::read(bytes, salt, outcome.intent);
                    if intent.and_then(|intent| has_charges(intent.payload)) == Some(false) {
                        continue;
                    }
                }
                let settled = settled::with_intent(bytes, salt, outcome);
                let Some(Settled { intent, outcome }) = settled else { continue };
                charges.clear();
                charges.extend(intent.charges());
                settled_amounts(&outcome, &charges, &mut amounts);
                let (call, at_ms) = (intent.intent.call, outcome.outcome.end_ms);
                visit(Change::Settled { call, at_ms, charges: &charges, amounts: &amounts });
            }
            Kind::Later => {}
        }
    }
    records.skipped.records
}

/// What is not told stays as it was reserved.
fn settled_amounts(outcome: &OutcomeSeen<'_>, charges: &[Charge], amounts: &mut Vec<u64>) {
    amounts.clear();
    amounts.extend(outcome.amounts().take(charges.len()));
    let reserved = charges.iter().skip(amounts.len()).map(|charge| charge.amount);
    amounts.extend(reserved);
}
