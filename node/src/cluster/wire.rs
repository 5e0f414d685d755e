//! Questions for the ledger and their answers as they travel between nodes, and what is wrong with those that cannot be.

use futures_util::stream;
use trestle_proto::{
    prost::{Message, bytes::Bytes},
    queries as proto,
    tonic::Status,
};
use trestle_store::{
    Basis, Cursor, Dimension, GROUPS_MAX, Line, OutcomeKind, Owner, PAGE_LINES_MAX, Page, Query, Sum,
    TOKEN_KINDS, Tokens, Totals,
};

/// Most bytes of one message.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// An answer is full with so many: whatever comes next, a line or a sum, is smaller than what is left.
const FULL_BYTES: usize = MESSAGE_BYTES_MAX - 64 * 1024;

/// A message that no node of this version sends.
#[derive(Debug, thiserror::Error)]
#[error("{0}: the sender may be of another version")]
pub(super) struct Malformed(&'static str);

impl From<Malformed> for Status {
    fn from(malformed: Malformed) -> Self {
        Self::invalid_argument(malformed.to_string())
    }
}

pub(super) fn to_filter(query: &Query) -> proto::Filter {
    let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
    let Owner { customer, team, user, key } = &query.owner;
    proto::Filter {
        from_ms: query.from_ms,
        until_ms: query.until_ms,
        customer: text(customer),
        team: text(team),
        user: text(user),
        key: text(key),
        model: text(&query.model),
        provider: text(&query.provider),
        tag: text(&query.tag),
        request_id: text(&query.request_id),
        call: query.call.map(to_id),
        outcome: query.outcome.map(|outcome| outcome.name().to_owned()),
    }
}

pub(super) fn from_filter(filter: Option<proto::Filter>) -> Result<Query, Malformed> {
    let filter = filter.ok_or(Malformed("there is no filter"))?;
    let text = |text: Option<String>| text.map(String::into_boxed_str);
    let outcome = |word: String| OutcomeKind::named(&word).ok_or(Malformed("an outcome is not known"));
    Ok(Query {
        from_ms: filter.from_ms,
        until_ms: filter.until_ms,
        owner: Owner {
            customer: text(filter.customer),
            team: text(filter.team),
            user: text(filter.user),
            key: text(filter.key),
        },
        model: text(filter.model),
        provider: text(filter.provider),
        tag: text(filter.tag),
        request_id: text(filter.request_id),
        call: filter.call.as_ref().map(from_id).transpose()?,
        outcome: filter.outcome.map(outcome).transpose()?,
    })
}

pub(super) fn to_id(id: u128) -> Bytes {
    Bytes::copy_from_slice(&id.to_be_bytes())
}

pub(super) fn from_id(bytes: &Bytes) -> Result<u128, Malformed> {
    let bytes = <[u8; 16]>::try_from(&bytes[..]).map_err(|_| Malformed("an id has not 16 bytes"))?;
    Ok(u128::from_be_bytes(bytes))
}

pub(super) fn to_place(place: Option<Cursor>) -> String {
    place.map(|place| place.to_string()).unwrap_or_default()
}

pub(super) fn from_place(text: &str) -> Result<Option<Cursor>, Malformed> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| Malformed("a place is none"))
}

/// A page as one message: where it is too large for one it ends early.
pub(super) fn to_lines(page: Page) -> proto::LinesAnswer {
    let mut answer =
        proto::LinesAnswer { next: to_place(page.next), skipped: page.skipped, ..Default::default() };
    let (mut bytes, mut last) = (0, None);
    for (place, line) in page.places.into_iter().zip(page.lines) {
        if bytes > FULL_BYTES {
            answer.next = to_place(last);
            break;
        }
        let line = to_line(place, line);
        bytes += line.encoded_len();
        last = Some(place);
        answer.lines.push(line);
    }
    answer
}

pub(super) fn from_lines(answer: proto::LinesAnswer) -> Result<Page, Malformed> {
    if answer.lines.len() > PAGE_LINES_MAX {
        return Err(Malformed("a page has more lines than it may"));
    }
    let mut page = Page { next: from_place(&answer.next)?, skipped: answer.skipped, ..Page::default() };
    for line in answer.lines {
        page.places.push(from_place(&line.place)?.ok_or(Malformed("a line has no place"))?);
        page.lines.push(from_line(line)?);
    }
    Ok(page)
}

