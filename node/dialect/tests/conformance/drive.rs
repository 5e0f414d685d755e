//! One feature through one pair.

use crate::{answers, asked, said};
use bytes::Bytes;
use std::collections::BTreeMap;
use trestle_dialect::{
    Dialect, Envelope, Quirks, StreamContext, Target, inbound,
    ir::{Event, MediaSource, Request, Response},
    outbound,
};

/// What became of a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    /// As it was.
    Exact,
    /// In other words or in another place.
    Translated,
    /// Left out and named.
    Dropped,
    /// Refused.
    Refused,
    /// Gone without a word: a fault of ours.
    Lost(String),
}

impl Cell {
    pub(crate) const fn mark(&self) -> &'static str {
        match self {
            Self::Exact => "=",
            Self::Translated => "~",
            Self::Dropped => "d",
            Self::Refused => "x",
            Self::Lost(_) => "LOST",
        }
    }
}

pub(crate) type Cells = BTreeMap<(Dialect, Dialect), Cell>;

fn quirks() -> Quirks {
    Quirks::default()
}

fn target(quirks: &Quirks) -> Target<'_> {
    Target { model: "claude-sonnet-4-5", quirks, params: &[], wants_max_completion_tokens: false }
}

pub(crate) fn context() -> StreamContext {
    let (request_id, model) = ("req-1".to_owned(), "chat".to_owned());
    StreamContext { request_id, model, created: 1_700_000_000, include_usage: true, echo: None }
}

/// Reads a body as the gateway does; model and stream may stand in the path.
fn read(dialect: Dialect, body: Vec<u8>, like: &Request) -> Result<Request, String> {
    let envelope = Envelope::parse(body.into()).map_err(|error| error.to_string())?;
    let mut request = inbound(dialect).decode_request(&envelope).map_err(|refusal| refusal.to_string())?;
    (request.model, request.stream) = (like.model.clone(), like.stream);
    request.collect_needs();
    Ok(request)
}

/// A request feature through all pairs. Pairs whose client cannot say it are not there.
pub(crate) fn request(feature: &asked::Feature) -> Cells {
    let mut cells = Cells::new();
    for client in Dialect::ALL {
        let Some(spoken) = spoken(client, feature) else { continue };
        for provider in Dialect::ALL {
            cells.insert((client, provider), told(client, provider, &spoken, feature));
        }
    }
    cells
}

/// The feature as a client of the dialect says it; `None` if it cannot.
fn spoken(client: Dialect, feature: &asked::Feature) -> Option<Request> {
    let request = (feature.request)(client)?;
    if !said::can_say(client, &request) {
        return None;
    }
    let quirks = said::generous(client);
    let encoded = outbound(client).encode_request(&request, &target(&quirks)).ok()?;
    let spoken =
        read(client, encoded.body, &request).unwrap_or_else(|error| panic!("{}: {error}", feature.name));
    (encoded.dropped.is_empty() && (feature.probe)(&spoken) == (feature.probe)(&request)).then_some(spoken)
}

fn told(client: Dialect, provider: Dialect, spoken: &Request, feature: &asked::Feature) -> Cell {
    if client == provider {
        // The body goes on as it is.
        return Cell::Exact;
    }
    let outbound = outbound(provider);
    if !spoken.needs.and(outbound.lacks_in_translation()).is_empty() {
        return Cell::Refused;
    }
    let quirks = quirks();
    if spoken.has_url(|kind| !outbound.reads_url(kind)) {
        // The gateway gets it, and the request is written with what it got.
        let mut fetched = spoken.clone();
        fetched.each_media(|media| media.source = MediaSource::Base64(said::behind(media)));
        let told = outbound.encode_request(&fetched, &target(&quirks));
        return if told.is_ok_and(|told| told.dropped.is_empty()) { Cell::Translated } else { Cell::Refused };
    }
    let Ok(encoded) = outbound.encode_request(spoken, &target(&quirks)) else { return Cell::Refused };
    let heard = match read(provider, encoded.body, spoken) {
        Ok(heard) => heard,
        Err(error) => return Cell::Lost(error),
    };
    let (before, after) = ((feature.probe)(spoken), (feature.probe)(&heard));
    if before == after {
        Cell::Exact
    } else if !encoded.dropped.is_empty() {
        Cell::Dropped
    } else if (feature.kept)(&heard) {
        Cell::Translated
    } else {
        Cell::Lost(format!("{before} became {after}"))
    }
}

/// A feature of answers through all pairs.
pub(crate) fn answer(feature: &answers::Feature) -> Cells {
    drive(feature, |provider, response| {
        let encoded = inbound(provider).encode_response(response, &context());
        let read =
            outbound(provider).decode_response(&Bytes::from(encoded.body)).map_err(|error| error.to_string());
        (read, encoded.dropped)
    })
}

/// The same, streamed.
pub(crate) fn stream(feature: &answers::Feature) -> Cells {
    drive(feature, |provider, response| {
        let mut writer = inbound(provider).encode_events(&context());
        let (mut wire, mut dropped) = (Vec::new(), Vec::new());
        said::events(response).iter().for_each(|event| writer.encode(event, &mut wire, &mut dropped));
        let (mut reader, mut events) = (outbound(provider).decode_events(), Vec::new());
        for event in provider.framing().events(&wire) {
            if let Err(error) = reader.decode(&event, &mut events) {
                return (Err(error), dropped);
            }
        }
        let ended = events.iter().any(|event| matches!(event, Event::End));
        let read = if ended { Ok(said::folded(&events)) } else { Err("the stream has no end".to_owned()) };
        (read, dropped)
    })
}

fn drive(
    feature: &answers::Feature,
    pass: impl Fn(Dialect, &Response) -> (Result<Response, String>, Vec<String>),
) -> Cells {
    let mut cells = Cells::new();
    for provider in Dialect::ALL {
        let Some(response) = (feature.response)(provider) else { continue };
        let (read, dropped) = pass(provider, &response);
        // What the provider cannot say it names, or its own reader takes it for an error.
        let Ok(given) = read else { continue };
        if !dropped.is_empty() || (feature.probe)(&given) != (feature.probe)(&response) {
            continue;
        }
        for client in Dialect::ALL {
            let cell = if client == provider {
                Cell::Exact
            } else {
                let (read, dropped) = pass(client, &given);
                match read {
                    // An end that the dialect has no word for but its word for an error.
                    Err(_) if feature.name.starts_with("end: ") => Cell::Translated,
                    Err(error) => Cell::Lost(error),
                    Ok(got) if (feature.probe)(&got) == (feature.probe)(&given) => Cell::Exact,
                    Ok(_) if !dropped.is_empty() => Cell::Dropped,
                    Ok(got) if (feature.kept)(&got) => Cell::Translated,
                    Ok(got) => {
                        Cell::Lost(format!("{} became {}", (feature.probe)(&given), (feature.probe)(&got)))
                    }
                }
            };
            cells.insert((provider, client), cell);
        }
    }
    cells
}
