//! What intents and outcomes are as bytes. Fields are only ever added at the end: who does not know them stops before.

use crate::{
    bytes::{NUMBER_BYTES_MAX, Reader, put, put_text},
    line::{
        Basis, CHARGES_MAX, Charge, Intent, Line, Outcome, OutcomeKind, Owner, TAGS_MAX, TEXT_BYTES_MAX,
        TOKEN_KINDS, Tokens,
    },
};

const TEXT_MAX: usize = 2 + TEXT_BYTES_MAX;
const TOKENS_MAX: usize = (1 + TOKEN_KINDS) * NUMBER_BYTES_MAX;

/// Most bytes of an outcome's payload, where the intent has so many charges.
pub(crate) const fn outcome_bytes_max(charges: usize) -> usize {
    // The intent's offset, time, kind, status, basis, money, the count of amounts.
    7 * NUMBER_BYTES_MAX + TOKENS_MAX + TEXT_MAX + charges * NUMBER_BYTES_MAX
}

pub(crate) fn write_intent(out: &mut Vec<u8>, intent: &Intent<'_>) {
    let text = |out: &mut Vec<u8>, text: &str| put_text(out, text, TEXT_BYTES_MAX);
    out.extend_from_slice(&intent.call.to_le_bytes());
    text(out, intent.request_id);
    put(out, u64::from(intent.attempt));
    put(out, intent.start_ms);
    for name in [intent.owner.customer, intent.owner.team, intent.owner.user, intent.owner.key] {
        text(out, name);
    }
    let tags = &intent.tags[..intent.tags.len().min(TAGS_MAX)];
    put(out, tags.len() as u64);
    for tag in tags {
        text(out, tag);
    }
    for name in [intent.model, intent.provider, intent.credential, intent.vendor_model, intent.operation] {
        text(out, name);
    }
    out.push(u8::from(intent.batch));
    text(out, intent.service_tier);
    put(out, intent.price_version);
    write_tokens(out, intent.tokens);
    put(out, intent.nano_usd);
    put(out, intent.charges.len() as u64);
    for charge in intent.charges {
        out.extend_from_slice(&charge.limit.to_le_bytes());
        out.extend_from_slice(&charge.subject.to_le_bytes());
        put(out, charge.window_kind);
        put(out, charge.window);
        put(out, charge.amount);
    }
}

/// `intent` is where the intent begins in the segment, `charges` how many it has.
pub(crate) fn write_outcome(out: &mut Vec<u8>, outcome: &Outcome<'_>, intent: usize, charges: usize) {
    put(out, intent as u64);
    put(out, outcome.end_ms);
    out.push(outcome.kind as u8);
    put(out, u64::from(outcome.status));
    out.push(outcome.basis as u8);
    write_tokens(out, outcome.tokens);
    put(out, outcome.nano_usd);
    put_text(out, outcome.service_tier, TEXT_BYTES_MAX);
    let amounts = &outcome.amounts[..outcome.amounts.len().min(charges)];
    put(out, amounts.len() as u64);
    for amount in amounts {
        put(out, *amount);
    }
}

/// Which kinds are there, as bits, then those.
pub(crate) fn write_tokens(out: &mut Vec<u8>, tokens: Tokens) {
    let tokens = tokens.to_array();
    let present = tokens.iter().enumerate().fold(0, |bits, (at, count)| bits | u64::from(*count > 0) << at);
    put(out, present);
    for count in tokens.into_iter().filter(|count| *count > 0) {
        put(out, count);
    }
}

pub(crate) fn read_tokens(from: &mut Reader<'_>) -> Option<Tokens> {
    let present = from.number()?;
    let mut tokens = [0; TOKEN_KINDS];
    for at in (0..u64::BITS as usize).filter(|at| present >> at & 1 == 1) {
        let count = from.number()?;
        // A kind of a later version is not known here, but it is stepped over.
        if let Some(slot) = tokens.get_mut(at) {
            *slot = count;
        }
    }
    Some(Tokens::from_array(tokens))
}

