//! Takes the answer of a target: whole, in parts, or as events up to the first content.

use crate::{
    Act, Endpoint, Form,
    attempt::{Target, Walk, timed_out},
    budget::Held,
    cause::{Failed, Next},
    inspect,
    kept::{Ids, Minter, route_mark, sole_route},
    meter::{Meter, NotJson},
    pick::Picked,
    realtime::Link,
    stream::{Stream, Translation},
    timer::Timer,
    upstream::{Encoding, Head, Incoming},
};
use bytes::{Bytes, BytesMut};
use std::{
    collections::VecDeque,
    pin::pin,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use trestle_config::ProviderKind;
use trestle_dialect::{Dialect, Look, Stored, StreamContext, inbound, ir::Usage, mark_sealed, outbound};
use trestle_provider::Operation;

/// A buffered answer is read whole before the client sees a byte of it, up to this size.
const WHOLE_BYTES_MAX: usize = 1024 * 1024;

/// What was read of a body, whether that is all, and its share of the bodies in flight.
pub(crate) type Collected = (VecDeque<Bytes>, bool, Held);

/// An answer that will be the client's.
pub(crate) enum Won {
    /// All of it, in the client's dialect, and what that could not express.
    Whole(Bytes, Vec<String>),
    /// A large one or one that is no JSON, in parts.
    Parts(Parts),
    /// Events, from the first content on.
    Events(Box<Stream>),
    /// A session over WebSocket.
    Session(Box<Link>),
}

/// An answer in parts.
pub(crate) struct Parts {
    /// What is there.
    pub(crate) queue: VecDeque<Bytes>,
    /// What comes.
    pub(crate) body: Incoming,
    /// The length, if it is known.
    pub(crate) length: Option<u64>,
    /// What it is, if it is no JSON.
    pub(crate) media_type: Option<Box<str>>,
    /// Who reads what it cost.
    pub(crate) meter: Meter,
}

impl Walk<'_> {
    /// Takes a success as what was asked for.
    pub(crate) async fn answer(
        &mut self,
        target: &Target<'_>,
        picked: &Picked,
        (head, body): (Head, Incoming),
    ) -> Result<Won, Failed> {
        if let Some(operation) = self.ask.endpoint.media() {
            // Boxed: few requests need it, and all would be as large.
            return Box::pin(self.media(target, picked, (operation, head, body))).await;
        }
        if let Endpoint::Stored(_, act) = self.ask.endpoint
            && act.is_content()
        {
            // The results of a batch; other files have no such lines.
            let (queue, length, meter) = (VecDeque::new(), length(&head), Meter::Lines);
            return Ok(Won::Parts(Parts { queue, body, length, media_type: head.media_type, meter }));
        }
        match (self.ask.stream, head.is_events) {
            (true, true) => self.events(target, picked, body).await,
            (false, false) => self.whole(target, picked, (&head, body)).await,
            (true, false) => Err(Failed::malformed("the provider did not answer with a stream")),
            (false, true) => Err(Failed::malformed("the provider answered with a stream")),
        }
    }

    /// Sound, pictures or what is said of them, in the form that the provider gave it.
    async fn media(
        &mut self,
        target: &Target<'_>,
        picked: &Picked,
        (operation, head, body): (Operation, Head, Incoming),
    ) -> Result<Won, Failed> {
        let speech = operation == Operation::Speech;
        if speech && let Some(text) = self.ask.envelope.get("input").and_then(|input| input.string()) {
            self.flight.usage(Usage { characters: text.chars().count() as u64, ..Usage::default() });
        }
        if head.is_events {
            self.flight.record.stream = true;
            return self.events(target, picked, body).await;
        }
        if head.media_type.is_none() && !speech {
            return self.whole(target, picked, (&head, body)).await;
        }
        let (queue, length, meter) = (VecDeque::new(), length(&head), target.prepared.meter());
        Ok(Won::Parts(Parts { queue, body, length, media_type: head.media_type, meter }))
    }

    /// A stream, up to its first content.
    async fn events(&mut self, target: &Target<'_>, picked: &Picked, body: Incoming) -> Result<Won, Failed> {
        let stream = Stream::new(body, target.prepared.dialect.framing(), self.translation(target));
        let stream = stream.with_ids(self.minter(target, picked)).with_mark(self.mark(target, picked));
        let stream = match (self.ask.form, self.ask.endpoint) {
            (Form::Array, _) => stream.in_array(),
            // Of others no end is known but that of their bytes.
            (_, Endpoint::Pass(other)) if other != Operation::Completions => stream.without_end(),
            _ => stream,
        };
        let commit = Box::pin(inspect::commit(stream, self.flight, self.timer));
        Ok(Won::Events(Box::new(commit.await?)))
    }

    fn translation(&self, target: &Target<'_>) -> Translation {
        let (ours, theirs) = (self.ask.dialect(), target.prepared.dialect);
        if let Endpoint::Generate(_) = self.ask.endpoint
            && ours != theirs
        {
            let (decoder, context) = (outbound(theirs).decode_events(), self.context());
            return Translation::Cross { decoder, encoder: inbound(ours).encode_events(&context) };
        }
        let look = if let Endpoint::Pass(_) = self.ask.endpoint { Look::Meter } else { Look::Commit };
        let codec = outbound(theirs);
        let listens = self.flight.is_sampled() && matches!(self.ask.endpoint, Endpoint::Generate(_));
        let listener = listens.then(|| codec.decode_events());
        Translation::Same { codec, listener, strip_usage: !self.ask.wants_usage, look }
    }

    /// What seals the ids in the answer of this route, where it has some.
    fn minter(&self, target: &Target<'_>, picked: &Picked) -> Option<Minter> {
        let stored = match self.ask.endpoint {
            Endpoint::Stored(_, Act::InputItems) => return None,
            Endpoint::Stored(stored, _) => self.ask.pin.as_ref().map_or(stored, |pin| pin.stored),
            Endpoint::Generate(Dialect::OpenAiResponses)
                if target.prepared.dialect == Dialect::OpenAiResponses =>
            {
                Stored::Response
            }
            _ => return None,
        };
        let provider = Arc::clone(&target.config.provider);
        // The built-in mock keeps nothing.
        if !matches!(provider.kind, ProviderKind::Remote(_)) {
            return None;
        }
        // Made only here, where few requests come to: keys have to be set up for it.
        let flight = &self.flight;
        let made = || Ids::of(&flight.worker.snapshot(), flight.record.caller.as_deref()).map(Arc::new);
        let ids = self.ask.ids.clone().or_else(made)?;
        Some(Minter { ids, stored, provider, credential: Arc::clone(&picked.credential) })
    }

    /// What names this route in what only it can read, where that must be said.
    fn mark(&self, target: &Target<'_>, picked: &Picked) -> Option<String> {
        let seals = target.prepared.dialect == Dialect::OpenAiResponses
            && matches!(self.ask.endpoint, Endpoint::Generate(_));
        let marks = seals && sole_route(&self.flight.worker.snapshot()).is_none();
        marks.then(|| route_mark(&target.config.provider, &picked.credential))
    }

    pub(crate) fn context(&self) -> StreamContext {
        StreamContext {
            request_id: self.flight.id(),
            model: self.ask.model.clone(),
            created: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            include_usage: self.ask.wants_usage,
            echo: inbound(self.ask.dialect()).echo(&self.ask.envelope),
        }
    }

    /// Reads an answer that is not a stream. Up to a bound it is read whole and checked before the client sees a byte.
    async fn whole(
        &mut self,
        target: &Target<'_>,
        picked: &Picked,
        (head, mut body): (&Head, Incoming),
    ) -> Result<Won, Failed> {
        let (ours, theirs) = (self.ask.dialect(), target.prepared.dialect);
        let same = ours == theirs || !matches!(self.ask.endpoint, Endpoint::Generate(_));
        let meter = target.prepared.meter();
        if let Some(input) = head.input_tokens {
            self.flight.usage(Usage { input, ..Usage::default() });
        }
        let ids = self.minter(target, picked);
        let in_parts = same && ids.is_none();
        let max = if in_parts { WHOLE_BYTES_MAX } else { self.settings.body_bytes_max as usize };
        let (parts, complete, _held) = self.collect(&mut body, max).await?;
        if !complete {
            if !in_parts {
                return Err(Failed::malformed("the provider's answer is too large to be translated"));
            }
            let length = length(head);
            return Ok(Won::Parts(Parts { queue: parts, body, length, media_type: None, meter }));
        }
        let bytes = joined(parts);
        let mark = self.mark(target, picked);
        let bytes = mark.and_then(|mark| mark_sealed(&bytes, &mark)).unwrap_or(bytes);
        let codec = outbound(theirs);
        if same {
            let usage = meter.in_whole(&bytes).map_err(|NotJson| not_json())?;
            if self.flight.is_sampled()
                && matches!(self.ask.endpoint, Endpoint::Generate(_))
                && let Ok(response) = codec.decode_response(&bytes)
            {
                self.flight.response(&response);
            }
            // What is kept was counted when it was made.
            if let Some(usage) = usage.filter(|_| !matches!(self.ask.endpoint, Endpoint::Stored(..))) {
                self.flight.usage(usage);
            }
            let bytes = match ids {
                Some(ids) => ids.whole(&bytes).map_err(|_| not_json())?,
                None => bytes,
            };
            return Ok(Won::Whole(bytes, Vec::new()));
        }
        let response = codec.decode_response(&bytes).map_err(Failed::malformed)?;
        self.flight.response(&response);
        if let Some(usage) = response.usage {
            self.flight.usage(usage);
        }
        let encoded = inbound(ours).encode_response(&response, &self.context());
        Ok(Won::Whole(encoded.body.into(), encoded.dropped))
    }

    /// Reads up to `max` bytes; true if that was all. They count among the bodies in flight as long as the share lives.
    pub(crate) async fn collect(&mut self, body: &mut Incoming, max: usize) -> Result<Collected, Failed> {
        let held = self.flight.worker.budget().share();
        collect(self.timer, body, max, (held, self.settings.buffered_bytes_max)).await
    }
}

