//! One streamed answer between upstream and client: whole events in, the client's events out. Used before the commit
//! point (`inspect`) and after it (`relay`).

use crate::{
    array::Array,
    cause::Failed,
    flight::Flight,
    kept::Minter,
    upstream::{Broken, Incoming},
};
use bytes::{Bytes, BytesMut};
use std::task::{Context, Poll, ready};
use trestle_dialect::{DecodeEvents, EncodeEvents, Fault, Framing, Look, Outbound, frame, ir, mark_sealed};

/// Largest single event of an upstream.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How events become the client's.
pub(crate) enum Translation {
    /// Same dialect: bytes pass on, the meter reads along.
    Same {
        /// Reads along.
        codec: &'static dyn Outbound,
        /// Reads all of it, for the trace.
        listener: Option<Box<dyn DecodeEvents>>,
        /// Events that are there only for usage are cut out.
        strip_usage: bool,
        /// Text completions have another shape: every event with data is content.
        look: Look,
    },
    /// Another dialect: decode and encode.
    Cross {
        /// From the upstream's.
        decoder: Box<dyn DecodeEvents>,
        /// To the client's.
        encoder: Box<dyn EncodeEvents>,
    },
}

/// A streamed answer.
pub(crate) struct Stream {
    body: Incoming,
    framing: Framing,
    reader: frame::Reader,
    translation: Translation,
    scratch: Vec<ir::Event>,
    queue: Vec<Bytes>,
    queued_bytes: usize,
    array: Option<Array>,
    ids: Option<Box<Minter>>,
    mark: Option<String>,
    end: End,
    ended: bool,
    fault: Option<Fault>,
    /// What the client's dialect could not express so far.
    pub(crate) dropped: Vec<String>,
}

/// What ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// An event that says so; without it the upstream broke off.
    Told,
    /// The end of its bytes.
    OfBytes,
}

/// What a look at the upstream brought.
#[derive(Debug)]
pub(crate) enum Step {
    /// Events, with content among them or not. Their bytes are in the queue.
    Events {
        /// Whether a reader of the answer would see something.
        content: bool,
    },
    /// The proper end.
    Ended,
    /// An error event, or the upstream broke off. In the same dialect a native error event is in the queue already.
    Failed {
        /// Why.
        failed: Failed,
        /// The client has it in the queue.
        told: bool,
    },
}

impl Stream {
    /// A stream that begins.
    pub(crate) fn new(body: Incoming, framing: Framing, translation: Translation) -> Self {
        Self {
            body,
            framing,
            reader: framing.reader(EVENT_BYTES_MAX),
            translation,
            scratch: Vec::new(),
            queue: Vec::new(),
            queued_bytes: 0,
            array: None,
            ids: None,
            mark: None,
            end: End::Told,
            ended: false,
            fault: None,
            dropped: Vec::new(),
        }
    }

    /// As the elements of an array.
    pub(crate) fn in_array(mut self) -> Self {
        self.array = Some(Array::default());
        self
    }

    /// With the ids that the client gets instead of the vendor's.
    pub(crate) fn with_ids(mut self, ids: Option<Minter>) -> Self {
        self.ids = ids.map(Box::new);
        self
    }

    /// With the name of the route in what only that can read.
    pub(crate) fn with_mark(mut self, mark: Option<String>) -> Self {
        self.mark = mark;
        self
    }

    /// Ends where its bytes end.
    pub(crate) fn without_end(mut self) -> Self {
        self.end = End::OfBytes;
        self
    }

    /// All bytes that wait for the client, as one piece.
    pub(crate) fn take(&mut self) -> Option<Bytes> {
        self.queued_bytes = 0;
        let all = if self.queue.len() < 2 {
            self.queue.pop()?
        } else {
            let mut all = BytesMut::with_capacity(self.queue.iter().map(Bytes::len).sum());
            self.queue.drain(..).for_each(|piece| all.extend_from_slice(&piece));
            all.freeze()
        };
        Some(match &mut self.array {
            Some(array) => array.elements(&all).into(),
            None => all,
        })
    }

    /// The last bytes for the client.
    pub(crate) fn take_last(&mut self) -> Option<Bytes> {
        let last = self.take();
        match &self.array {
            Some(array) => Some([last.as_deref().unwrap_or_default(), array.end()].concat().into()),
            None => last,
        }
    }

    /// Whether the proper end was read.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Bytes that wait for the client.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Whether the connection has been given back.
    pub(crate) fn is_drained(&self) -> bool {
        self.body.is_done()
    }

    /// The body, to be read to its end after the answer is complete.
    pub(crate) fn into_body(self) -> Incoming {
        self.body
    }