/// An intent as it is read, without copies.
#[derive(Clone, Copy)]
pub(crate) struct IntentSeen<'a> {
    pub(crate) intent: Intent<'a>,
    tags: (usize, Reader<'a>),
    charges: (usize, Reader<'a>),
}

pub(crate) fn read_intent(payload: &[u8]) -> Option<IntentSeen<'_>> {
    let mut from = Reader(payload);
    let from = &mut from;
    let call = u128::from_le_bytes(from.array()?);
    let request_id = from.text(TEXT_BYTES_MAX)?;
    let attempt = from.number()?.try_into().ok()?;
    let start_ms = from.number()?;
    let [customer, team, user, key] = texts(from)?;
    let tag_count = from.count(TAGS_MAX)?;
    let tags = (tag_count, *from);
    for _ in 0..tag_count {
        from.text(TEXT_BYTES_MAX)?;
    }
    let [model, provider, credential, vendor_model, operation] = texts(from)?;
    let batch = from.byte()? != 0;
    let [service_tier] = texts(from)?;
    let intent = Intent {
        call,
        request_id,
        attempt,
        start_ms,
        owner: Owner { customer, team, user, key },
        tags: &[],
        model,
        provider,
        credential,
        vendor_model,
        operation,
        batch,
        service_tier,
        price_version: from.number()?,
        tokens: read_tokens(from)?,
        nano_usd: from.number()?,
        charges: &[],
    };
    let charge_count = from.count(CHARGES_MAX)?;
    let charges = (charge_count, *from);
    for _ in 0..charge_count {
        read_charge(from)?;
    }
    Some(IntentSeen { intent, tags, charges })
}

/// Whether an intent has charges, told without a look at what stands before them.
pub(crate) fn has_charges(payload: &[u8]) -> Option<bool> {
    let mut from = Reader(payload);
    from.bytes(16)?;
    from.skip_texts(1)?;
    from.skip_numbers(2)?;
    from.skip_texts(4)?;
    let tags = from.count(TAGS_MAX)?;
    from.skip_texts(tags + 5)?;
    from.byte()?;
    from.skip_texts(1)?;
    from.skip_numbers(1)?;
    let kinds = from.number()?.count_ones();
    from.skip_numbers(kinds as usize + 1)?;
    Some(from.count(CHARGES_MAX)? > 0)
}

fn texts<'a, const N: usize>(from: &mut Reader<'a>) -> Option<[&'a str; N]> {
    let mut texts = [""; N];
    for text in &mut texts {
        *text = from.text(TEXT_BYTES_MAX)?;
    }
    Some(texts)
}

fn read_charge(from: &mut Reader<'_>) -> Option<Charge> {
    Some(Charge {
        limit: u64::from_le_bytes(from.array()?),
        subject: u128::from_le_bytes(from.array()?),
        window_kind: from.number()?,
        window: from.number()?,
        amount: from.number()?,
    })
}

impl<'a> IntentSeen<'a> {
    pub(crate) fn tags(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (count, mut from) = self.tags;
        (0..count).map_while(move |_| from.text(TEXT_BYTES_MAX))
    }

    pub(crate) fn charge_count(&self) -> usize {
        self.charges.0
    }

    pub(crate) fn charges(&self) -> impl Iterator<Item = Charge> + use<'a> {
        let (count, mut from) = self.charges;
        (0..count).map_while(move |_| read_charge(&mut from))
    }

    /// The outcome of a call of which no more is known than what was announced.
    pub(crate) fn as_estimated(&self, kind: OutcomeKind, end_ms: u64) -> Outcome<'static> {
        Outcome {
            end_ms: end_ms.max(self.intent.start_ms),
            kind,
            basis: Basis::Estimated,
            tokens: self.intent.tokens,
            nano_usd: self.intent.nano_usd,
            ..Outcome::default()
        }
    }

    pub(crate) fn line(&self, outcome: &Outcome<'_>) -> Line {
        let intent = &self.intent;
        let Owner { customer, team, user, key } = intent.owner;
        let tier = Some(outcome.service_tier).filter(|tier| !tier.is_empty());
        Line {
            call: intent.call,
            request_id: intent.request_id.into(),
            attempt: intent.attempt,
            start_ms: intent.start_ms,
            end_ms: outcome.end_ms,
            owner: Owner { customer: customer.into(), team: team.into(), user: user.into(), key: key.into() },
            tags: self.tags().map(Into::into).collect(),
            model: intent.model.into(),
            provider: intent.provider.into(),
            credential: intent.credential.into(),
            vendor_model: intent.vendor_model.into(),
            operation: intent.operation.into(),
            batch: intent.batch,
            service_tier: tier.unwrap_or(intent.service_tier).into(),
            price_version: intent.price_version,
            outcome: outcome.kind,
            status: outcome.status,
            basis: outcome.basis,
            tokens: outcome.tokens,
            nano_usd: outcome.nano_usd,
        }
    }
}

