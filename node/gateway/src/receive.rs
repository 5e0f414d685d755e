//! Head and body of a request become an `Ask`: an envelope, held within the bounds.

use crate::{
    Endpoint, Form, Item, Named, RequestBody, RequestLine,
    budget::Held,
    cause::Failed,
    flight::Flight,
    headers::Headers,
    intake::Intake,
    kept::{Ids, Pin},
    route::LeftOut,
    signed::Signed,
    tail::Tail,
    upload::{self, Upload},
};
use bytes::{Bytes, BytesMut};
use std::{cell::OnceCell, sync::Arc};
use trestle_config::{Credential, Settings};
use trestle_dialect::{
    Dialect, Edits, Envelope, Outbound, Refusal, RefusalKind, embed, inbound,
    ir::{self, Text},
    lower_output,
};
use trestle_provider::Stream;

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
    /// The body; without members if it is a form.
    pub(crate) envelope: Envelope,
    /// The body, if it is a form.
    pub(crate) upload: Option<Box<Upload>>,
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
    /// Targets that it does not go to.
    pub(crate) left_out: Vec<LeftOut>,
    /// What changes in a body that makes something to keep. Boxed, as what follows: few requests have it, and all would be as
    /// large.
    pub(crate) edits: Option<Box<Edits>>,
    /// The file in a form, where it is not sent as it came.
    pub(crate) file: Option<Bytes>,
    /// The form of a request for embeddings.
    pub(crate) embeds: Option<embed::Form>,
    embed: OnceCell<Box<Result<embed::Request, Refusal>>>,
    decoded: OnceCell<Box<Result<ir::Request, Refusal>>>,
    inlined: OnceCell<Box<Result<ir::Request, Failed>>>,
    /// Given back when the request ends.
    held: Held,
}

impl Ask {
    /// The dialect in which the client speaks.
    pub(crate) fn dialect(&self) -> Dialect {
        self.endpoint.dialect()
    }

    /// Reads what every request must say.
    pub(crate) fn read(
        line: RequestLine,
        headers: Headers,
        body: Bytes,
        held: Held,
    ) -> Result<Self, Refusal> {
        if upload::is_form(line.endpoint, &headers) {
            let upload = Upload::whole(&headers, body)?;
            return Self::of_form(line, headers, upload, held);
        }
        let stored = matches!(line.endpoint, Endpoint::Stored(..));
        let body = if stored && body.is_empty() { Bytes::from_static(b"{}") } else { body };
        let envelope = Envelope::parse(body).map_err(|error| {
            let form = line.endpoint.takes_form();
            let or = if form { ", nor multipart/form-data by its content-type" } else { "" };
            Refusal::new(
                RefusalKind::InvalidRequest,
                format!("the body is not an acceptable JSON object{or}: {error}"),
            )
        })?;
        let RequestLine { endpoint, named, item, form, .. } = line;
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
        let fallbacks = fallbacks(&envelope)?;
        let ask = Self {
            model,
            stream,
            form,
            wants_usage,
            item,
            embeds,
            ..Self::new(endpoint, envelope, headers, held)
        };
        ask.with_options(fallbacks)
    }

    /// Reads the same of a form.
    fn of_form(line: RequestLine, headers: Headers, upload: Upload, held: Held) -> Result<Self, Refusal> {
        let stored = matches!(line.endpoint, Endpoint::Stored(..));
        let model = match line.named {
            Some(Named { model, .. }) => model.into_string(),
            None if stored => String::new(),
            None => upload.model()?,
        };
        let (stream, fallbacks) = (upload.stream()?, upload.fallbacks()?);
        let ask = Self {
            model,
            stream,
            upload: Some(Box::new(upload)),
            item: line.item,
            ..Self::new(line.endpoint, Envelope::default(), headers, held)
        };
        ask.with_options(fallbacks)
    }

    fn new(endpoint: Endpoint, envelope: Envelope, headers: Headers, held: Held) -> Self {
        Self {
            endpoint,
            headers,
            envelope,
            upload: None,
            model: String::new(),
            stream: false,
            form: Form::Events,
            wants_usage: true,
            strict: false,
            fallbacks: None,
            item: None,
            ids: None,
            pin: None,
            left_out: Vec::new(),
            edits: None,
            file: None,
            embeds: None,
            embed: OnceCell::new(),
            decoded: OnceCell::new(),
            inlined: OnceCell::new(),
            held,
        }
    }