    /// Bytes for the client.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.queued_bytes += bytes.len();
            self.queue.push(bytes);
        }
    }

    /// Takes the next chunk from the upstream and queues what it means for the client.
    pub(crate) fn poll_step(&mut self, flight: &mut Flight, cx: &mut Context<'_>) -> Poll<Step> {
        if let Some(fault) = self.fault.take() {
            let told = matches!(self.translation, Translation::Same { .. });
            return Poll::Ready(Step::Failed { failed: Failed::fault(fault, None), told });
        }
        if self.ended {
            return Poll::Ready(Step::Ended);
        }
        let (block, last) = match ready!(self.body.poll_chunk(cx)) {
            Some(Ok(chunk)) => match self.reader.feed(chunk) {
                Ok(block) => (block, false),
                Err(error) => return Poll::Ready(failed(Failed::malformed(error))),
            },
            Some(Err(broken)) => return Poll::Ready(failed(broken.into())),
            None => (self.reader.finish(), true),
        };
        let content = match self.digest(block, flight) {
            Ok(content) => content,
            Err(why) => {
                return Poll::Ready(failed(Failed::malformed(format!(
                    "the provider's stream makes no sense: {why}"
                ))));
            }
        };
        self.ended |= last && self.end == End::OfBytes && self.fault.is_none();
        if last && !self.ended && self.fault.is_none() {
            return Poll::Ready(failed(Broken::Connection.into()));
        }
        Poll::Ready(Step::Events { content })
    }

    fn digest(&mut self, block: Bytes, flight: &mut Flight) -> Result<bool, String> {
        let marked = self.mark.as_ref().and_then(|mark| mark_sealed(&block, mark));
        let block = marked.unwrap_or(block);
        match &self.translation {
            _ if block.is_empty() => Ok(false),
            Translation::Same { .. } => Ok(self.pass(&block, flight)),
            Translation::Cross { .. } => self.translate(&block, flight),
        }
    }

    /// Passes whole runs of events on uncopied; cuts out what the client did not ask for.
    fn pass(&mut self, block: &Bytes, flight: &mut Flight) -> bool {
        let Translation::Same { codec, listener, strip_usage, look } = &mut self.translation else {
            return false;
        };
        let (codec, strip_usage, mut listener) = (*codec, *strip_usage, listener.take());
        let mut look = *look;
        let (mut contents, mut from, mut at) = (0, 0, 0);
        for event in self.framing.events(block) {
            let begin = at;
            at += event.raw.len();
            if event.data.is_none() {
                continue;
            }
            listener = listener.and_then(|listener| listened(listener, &event, flight));
            let glance = codec.glance(&event, look);
            if glance.content {
                contents += 1;
                flight.relayed(event.raw.len(), event.data.as_deref());
                // From the first content on, less has to be known.
                look = Look::Meter;
            }
            // After its content: it counts that, too.
            if let Some(usage) = glance.usage {
                flight.usage_so_far(usage);
            }
            if glance.usage_only && (strip_usage || glance.replacement.is_some()) {
                self.push(block.slice(from..begin));
                self.push(glance.replacement.filter(|_| !strip_usage).unwrap_or_default().into());
                from = at;
                continue;
            }
            if let Some(ids) = self.ids.as_ref().filter(|_| glance.describes)
                && let Ok(named) = ids.event(&event)
            {
                self.push(block.slice(from..begin));
                self.push(named.into());
                from = at;
            }
            if let Some(fault) = glance.fault {
                self.fault = Some(fault);
                break;
            }
            if glance.end {
                self.ended = true;
                break;
            }
        }
        // Nothing behind an error or the end goes on.
        let stop = if self.ended || self.fault.is_some() { at } else { block.len() };
        self.push(if (from, stop) == (0, block.len()) { block.clone() } else { block.slice(from..stop) });
        self.translation = Translation::Same { codec, listener, strip_usage, look };
        flight.contents(contents);
        contents > 0
    }

    fn translate(&mut self, block: &Bytes, flight: &mut Flight) -> Result<bool, String> {
        let mut events = std::mem::take(&mut self.scratch);
        let Translation::Cross { decoder, encoder } = &mut self.translation else { return Ok(false) };
        let mut out = Vec::new();
        let mut contents = 0;
        for event in self.framing.events(block) {
            decoder.decode(&event, &mut events)?;
            if events.iter().any(ir::Event::is_content) {
                flight.relayed(event.raw.len(), event.data.as_deref());
            }
            for event in events.drain(..) {
                flight.event(&event);
                match &event {
                    ir::Event::Usage(usage) => flight.usage_so_far(*usage),
                    ir::Event::Fault(fault) => self.fault = Some(fault.clone()),
                    ir::Event::End => self.ended = true,
                    other => contents += u32::from(other.is_content()),
                }
                if self.fault.is_some() {
                    break;
                }
                encoder.encode(&event, &mut out, &mut self.dropped);
            }
            if self.fault.is_some() || self.ended {
                break;
            }
        }
        events.clear();
        self.scratch = events;
        self.push(out.into());
        flight.contents(contents);
        Ok(contents > 0)
    }
}

/// Notes what an event says, for the trace. Who stumbles over one is asked no more: it never breaks the relay.
fn listened(
    mut listener: Box<dyn DecodeEvents>,
    event: &frame::Event<'_>,
    flight: &mut Flight,
) -> Option<Box<dyn DecodeEvents>> {
    let mut events = Vec::new();
    listener.decode(event, &mut events).ok()?;
    events.iter().for_each(|event| flight.event(event));
    Some(listener)
}

fn failed(failed: Failed) -> Step {
    Step::Failed { failed, told: false }
}
