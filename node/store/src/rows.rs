//! Sums by the hour of what may be asked for apart, made once when a segment is sealed.

use crate::{
    bytes::{Reader, put, put_text},
    civil::HOUR_MS,
    line::{Basis, Owner, TAGS_MAX, TEXT_BYTES_MAX, Tokens},
    payload::{read_tokens, write_tokens},
    settled::Settled,
};
use std::collections::BTreeMap;

/// What lines of one row have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Common<'a> {
    /// Of the end of the call, since the epoch.
    pub(crate) hour: u64,
    pub(crate) owner: Owner<&'a str>,
    pub(crate) model: &'a str,
    pub(crate) provider: &'a str,
    pub(crate) vendor_model: &'a str,
    pub(crate) tags: Vec<&'a str>,
    pub(crate) basis: Basis,
}

/// Calls, tokens and money of several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Lines.
    pub calls: u64,
    /// Tokens by kind.
    pub tokens: Tokens,
    /// Money.
    pub nano_usd: u128,
}

impl Totals {
    /// Adds those of others.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        let (mut sum, other_tokens) = (self.tokens.to_array(), other.tokens.to_array());
        sum.iter_mut().zip(other_tokens).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        self.tokens = Tokens::from_array(sum);
        self.nano_usd = self.nano_usd.saturating_add(other.nano_usd);
    }
}

pub(crate) type Rows<'a> = BTreeMap<Common<'a>, Totals>;

/// What a line adds, and to which row.
pub(crate) fn of_line<'a>(line: &Settled<'a>) -> (Common<'a>, Totals) {
    let (intent, outcome) = (&line.intent.intent, &line.outcome.outcome);
    let common = Common {
        hour: outcome.end_ms / HOUR_MS,
        owner: intent.owner,
        model: intent.model,
        provider: intent.provider,
        vendor_model: intent.vendor_model,
        tags: line.intent.tags().collect(),
        basis: outcome.basis,
    };
    (common, Totals { calls: 1, tokens: outcome.tokens, nano_usd: outcome.nano_usd.into() })
}

pub(crate) fn write(out: &mut Vec<u8>, rows: &Rows<'_>) {
    put(out, rows.len() as u64);
    for (common, totals) in rows {
        put(out, common.hour);
        let Owner { customer, team, user, key } = common.owner;
        for text in [customer, team, user, key, common.model, common.provider, common.vendor_model] {
            put_text(out, text, TEXT_BYTES_MAX);
        }
        put(out, common.tags.len() as u64);
        for tag in &common.tags {
            put_text(out, tag, TEXT_BYTES_MAX);
        }
        out.push(common.basis as u8);
        put(out, totals.calls);
        write_tokens(out, totals.tokens);
        out.extend_from_slice(&totals.nano_usd.to_le_bytes());
    }
}

/// Tells all rows; `None` where the bytes make no sense, after those that do.
pub(crate) fn read<'a>(from: &mut Reader<'a>, visit: &mut dyn FnMut(Common<'a>, Totals)) -> Option<()> {
    for _ in 0..from.number()? {
        let hour = from.number()?;
        let mut texts = [""; 7];
        for text in &mut texts {
            *text = from.text(TEXT_BYTES_MAX)?;
        }
        let [customer, team, user, key, model, provider, vendor_model] = texts;
        let count = from.count(TAGS_MAX)?;
        let tags = (0..count).map(|_| from.text(TEXT_BYTES_MAX)).collect::<Option<_>>()?;
        let basis = Basis::numbered(from.byte()?);
        let totals = Totals {
            calls: from.number()?,
            tokens: read_tokens(from)?,
            nano_usd: u128::from_le_bytes(from.array()?),
        };
        let owner = Owner { customer, team, user, key };
        visit(Common { hour, owner, model, provider, vendor_model, tags, basis }, totals);
    }
    Some(())
}
