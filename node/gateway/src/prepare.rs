//! What is sent to one target: the body, and for each attempt the head.

use crate::{
    Endpoint,
    cause::{Failed, Next},
    embed::{self, Embeds},
    headers::Headers,
    kept::{proof, stored},
    meter::Meter,
    pick::Picked,
    receive::Ask,
    spans::Noted,
    upstream::Outgoing,
    worker::ProviderLocal,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT},
    uri::PathAndQuery,
};
use smallvec::smallvec;
use std::{sync::Arc, time::SystemTime};
use trestle_config::{Credential, ProviderConfig, TargetConfig};
use trestle_dialect::{
    self as dialect, Dialect, Edits, Envelope, Framing, Outbound, Pieces, Stored, Target, in_words_of,
    ir::{Features, Json, Text},
    json, may_need, name_gemini_model, outbound,
    stored::PREVIOUS,
};
use trestle_provider::{Operation, Provider, Signable};

static ANYTHING: HeaderValue = HeaderValue::from_static("*/*");
static JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) static AGENT: HeaderValue =
    HeaderValue::from_static(concat!("trestle/", env!("CARGO_PKG_VERSION")));

/// What is sent to a target, the same for each attempt.
pub(crate) struct Prepared {
    /// The body.
    pub(crate) body: Outgoing,
    /// The bodies of further calls, where embeddings take several.
    pub(crate) more: Vec<Outgoing>,
    /// What is asked of the provider.
    pub(crate) operation: Operation,
    /// How embeddings are asked for.
    pub(crate) embeds: Option<Embeds>,
    /// The dialect that it is in.
    pub(crate) dialect: Dialect,
    /// The only key that can read what it holds.
    pub(crate) pinned: Option<Arc<Credential>>,
    /// What could not be expressed.
    pub(crate) dropped: Vec<String>,
}

impl Prepared {
    /// The bodies of all calls.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Outgoing> {
        std::iter::once(&self.body).chain(&self.more)
    }

    /// Who reads what an answer cost that is passed on.
    pub(crate) fn meter(&self) -> Meter {
        match self.embeds {
            Some(embeds) => Meter::Embeds(dialect::embed::codec(embeds.theirs)),
            None if self.operation.is_media() => Meter::Media,
            None => Meter::Dialect(outbound(self.dialect)),
        }
    }
}

/// Writes the request for a target, or says why it cannot serve it.
pub(crate) fn prepare(ask: &Ask, target: &TargetConfig, local: &ProviderLocal) -> Result<Prepared, Failed> {
    let provider = &target.provider;
    let wire = Target {
        model: &target.model,
        quirks: &provider.quirks,
        params: &target.params,
        wants_max_completion_tokens: local.state.wants_max_completion_tokens(&target.model),
    };
    if let Endpoint::Stored(stored, act) = ask.endpoint {
        return stored::prepare(ask, (stored, act));
    }
    if let Some(form) = ask.embeds {
        return embed::prepare(ask, form, target, &wire);
    }
    let theirs = dialect_of(ask, provider);
    let codec = outbound(theirs);
    let same = !matches!(ask.endpoint, Endpoint::Generate(dialect) if dialect != theirs);
    let lacks =
        if same { provider.quirks.lacks } else { provider.quirks.lacks.with(codec.lacks_in_translation()) };
    if !lacks.is_empty() && matches!(ask.endpoint, Endpoint::Generate(_)) {
        suits(ask, target, lacks)?;
    }
    let mut pinned = None;
    let (pieces, dropped) = if !same {
        let request = ask.decoded_for(codec)?;
        let own = Some(theirs).filter(|theirs| *theirs == Dialect::OpenAiResponses);
        let own = own.and_then(|_| proof::own_decoded((ask, request), provider, local));
        let request = own.as_ref().map_or(request, |(request, _)| request);
        let encoded = codec.encode_request(request, &wire).map_err(Failed::unfit)?;
        pinned = own.map(|(_, key)| key);
        let told = |path: &String| in_words_of(ask.dialect(), path).into_owned();
        (smallvec![encoded.body.into()], encoded.dropped.iter().map(told).collect())
    } else if matches!(ask.endpoint, Endpoint::Generate(_)) {
        let own = Some(theirs).filter(|theirs| *theirs == Dialect::OpenAiResponses);
        let own = own.and_then(|_| proof::own(ask, provider, local));
        let envelope = own.as_ref().map_or(&ask.envelope, |(envelope, _)| envelope);
        let (mut edits, dropped) = codec.edit_request(envelope, &wire).map_err(Failed::unfit)?;
        name_previous(ask, envelope, &mut edits);
        let pieces = edits.apply(envelope);
        pinned = own.map(|(_, key)| key);
        (pieces, dropped)
    } else if let Some(upload) = &ask.upload {
        (upload.form().edit(&wire).map_err(Failed::unfit)?, Vec::new())
    } else {
        (passed_on(ask, &wire), Vec::new())
    };
    if ask.strict && !dropped.is_empty() {
        return Err(strictly(target, &dropped));
    }
    let operation = ask.endpoint.operation(theirs, ask.streams());
    let (mut body, more) = (Outgoing::new(pieces), Vec::new());
    if let Some(tail) = ask.upload.as_ref().and_then(|upload| upload.tail()) {
        tail.watch(&target.params);
        body = body.before(tail);
    }
    Ok(Prepared { body, more, operation, embeds: None, pinned, dropped, dialect: theirs })
}

/// The client wants all or nothing.
pub(crate) fn strictly(target: &TargetConfig, dropped: &[String]) -> Failed {
    let message = format!("{} cannot be told {}, and the request is strict", target.name, dropped.join(", "));
    Failed { param: dropped.first().cloned(), ..Failed::new("unsupported", Next::Onward, message) }
}