fn to_line(place: Cursor, line: Line) -> proto::Line {
    let Owner { customer, team, user, key } = line.owner;
    proto::Line {
        place: place.to_string(),
        call: to_id(line.call),
        request_id: line.request_id.into(),
        attempt: line.attempt,
        start_ms: line.start_ms,
        end_ms: line.end_ms,
        customer: customer.into(),
        team: team.into(),
        user: user.into(),
        key: key.into(),
        tags: line.tags.into_iter().map(Into::into).collect(),
        model: line.model.into(),
        provider: line.provider.into(),
        credential: line.credential.into(),
        vendor_model: line.vendor_model.into(),
        operation: line.operation.into(),
        batch: line.batch,
        service_tier: line.service_tier.into(),
        price_version: line.price_version,
        outcome: line.outcome.name().to_owned(),
        status: line.status.into(),
        reported: line.basis == Basis::Reported,
        tokens: line.tokens.to_array().to_vec(),
        nano_usd: line.nano_usd,
    }
}

fn from_line(line: proto::Line) -> Result<Line, Malformed> {
    Ok(Line {
        call: from_id(&line.call)?,
        request_id: line.request_id.into(),
        attempt: line.attempt,
        start_ms: line.start_ms,
        end_ms: line.end_ms,
        owner: Owner {
            customer: line.customer.into(),
            team: line.team.into(),
            user: line.user.into(),
            key: line.key.into(),
        },
        tags: line.tags.into_iter().map(Into::into).collect(),
        model: line.model.into(),
        provider: line.provider.into(),
        credential: line.credential.into(),
        vendor_model: line.vendor_model.into(),
        operation: line.operation.into(),
        batch: line.batch,
        service_tier: line.service_tier.into(),
        price_version: line.price_version,
        outcome: OutcomeKind::named(&line.outcome).unwrap_or(OutcomeKind::Other),
        status: u16::try_from(line.status).map_err(|_| Malformed("a status is none"))?,
        basis: basis(line.reported),
        tokens: from_tokens(&line.tokens),
        nano_usd: line.nano_usd,
    })
}

const fn basis(reported: bool) -> Basis {
    if reported { Basis::Reported } else { Basis::Estimated }
}

/// Kinds of a later version are left out, those of an earlier one are nothing.
fn from_tokens(counts: &[u64]) -> Tokens {
    let mut tokens = [0; TOKEN_KINDS];
    tokens.iter_mut().zip(counts).for_each(|(token, count)| *token = *count);
    Tokens::from_array(tokens)
}

pub(super) fn from_words(by: &[String]) -> Result<Vec<Dimension>, Malformed> {
    // None is asked for twice.
    if by.len() > Dimension::ALL.len() {
        return Err(Malformed("sums are asked for by too much"));
    }
    let named = |word: &String| Dimension::named(word).ok_or(Malformed("a dimension is not known"));
    by.iter().map(named).collect()
}

/// The parts of an answer, at least one, each within a message.
pub(super) type SumsStream = stream::Iter<std::vec::IntoIter<Result<proto::SumsPart, Status>>>;

pub(super) fn to_parts(sums: Vec<Sum>) -> SumsStream {
    let (mut parts, mut part) = (Vec::new(), proto::SumsPart::default());
    let mut bytes = 0;
    for sum in sums {
        if bytes > FULL_BYTES {
            parts.push(Ok(std::mem::take(&mut part)));
            bytes = 0;
        }
        let sum = to_sum(sum);
        // With what says how long it is.
        bytes += sum.encoded_len() + 8;
        part.sums.push(sum);
    }
    parts.push(Ok(part));
    stream::iter(parts)
}

fn to_sum(sum: Sum) -> proto::Sum {
    let totals = |totals: Totals| proto::Totals {
        calls: totals.calls,
        tokens: totals.tokens.to_array().to_vec(),
        // Both halves, each cut to 64 bits.
        nano_usd_low: totals.nano_usd as u64,
        nano_usd_high: (totals.nano_usd >> 64) as u64,
    };
    proto::Sum {
        group: sum.group.into_iter().map(Into::into).collect(),
        reported: Some(totals(sum.reported)),
        estimated: Some(totals(sum.estimated)),
    }
}

/// Adds a part to sums by so many dimensions.
pub(super) fn from_part(part: proto::SumsPart, by: usize, sums: &mut Vec<Sum>) -> Result<(), Malformed> {
    if sums.len() + part.sums.len() > GROUPS_MAX {
        return Err(Malformed("there are more groups than there may be"));
    }
    for sum in part.sums {
        if sum.group.len() != by {
            return Err(Malformed("a group is not what was asked for"));
        }
        sums.push(Sum {
            group: sum.group.into_iter().map(Into::into).collect(),
            reported: from_totals(sum.reported),
            estimated: from_totals(sum.estimated),
        });
    }
    Ok(())
}