    /// With what headers may say, too.
    fn with_options(mut self, fallbacks: Option<Vec<String>>) -> Result<Self, Refusal> {
        self.fallbacks = match fallbacks {
            None => fallbacks_in(&self.headers)?,
            named => named,
        };
        if self.fallbacks.as_ref().is_some_and(|named| named.len() > FALLBACKS_MAX) {
            let message = format!("at most {FALLBACKS_MAX} fallbacks can be named");
            return Err(Refusal::invalid("fallbacks", message));
        }
        self.strict = strict(&self.headers)?;
        Ok(self)
    }

    /// Counts bytes that are held beside the body.
    pub(crate) fn hold(&mut self, bytes: usize, settings: &Settings) -> Result<(), Refusal> {
        keep(&mut self.held, bytes, settings)
    }

    /// Bytes of the body that are held.
    fn held_bytes(&self) -> u64 {
        let body = self.upload.as_ref().map_or(self.envelope.body(), |upload| upload.form().body());
        body.len() as u64
    }

    /// The only key that will do; `prepared` is that of what was prepared for a target.
    pub(crate) fn only_key<'a>(
        &'a self,
        prepared: Option<&'a Arc<Credential>>,
    ) -> Option<&'a Arc<Credential>> {
        self.pin.as_ref().and_then(|pin| pin.credential.as_ref()).or(prepared)
    }

    /// What was sent on of a form that was not held.
    pub(crate) fn tail(&self) -> Option<&Tail> {
        self.upload.as_ref()?.tail().map(|tail| &**tail)
    }

    /// Whether all that was sent is still held, so that it can be sent again.
    pub(crate) fn can_repeat(&self) -> bool {
        self.tail().is_none_or(|tail| tail.taken() == 0)
    }

    /// The request for a target that speaks `codec`: with the media that it cannot be told by URL, if they were fetched.
    pub(crate) fn decoded_for(&self, codec: &dyn Outbound) -> Result<&ir::Request, Failed> {
        match self.inlined.get() {
            Some(inlined) if self.must_fetch(codec)? => (**inlined).as_ref().map_err(Clone::clone),
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
        let _ = self.inlined.set(Box::new(inlined));
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
        let decode = || Box::new(embed::codec(form).decode_request(&self.envelope));
        (**self.embed.get_or_init(decode)).as_ref().map_err(Clone::clone)
    }

    /// The service tier that the client asks for, where it is one with prices of its own.
    pub(crate) fn service_tier(&self) -> Option<&'static str> {
        let Endpoint::Generate(Dialect::OpenAiChat | Dialect::OpenAiResponses) = self.endpoint else {
            return None;
        };
        let tier = self.envelope.get("service_tier")?;
        ["flex", "priority"].into_iter().find(|known| tier.is_str(known))
    }

    /// Has the answer be of so many tokens at most.
    pub(crate) fn lower(&mut self, tokens: u64) -> Result<(), Refusal> {
        let Endpoint::Generate(dialect) = self.endpoint else { return Ok(()) };
        let body = lower_output(dialect, &self.envelope, tokens);
        self.envelope = Envelope::parse(body).map_err(|error| {
            Refusal::new(RefusalKind::InvalidRequest, format!("the body is not acceptable: {error}"))
        })?;
        (self.decoded, self.inlined) = (OnceCell::new(), OnceCell::new());
        Ok(())
    }

    /// The request in our own representation; decoded once, and only if somebody asks.
    pub(crate) fn decoded(&self) -> Result<&ir::Request, Refusal> {
        let decode = || {
            let mut request = inbound(self.dialect()).decode_request(&self.envelope)?;
            // In some dialects the path says both.
            (request.model, request.stream) = (Text::new(&self.model), self.stream);
            request.collect_needs();
            Ok(request)
        };
        (**self.decoded.get_or_init(|| Box::new(decode()))).as_ref().map_err(Clone::clone)
    }
}

