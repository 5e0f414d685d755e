//! Answers a request: parse, check, compose, write, keep.

use super::super::super::behaviour::Behaviour;
use super::super::super::compose::compose;
use super::super::super::kept::Account;
use super::super::super::vendor::{Reply, VendorError};
use super::super::{chat::parse, files};
use super::{answer, ask, check, events, kept};

/// `POST /v1/responses`.
pub(crate) fn responses(
    body: &[u8],
    behaviour: &Behaviour,
    account: Account<'_>,
) -> Result<Reply, VendorError> {
    let body = parse(body)?;
    files::check(&body, account)?;
    let before = kept::previous(&body, account)?;
    let mut all = body.clone();
    if !before.is_empty() {
        all["input"] = before.iter().cloned().chain(kept::items(&body)).collect();
    }
    check::request(&all, behaviour, account)?;
    let ask = ask::read(&all);
    let answer = compose(&ask, behaviour);
    let shape = answer::Shape::new(&body, &answer, behaviour, account);
    let (whole, events) = (shape.whole(&answer), events::events(&answer, &shape));
    let waiting = kept::keep((&body, before), (&whole, &events), account)?;
    Ok(match waiting {
        _ if ask.stream => Reply::Stream(events),
        Some(waiting) => Reply::Whole(waiting.to_string()),
        None => Reply::Whole(whole),
    })
}
