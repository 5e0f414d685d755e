//! Head and body of a request become an `Ask`: an envelope, held within the bounds.

use crate::{
    Endpoint, Form, Item, Named, RequestBody, RequestLine,
    budget::Held,
    cause::Failed,
    flight::Flight,
    headers::Headers,
    ids::Ids,
    pin::Pin,
    upstream::{Encoding, Inflate, InflateError},
};
use bytes::{Bytes, BytesMut};
use std::{cell::OnceCell, sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};
use trestle_config::Settings;
use trestle_dialect::{
    Dialect, Edits, Envelope, Outbound, Refusal, RefusalKind, embed, inbound,
    ir::{self, Text},
};
use trestle_provider::Stream;

/// A body gets this long, and one more second for each `SLOWEST` bytes that have come.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Slower clients are told so: bytes a second.
const SLOWEST: u64 = 16 * 1024;
/// Room that is reserved on the client's word alone.
const TRUSTED: u64 = 1024 * 1024;
/// Per-request fallbacks.
const FALLBACKS_MAX: usize = 16;

/// What a client asks, read as far as every request must be.
pub(crate) struct Ask {
    /// Where.
    pub(crate) endpoint: Endpoint,
    /// The client's headers.
    pub(crate) headers: Headers,
    /// The body.
    pub(crate) envelope: Envelope,
    /// The model as the client named it.
    pub(crate) model: String,
    /// The answer is to be streamed.
    pub(crate) stream: bool,
    /// How, then.
    pub(crate) form: Form,
    /// The client wants usage in the stream.
    pub(crate) wants_usage: bool,
    /// What a target cannot be told is refused, and not left out.
    pub(crate) strict: bool,
    /// Targets of the client's own choice, to be tried after the first.
    pub(crate) fallbacks: Option<Vec<String>>,
    /// What of the kept is meant.
    pub(crate) item: Option<Box<Item>>,
    /// What seals the ids in the answer.
    pub(crate) ids: Option<Arc<Ids>>,
    /// The only route that can serve it.
    pub(crate) pin: Option<Pin>,
    /// What changes in a body that makes something to keep.
    pub(crate) edits: Edits,
    /// The form of a request for embeddings.
    pub(crate) embeds: Option<embed::Form>,
    embed: OnceCell<Result<embed::Request, Refusal>>,
    decoded: OnceCell<Result<ir::Request, Refusal>>,
    inlined: OnceCell<Result<ir::Request, Failed>>,
    #[allow(dead_code, reason = "given back when the request ends")]
    held: Held,
}

impl Ask {
    /// The dialect in which the client speaks.
    pub(crate) fn dialect(&self) -> Dialect {
        self.endpoint.dialect()
    }

    /// Reads what every request must say.
    pub(crate) fn read(
        RequestLine { endpoint, named, item, form, .. }: RequestLine,
        headers: Headers,
        body: Bytes,
        held: Held,
    ) -> Result<Self, Refusal> {
        let stored = matches!(endpoint, Endpoint::Stored(..));
        let body = if stored && body.is_empty() { Bytes::from_static(b"{}") } else { body };
        let envelope = Envelope::parse(body).map_err(|error| {
            Refusal::new(
                RefusalKind::InvalidRequest,
                format!("the body is not an acceptable JSON object: {error}"),
            )
        })?;
        let embeds = match endpoint {
            Endpoint::Embed(api) => Some(api.form_of(&envelope)?),
            _ => None,
        };
        let (model, stream) = match named {
            // What is kept has its model already.
            _ if stored => (String::new(), item.as_ref().is_some_and(|item| item.streams())),
            // Embeddings are never streamed, whatever the body says.
            Some(Named { model, .. }) if embeds.is_some() => (model.into_string(), false),
            None if embeds.is_some() => (read_model(&envelope)?, false),
            Some(Named { model, stream: Some(stream) }) => (model.into_string(), stream),
            Some(Named { model, stream: None }) => (model.into_string(), read_stream(&envelope)?),
            None => (read_model(&envelope)?, read_stream(&envelope)?),
        };
        let wants_usage = match endpoint {
            Endpoint::Generate(dialect) => inbound(dialect).wants_usage(&envelope),
            _ => true,
        };
        let fallbacks = fallbacks(&envelope, &headers)?;
        let strict = strict(&headers)?;
        let (embed, decoded, inlined) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Ok(Self {
            endpoint,
            headers,
            envelope,
            model,
            stream,
            form,
            wants_usage,
            strict,
            fallbacks,
            item,
            ids: None,
            pin: None,
            edits: Edits::default(),
            embeds,
            embed,
            decoded,
            inlined,
            held,
        })
    }