/// Reads the body and what every request must say.
pub(crate) async fn receive(
    flight: &mut Flight,
    settings: &Settings,
    (line, headers): (RequestLine, Headers),
    body: RequestBody,
    signed: Option<Signed>,
) -> Result<Ask, Refusal> {
    let mut held = flight.worker.budget().share();
    let intake = Intake::new(settings, &headers, body)?;
    let mut ask = if upload::is_form(line.endpoint, &headers) {
        // Boxed: few requests are forms, and all would be as large.
        let upload = Box::pin(upload::receive(line.endpoint, settings, &headers, intake, &mut held)).await?;
        Ask::of_form(line, headers, upload, held)?
    } else {
        let bytes = collect(settings, intake, &mut held).await?;
        if let Some(signed) = signed {
            flight.record.caller = Some(signed.check(&headers, &bytes)?);
        }
        Ask::read(line, headers, bytes, held)?
    };
    flight.record.bytes_in = ask.held_bytes();
    ask.strict |= flight.record.caller.as_ref().is_some_and(|caller| caller.strict);
    flight.record.model = ask.model.chars().take(128).collect();
    flight.record.stream = ask.stream;
    Ok(ask)
}

fn read_model(envelope: &Envelope) -> Result<String, Refusal> {
    match envelope.get("model").map(|value| value.string()) {
        Some(None) => Err(Refusal::invalid("model", "`model` must be a string")),
        None => named(None),
        Some(Some(model)) => named(Some(&model)),
    }
}

/// The model that a body names.
pub(crate) fn named(model: Option<&str>) -> Result<String, Refusal> {
    match model {
        Some(model) if !model.trim().is_empty() => Ok(model.to_owned()),
        Some(_) => Err(Refusal::invalid("model", "`model` is empty")),
        None => {
            let message = "`model` is missing: name a model such as `openai/gpt-4o-mini`";
            Err(Refusal::invalid("model", message))
        }
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

fn fallbacks(envelope: &Envelope) -> Result<Option<Vec<String>>, Refusal> {
    let Some(value) = envelope.get("fallbacks") else { return Ok(None) };
    let strings: Option<Vec<_>> = value.elements().map(|e| e.string().map(|s| s.into_owned())).collect();
    let array = value.bytes().first() == Some(&b'[');
    strings.filter(|_| array).map(Some).ok_or_else(bad_fallbacks)
}

/// They are no list of names.
pub(crate) fn bad_fallbacks() -> Refusal {
    let message = "`fallbacks` must be an array of model names such as `anthropic/claude-sonnet-5`";
    Refusal::invalid("fallbacks", message)
}

fn fallbacks_in(headers: &Headers) -> Result<Option<Vec<String>>, Refusal> {
    let Some(value) = headers.get("x-trestle-fallbacks") else { return Ok(None) };
    let text = std::str::from_utf8(value)
        .map_err(|_| Refusal::invalid("x-trestle-fallbacks", "the header must be plain text"))?;
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    Ok(Some(names.map(str::to_owned).collect()))
}

fn strict(headers: &Headers) -> Result<bool, Refusal> {
    match headers.get("x-trestle-strict") {
        None | Some(b"false") => Ok(false),
        Some(b"true") => Ok(true),
        Some(_) => Err(Refusal::invalid("x-trestle-strict", "the header must be `true` or `false`")),
    }
}

/// Counts bytes among the bodies in flight.
pub(crate) fn keep(held: &mut Held, bytes: usize, settings: &Settings) -> Result<(), Refusal> {
    held.grow(bytes, settings.buffered_bytes_max).map_err(|_| {
        Refusal::new(RefusalKind::Overloaded, "too many bytes of requests are in flight: try again shortly")
    })
}

/// Reads the whole body: each byte is copied at most once, none where it comes in one piece, and up to `TRUSTED` twice
/// where more was announced.
pub(crate) async fn collect(
    settings: &Settings,
    mut intake: Intake,
    held: &mut Held,
) -> Result<Bytes, Refusal> {
    let length = intake.length().unwrap_or(0);
    let (mut first, mut all) = (Bytes::new(), BytesMut::new());
    let mut taken = 0;
    while !intake.is_end() {
        let Some(data) = intake.next().await else { break };
        let data = data?;
        taken += data.len() as u64;
        keep(held, data.len(), settings)?;
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            // Where the first piece has room for the rest already, it is not copied.
            all = BytesMut::from(std::mem::take(&mut first));
        }
        if all.capacity() - all.len() < data.len() {
            // Who has sent as much as is trusted is believed the rest.
            let whole = if taken < TRUSTED { length.min(TRUSTED) } else { length };
            all.reserve((whole.max(taken) - all.len() as u64) as usize);
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}