/// An outcome as it is read, without copies.
#[derive(Clone, Copy)]
pub(crate) struct OutcomeSeen<'a> {
    /// Where its intent begins in the segment.
    pub(crate) intent: usize,
    pub(crate) outcome: Outcome<'a>,
    amounts: (usize, Reader<'a>),
}

pub(crate) fn read_outcome(payload: &[u8]) -> Option<OutcomeSeen<'_>> {
    let mut from = Reader(payload);
    let from = &mut from;
    let intent = from.count(u32::MAX as usize)?;
    let outcome = Outcome {
        end_ms: from.number()?,
        kind: OutcomeKind::numbered(from.byte()?),
        status: from.number()?.try_into().ok()?,
        basis: Basis::numbered(from.byte()?),
        tokens: read_tokens(from)?,
        nano_usd: from.number()?,
        service_tier: from.text(TEXT_BYTES_MAX)?,
        amounts: &[],
    };
    let count = from.count(CHARGES_MAX)?;
    let amounts = (count, *from);
    for _ in 0..count {
        from.number()?;
    }
    Some(OutcomeSeen { intent, outcome, amounts })
}

impl<'a> OutcomeSeen<'a> {
    pub(crate) fn amounts(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (count, mut from) = self.amounts;
        (0..count).map_while(move |_| from.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_are_seen_without_reading_the_rest() {
        let tags = ["blue".into(), "grün".into()];
        let charge = [Charge { limit: 1, amount: 300, ..Charge::default() }];
        let tokens = Tokens { input: 200, characters: 5, ..Tokens::default() };
        for (tags, tokens, charges) in [
            (&[][..], Tokens::default(), &[][..]),
            (&tags, tokens, &[]),
            (&tags, tokens, &charge),
            (&[], tokens, &charge),
        ] {
            let (request_id, model) = ("0123456789abcdef", "m".repeat(200));
            let intent = Intent {
                call: u128::MAX,
                request_id,
                attempt: 300,
                start_ms: 1_796_000_000_000,
                tags,
                model: &model,
                price_version: u64::MAX,
                tokens,
                nano_usd: 12_345,
                charges,
                ..Intent::default()
            };
            let mut out = Vec::new();
            write_intent(&mut out, &intent);
            assert_eq!(has_charges(&out), Some(!charges.is_empty()));
            assert_eq!(read_intent(&out).map(|seen| seen.charge_count()), Some(charges.len()));
            for cut in 0..out.len() {
                assert!(has_charges(&out[..cut]).is_none() || read_intent(&out[..cut]).is_none(), "{cut}");
            }
        }
        assert_eq!(has_charges(&[0xFF; 64]), None);
    }

    #[test]
    fn the_longest_line_can_be_read() {
        let (text, tags) = ("x".repeat(300), vec![Box::from("t".repeat(300)); TAGS_MAX + 1]);
        let text = text.as_str();
        let owner = Owner { customer: text, team: text, user: text, key: text };
        let most = u64::MAX;
        let charge =
            Charge { limit: most, subject: u128::MAX, window_kind: most, window: most, amount: most };
        let intent = Intent {
            request_id: text,
            start_ms: most,
            owner,
            tags: &tags,
            model: text,
            provider: text,
            credential: text,
            vendor_model: text,
            operation: text,
            service_tier: text,
            price_version: most,
            tokens: Tokens::from_array([most; TOKEN_KINDS]),
            nano_usd: most,
            charges: &[charge; CHARGES_MAX],
            ..Intent::default()
        };
        let mut out = Vec::new();
        write_intent(&mut out, &intent);
        assert!(out.len() <= crate::record::PAYLOAD_BYTES_MAX, "{} bytes", out.len());
        assert!(outcome_bytes_max(CHARGES_MAX) <= crate::record::PAYLOAD_BYTES_MAX);
        assert_eq!(read_intent(&out).map(|seen| seen.charge_count()), Some(CHARGES_MAX));
    }
}