    /// The request for a target that speaks `codec`: with the media that it cannot be told by URL, if they were fetched.
    pub(crate) fn decoded_for(&self, codec: &dyn Outbound) -> Result<&ir::Request, Failed> {
        match self.inlined.get() {
            Some(inlined) if self.must_fetch(codec)? => inlined.as_ref().map_err(Clone::clone),
            _ => self.decoded().map_err(Failed::unreadable),
        }
    }

    /// Whether media are named by URL that such a target cannot be told.
    pub(crate) fn must_fetch(&self, codec: &dyn Outbound) -> Result<bool, Failed> {
        let request = self.decoded().map_err(Failed::unreadable)?;
        Ok(request.has_url(|kind| !codec.reads_url(kind)))
    }

    /// Keeps what was fetched, or why it was not.
    pub(crate) fn keep(&self, inlined: Result<ir::Request, Failed>) {
        let _ = self.inlined.set(inlined);
    }

    /// Whether `keep` was called.
    pub(crate) fn has_fetched(&self) -> bool {
        self.inlined.get().is_some()
    }

    /// Whether the answer is to be streamed, for the provider.
    pub(crate) fn streams(&self) -> Stream {
        if self.stream { Stream::Yes } else { Stream::No }
    }

    /// A request for embeddings in our own representation; decoded once, and only if somebody asks.
    pub(crate) fn embed(&self, form: embed::Form) -> Result<&embed::Request, Refusal> {
        let decoded = self.embed.get_or_init(|| embed::codec(form).decode_request(&self.envelope));
        decoded.as_ref().map_err(Clone::clone)
    }

    /// The request in our own representation; decoded once, and only if somebody asks.
    pub(crate) fn decoded(&self) -> Result<&ir::Request, Refusal> {
        let decoded = self.decoded.get_or_init(|| {
            let mut request = inbound(self.dialect()).decode_request(&self.envelope)?;
            // In some dialects the path says both.
            (request.model, request.stream) = (Text::new(&self.model), self.stream);
            request.collect_needs();
            Ok(request)
        });
        decoded.as_ref().map_err(Clone::clone)
    }
}

/// Reads the body and what every request must say.
pub(crate) async fn receive(
    flight: &mut Flight,
    settings: &Settings,
    (line, headers): (RequestLine, Headers),
    body: RequestBody,
) -> Result<Ask, Refusal> {
    let mut held = flight.worker.budget().share();
    let bytes = collect(settings, &headers, body, &mut held).await?;
    flight.record.bytes_in = bytes.len() as u64;
    let mut ask = Ask::read(line, headers, bytes, held)?;
    ask.strict |= flight.record.caller.as_ref().is_some_and(|caller| caller.strict);
    flight.record.model = ask.model.chars().take(128).collect();
    flight.record.stream = ask.stream;
    Ok(ask)
}

fn read_model(envelope: &Envelope) -> Result<String, Refusal> {
    let Some(value) = envelope.get("model") else {
        return Err(Refusal::invalid(
            "model",
            "`model` is missing: name a model such as `openai/gpt-4o-mini`",
        ));
    };
    match value.string() {
        Some(model) if !model.trim().is_empty() => Ok(model.into_owned()),
        Some(_) => Err(Refusal::invalid("model", "`model` is empty")),
        None => Err(Refusal::invalid("model", "`model` must be a string")),
    }
}

fn read_stream(envelope: &Envelope) -> Result<bool, Refusal> {
    match envelope.get("stream") {
        None => Ok(false),
        Some(value) if value.is_null() => Ok(false),
        Some(value) => {
            value.bool().ok_or_else(|| Refusal::invalid("stream", "`stream` must be true or false"))
        }
    }
}