/// The codec of a target for which the request is translated.
pub(crate) fn translator(ask: &Ask, target: &TargetConfig) -> Option<&'static dyn Outbound> {
    let theirs = dialect_of(ask, &target.provider);
    matches!(ask.endpoint, Endpoint::Generate(dialect) if dialect != theirs).then(|| outbound(theirs))
}

/// The client's dialect where the provider speaks it, else the provider's best.
fn dialect_of(ask: &Ask, provider: &ProviderConfig) -> Dialect {
    let ours = ask.dialect();
    if provider.dialects.contains(&ours) { ours } else { provider.dialects.first().copied().unwrap_or(ours) }
}

fn suits(ask: &Ask, target: &TargetConfig, lacks: Features) -> Result<(), Failed> {
    let streams = ask.stream && !lacks.and(Features::STREAMING).is_empty();
    if !streams && !may_need(&ask.envelope, lacks) {
        return Ok(());
    }
    let needs = ask.decoded().map_err(Failed::unreadable)?.needs.and(lacks);
    if needs.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = needs.names().collect();
    let message = format!("{} cannot serve this request: it needs {}", target.name, names.join(", "));
    Err(Failed::new("unsupported", Next::Onward, message))
}

/// Only what must change is changed.
fn passed_on(ask: &Ask, wire: &Target<'_>) -> Pieces {
    let mut edits = Edits::default();
    if !ask.dialect().model_in_path() {
        let mut model = json::Writer::with_capacity(wire.model.len() + 2);
        model.text(&Text::new(wire.model));
        edits.set(&ask.envelope, "model", Json::from_valid(model.finish().into()));
    }
    if ask.dialect() == Dialect::Gemini {
        name_gemini_model(&ask.envelope, wire.model, &mut edits);
    }
    edits.remove(&ask.envelope, "fallbacks");
    name_previous(ask, &ask.envelope, &mut edits);
    for (name, value) in wire.params {
        edits.set(&ask.envelope, name, value.clone());
    }
    edits.apply(&ask.envelope)
}

/// What the request goes on with, as its vendor names it.
fn name_previous(ask: &Ask, envelope: &Envelope, edits: &mut Edits) {
    if let Some(pin) = ask.pin.as_ref().filter(|pin| pin.stored == Stored::Response) {
        let mut id = json::Writer::with_capacity(pin.theirs.len() + 2);
        id.string(&pin.theirs);
        edits.set(envelope, PREVIOUS, Json::from_valid(id.finish().into()));
    }
}

fn accept(ask: &Ask, prepared: &Prepared) -> HeaderValue {
    static EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
    let content = matches!(ask.endpoint, Endpoint::Stored(_, act) if act.is_content());
    match prepared.dialect.framing() {
        _ if content || ask.endpoint.media().is_some() => ANYTHING.clone(),
        _ if !ask.stream => JSON.clone(),
        Framing::Sse => EVENTS.clone(),
        Framing::EventStream => HeaderValue::from_static(Framing::EventStream.media_type()),
    }
}

/// What the body is: a form keeps its boundary.
fn content_type(ask: &Ask) -> HeaderValue {
    let own = ask.upload.as_ref().and_then(|_| ask.headers.get("content-type"));
    own.and_then(|value| HeaderValue::from_bytes(value).ok()).unwrap_or_else(|| JSON.clone())
}

/// The whole request for one attempt. Only headers on the allow-list leave: ours, the provider's, and those of the
/// client that the provider's row names.
pub(crate) fn request(
    (ask, prepared, body): (&Ask, &Prepared, &Outgoing),
    provider: &ProviderConfig,
    (remote, path): (&dyn Provider, PathAndQuery),
    picked: &Picked,
    noted: Option<&Noted>,
) -> Result<Request<Outgoing>, Failed> {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(HOST, remote.host().clone());
    let method = match ask.endpoint {
        Endpoint::Stored(_, act) => act.method(),
        _ => Method::POST,
    };
    if !body.pieces().is_empty() {
        headers.insert(CONTENT_TYPE, content_type(ask));
    }
    headers.insert(ACCEPT, accept(ask, prepared));
    headers.insert(USER_AGENT, AGENT.clone());
    forward(&ask.headers, &provider.forward_headers, &mut headers);
    if let Some(noted) = noted {
        noted.write(&mut headers);
    }
    complete((method, path, headers), body, remote, picked)
}

/// Puts those headers of the client on that are named.
pub(crate) fn forward<'a>(
    sent: &Headers,
    names: impl IntoIterator<Item = &'a HeaderName>,
    headers: &mut HeaderMap,
) {
    for name in names {
        for value in sent.get_all(name.as_str()) {
            headers.extend(HeaderValue::from_bytes(value).ok().map(|value| (name.clone(), value)));
        }
    }
}

/// The request with what the provider always gets, and with the key.
pub(crate) fn complete(
    (method, path, mut headers): (Method, PathAndQuery, HeaderMap),
    body: &Outgoing,
    remote: &dyn Provider,
    picked: &Picked,
) -> Result<Request<Outgoing>, Failed> {
    remote.sign(&mut headers);
    if let Some((name, value)) = &picked.credential.header {
        headers.insert(name.clone(), value.clone());
    }
    if let Some(ready) = &picked.ready {
        // Last of all: a signature is over what is sent.
        let signable = Signable { method: &method, path: &path, body: body.whole(), now: SystemTime::now() };
        let presented = remote.present(&ready.fetched, &signable, &mut headers);
        presented.map_err(|why| Failed::new("bad_configuration", Next::Onward, why))?;
    }
    let mut request = Request::new(body.again());
    *request.method_mut() = method;
    *request.uri_mut() = Uri::from(path);
    *request.headers_mut() = headers;
    Ok(request)
}