fn from_totals(totals: Option<proto::Totals>) -> Totals {
    let totals = totals.unwrap_or_default();
    Totals {
        calls: totals.calls,
        tokens: from_tokens(&totals.tokens),
        nano_usd: u128::from(totals.nano_usd_high) << 64 | u128::from(totals.nano_usd_low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;
    use trestle_store::{TAGS_MAX, TEXT_BYTES_MAX};

    fn line(call: u128, text: &str) -> Line {
        let of = || Box::<str>::from(text);
        Line {
            call,
            request_id: of(),
            attempt: 2,
            start_ms: 7,
            end_ms: u64::MAX,
            owner: Owner { customer: of(), team: of(), user: of(), key: of() },
            tags: vec![of(); TAGS_MAX],
            model: of(),
            provider: of(),
            credential: of(),
            vendor_model: of(),
            operation: of(),
            batch: true,
            service_tier: of(),
            price_version: u64::MAX,
            outcome: OutcomeKind::Broken,
            status: 599,
            basis: Basis::Reported,
            tokens: Tokens::from_array(std::array::from_fn(|at| u64::MAX - at as u64)),
            nano_usd: u64::MAX,
        }
    }

    #[test]
    fn a_page_arrives_as_it_was_sent_and_a_large_one_ends_early() {
        let longest = "x".repeat(TEXT_BYTES_MAX);
        for (text, count, arrives) in [("", 0, 0), ("", 1, 1), ("a", 1000, 1000), (&longest, 1000, 80)] {
            let lines: Vec<_> = (0..count).map(|call| line(call, text)).collect();
            let places: Vec<_> = (0..count).map(|at| Cursor::at(5000 - at as u64)).collect();
            let page = Page { lines, places, next: Some(Cursor::at(3)), skipped: 9 };
            let sent = to_lines(page.clone());
            assert!(sent.encoded_len() <= MESSAGE_BYTES_MAX, "{}", sent.encoded_len());
            let came = from_lines(sent).unwrap();
            assert!(came.lines.len() >= arrives, "{} of {count}", came.lines.len());
            assert_eq!(came.lines[..], page.lines[..came.lines.len()]);
            assert_eq!(came.places[..], page.places[..came.lines.len()]);
            let is_cut = came.lines.len() < page.lines.len();
            let next = if is_cut { came.places.last().copied() } else { page.next };
            assert_eq!((came.next, came.skipped, is_cut), (next, 9, text.len() > 1));
        }
    }

    #[tokio::test]
    async fn sums_arrive_in_parts() {
        let totals = |calls| Totals { calls, tokens: line(0, "").tokens, nano_usd: u128::MAX - 7 };
        let group = |at: usize| vec![format!("{at:0>256}").into(), "y".repeat(256).into()];
        let sums: Vec<_> = (0..GROUPS_MAX)
            .map(|at| Sum { group: group(at), reported: totals(at as u64), estimated: totals(1) })
            .collect();
        let parts: Vec<_> = to_parts(sums.clone()).collect().await;
        assert!(parts.len() > 2, "{}", parts.len());
        let mut came = Vec::new();
        for part in parts {
            let part = part.unwrap();
            assert!(part.encoded_len() <= MESSAGE_BYTES_MAX);
            from_part(part, 2, &mut came).unwrap();
        }
        assert_eq!(came, sums);
        let more = proto::SumsPart { sums: vec![proto::Sum::default()] };
        assert!(from_part(more.clone(), 0, &mut came).is_err(), "one more than there may be");
        assert!(from_part(more, 1, &mut Vec::new()).is_err(), "another group than was asked for");
        assert_eq!(to_parts(Vec::new()).count().await, 1);
    }

    #[test]
    fn a_filter_arrives_as_it_was_sent() {
        let text = |text: &str| Some(Box::<str>::from(text));
        let all = Query {
            from_ms: 3,
            until_ms: 9,
            owner: Owner { customer: text("c"), team: text(""), user: text("u"), key: text("k") },
            model: text("m"),
            provider: text("p"),
            tag: text("t"),
            request_id: text("r"),
            call: Some(u128::MAX - 5),
            outcome: Some(OutcomeKind::Killed),
        };
        for query in [all, Query::default()] {
            assert_eq!(from_filter(Some(to_filter(&query))).unwrap(), query);
        }
        let strange = proto::Filter { outcome: Some("splendid".to_owned()), ..Default::default() };
        assert!(from_filter(Some(strange)).is_err() && from_filter(None).is_err());
    }
}