fn fallbacks(envelope: &Envelope, headers: &Headers) -> Result<Option<Vec<String>>, Refusal> {
    let named: Vec<String> = if let Some(value) = envelope.get("fallbacks") {
        let strings: Option<Vec<_>> = value.elements().map(|e| e.string().map(|s| s.into_owned())).collect();
        let array = value.bytes().first() == Some(&b'[');
        strings.filter(|_| array).ok_or_else(|| {
            Refusal::invalid(
                "fallbacks",
                "`fallbacks` must be an array of model names such as `anthropic/claude-sonnet-5`",
            )
        })?
    } else if let Some(value) = headers.get("x-trestle-fallbacks") {
        let text = std::str::from_utf8(value)
            .map_err(|_| Refusal::invalid("x-trestle-fallbacks", "the header must be plain text"))?;
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    } else {
        return Ok(None);
    };
    if named.len() > FALLBACKS_MAX {
        return Err(Refusal::invalid("fallbacks", format!("at most {FALLBACKS_MAX} fallbacks can be named")));
    }
    Ok(Some(named))
}

fn strict(headers: &Headers) -> Result<bool, Refusal> {
    match headers.get("x-trestle-strict") {
        None | Some(b"false") => Ok(false),
        Some(b"true") => Ok(true),
        Some(_) => Err(Refusal::invalid("x-trestle-strict", "the header must be `true` or `false`")),
    }
}

fn too_large(settings: &Settings) -> Refusal {
    Refusal::new(
        RefusalKind::TooLarge,
        format!("the body is larger than {} bytes (settings.body_bytes_max)", settings.body_bytes_max),
    )
}

fn bad_encoding(error: InflateError, settings: &Settings) -> Refusal {
    match error {
        InflateError::TooLarge => too_large(settings),
        other => Refusal::invalid("content-encoding", other.to_string()),
    }
}

/// Reads the whole body: each byte is copied at most once, none where it comes in one piece.
async fn collect(
    settings: &Settings,
    headers: &Headers,
    mut body: RequestBody,
    held: &mut Held,
) -> Result<Bytes, Refusal> {
    let length = headers.text("content-length").and_then(|length| length.parse::<u64>().ok()).unwrap_or(0);
    if length > settings.body_bytes_max {
        return Err(too_large(settings));
    }
    let encoding = headers.get("content-encoding").map_or(Encoding::Identity, Encoding::of);
    let mut inflate =
        Inflate::new(encoding, settings.body_bytes_max).map_err(|error| bad_encoding(error, settings))?;
    let (mut first, mut all) = (Bytes::new(), BytesMut::new());
    let (started, mut taken) = (Instant::now(), 0u64);
    while !body.is_end() {
        let deadline = started + BODY_TIME + Duration::from_secs(taken / SLOWEST);
        let next = timeout_at(deadline, body.data()).await.map_err(|_| {
            Refusal::new(
                RefusalKind::ClientTimeout,
                "the body did not arrive in time: send it faster, or in one piece",
            )
        })?;
        let Some(data) = next else { break };
        let mut data = data.map_err(|_| {
            Refusal::new(RefusalKind::InvalidRequest, "the body ended before its announced length")
        })?;
        if let Some(inflate) = &mut inflate {
            data = inflate.push(&data).map_err(|e| bad_encoding(e, settings))?.into();
        }
        taken += data.len() as u64;
        if taken > settings.body_bytes_max {
            return Err(too_large(settings));
        }
        held.grow(data.len(), settings.buffered_bytes_max).map_err(|_| {
            Refusal::new(
                RefusalKind::Overloaded,
                "too many bytes of requests are in flight: try again shortly",
            )
        })?;
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            // Where the first piece has room for the rest already, it is not copied.
            all = BytesMut::from(std::mem::take(&mut first));
            all.reserve(length.min(TRUSTED).max(taken * 2).saturating_sub(all.len() as u64) as usize);
        }
        all.extend_from_slice(&data);
    }
    if let Some(mut inflate) = inflate {
        let rest = inflate.finish().map_err(|e| bad_encoding(e, settings))?;
        all.extend_from_slice(&std::mem::take(&mut first));
        all.extend_from_slice(&rest);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}