/// Reads up to `max` bytes; true if that was all. They count in `held`, which all together keep within their own bound.
pub(crate) async fn collect(
    timer: &mut Timer,
    body: &mut Incoming,
    max: usize,
    (mut held, held_max): (Held, u64),
) -> Result<Collected, Failed> {
    let (mut parts, mut bytes) = (VecDeque::new(), 0);
    loop {
        match timer.within(pin!(body.chunk())).await {
            Err(expired) => return Err(timed_out(expired)),
            Ok(None) => return Ok((parts, true, held)),
            Ok(Some(Err(broken))) => return Err(broken.into()),
            Ok(Some(Ok(chunk))) => {
                bytes += chunk.len();
                held.grow(chunk.len(), held_max).map_err(|_| {
                    let message = "too many bytes of answers are in flight: try again shortly";
                    Failed::new("overloaded", Next::Stop, message)
                })?;
                parts.push_back(chunk);
                if bytes > max {
                    return Ok((parts, false, held));
                }
            }
        }
    }
}

fn not_json() -> Failed {
    Failed::malformed("the provider's answer is not JSON")
}

/// The length of the body as it goes on: a compressed one has another than its head says.
pub(crate) fn length(head: &Head) -> Option<u64> {
    head.length.filter(|_| head.encoding == Encoding::Identity)
}

/// One piece stays as it is, several are copied into one.
pub(crate) fn joined(mut parts: VecDeque<Bytes>) -> Bytes {
    if parts.len() < 2 {
        return parts.pop_front().unwrap_or_default();
    }
    let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
    parts.iter().for_each(|part| all.extend_from_slice(part));
    all.freeze()
}
