//! Who reads what an answer cost that is passed on as it is.

use crate::flight::Flight;
use bytes::Bytes;
use smallvec::SmallVec;
use std::collections::VecDeque;
use trestle_dialect::{
    Dialect, Framing, Look, Outbound, Pictures, embed, frame,
    ir::Usage,
    json::{self, Raw},
    line_usage, media_usage, outbound,
};

/// The usage of a large buffered answer is looked for in its last bytes.
const TAIL: usize = 16 * 1024;
/// A larger event is not read for its usage.
const EVENT_BYTES_MAX: usize = 1024 * 1024;

/// A reader of usage.
#[derive(Clone, Copy)]
pub(crate) enum Meter {
    /// Of a dialect.
    Dialect(&'static dyn Outbound),
    /// Of a form of embeddings.
    Embeds(&'static dyn embed::Embeds),
    /// Of sound and pictures.
    Media,
    /// Of the results of a batch, a request a line.
    Lines,
}

/// The answer is not JSON.
#[derive(Debug)]
pub(crate) struct NotJson;

impl Meter {
    /// Usage in a whole answer, which is checked on the way.
    pub(crate) fn in_whole(self, answer: &[u8]) -> Result<Option<Usage>, NotJson> {
        let member = |name| json::Raw::outline(answer, name).map_err(|_| NotJson);
        match self {
            Self::Dialect(codec) => Ok(member(codec.usage_member())?.and_then(|usage| codec.usage(usage))),
            Self::Embeds(codec) => Ok(member(codec.usage_member())?.and_then(|usage| codec.usage(usage))),
            Self::Media => Raw::parse(answer).map(media_usage).map_err(|_| NotJson),
            Self::Lines => Ok(None),
        }
    }

    /// Usage in the last bytes of a large answer.
    pub(crate) fn in_tail(self, tail: &[u8]) -> Option<Usage> {
        match self {
            Self::Dialect(codec) => codec.usage_in_tail(tail),
            Self::Embeds(codec) => codec.usage_in_tail(tail),
            Self::Media => outbound(Dialect::OpenAiChat).usage_in_tail(tail),
            Self::Lines => None,
        }
    }

    /// Counts the pictures in a large answer.
    pub(crate) fn pictures(self) -> Option<Pictures> {
        matches!(self, Self::Media).then(Pictures::default)
    }
}

/// Reads along in an answer that passes by as bytes. It never breaks the answer.
pub(crate) enum Tap {
    /// One value: usage is looked for in its last bytes.
    Tail {
        /// The first that finds some is right.
        meters: SmallVec<[Meter; 2]>,
        /// The last bytes.
        tail: VecDeque<Bytes>,
        /// Counts the pictures.
        pictures: Option<Box<Pictures>>,
    },
    /// Lines, each with what one request of a batch used.
    Lines {
        /// What is there of the present one; none of one that is too long.
        line: Option<Vec<u8>>,
        /// All together, by the model that answered.
        used: Vec<(String, Usage)>,
    },
    /// Events; without a reader they are not understood any more.
    Events {
        /// How they are told apart.
        framing: Framing,
        /// Cuts them.
        reader: Option<Box<frame::Reader>>,
        /// The first that finds usage is right.
        codecs: SmallVec<[&'static dyn Outbound; 2]>,
    },
}

impl From<Meter> for Tap {
    fn from(meter: Meter) -> Self {
        if let Meter::Lines = meter {
            return Self::Lines { line: Some(Vec::new()), used: Vec::new() };
        }
        let pictures = meter.pictures().map(Box::new);
        Self::Tail { meters: SmallVec::from_iter([meter]), tail: VecDeque::new(), pictures }
    }
}

impl Tap {
    /// Reads one value of a vendor with these dialects.
    pub(crate) fn value(dialects: &[Dialect]) -> Self {
        let meters = dialects.iter().map(|dialect| Meter::Dialect(outbound(*dialect))).collect();
        Self::Tail { meters, tail: VecDeque::new(), pictures: None }
    }

    /// Reads events of a vendor with these dialects.
    pub(crate) fn events(framing: Framing, dialects: &[Dialect]) -> Self {
        let fitting = dialects.iter().filter(|dialect| dialect.framing() == framing);
        let reader = Some(Box::new(framing.reader(EVENT_BYTES_MAX)));
        Self::Events { framing, reader, codecs: fitting.map(|dialect| outbound(*dialect)).collect() }
    }

    /// Takes what passes by; true unless it is known to be no content.
    pub(crate) fn take(&mut self, bytes: &Bytes, flight: &mut Flight) -> bool {
        match self {
            Self::Tail { tail, pictures, .. } => {
                if let Some(pictures) = pictures {
                    pictures.feed(bytes);
                }
                keep_tail(tail, bytes);
                true
            }
            Self::Lines { line, used } => {
                for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                    match line {
                        Some(line) if line.len() + part.len() <= EVENT_BYTES_MAX => {
                            line.extend_from_slice(part)
                        }
                        _ => *line = None,
                    }
                    if part.ends_with(b"\n") {
                        add(used, line.replace(Vec::new()).as_deref());
                    }
                }
                true
            }
            Self::Events { reader: None, .. } => true,
            Self::Events { framing, reader: Some(cutter), codecs } => {
                let Ok(block) = cutter.feed(bytes.clone()) else {
                    *self = Self::Events { framing: *framing, reader: None, codecs: SmallVec::new() };
                    return true;
                };
                let mut contents = 0;
                for event in framing.events(&block) {
                    let (content, usage) = look(codecs, &event);
                    contents += u32::from(content);
                    if content {
                        flight.relayed(event.raw.len(), event.data.as_deref());
                    }
                    if let Some(usage) = usage {
                        flight.usage(usage);
                    }
                }
                flight.contents(contents);
                contents > 0
            }
        }
    }

    /// All has passed by.
    pub(crate) fn end(&mut self, flight: &mut Flight) {
        if let Self::Lines { line, used } = self {
            add(used, line.as_deref());
            flight.batch(std::mem::take(used));
        }
        if let Self::Tail { meters, tail, pictures } = self {
            let tail: Vec<u8> = tail.iter().flatten().copied().collect();
            let told = meters.iter().find_map(|meter| meter.in_tail(&tail));
            let images = pictures.as_ref().map_or(0, |pictures| pictures.count());
            let usage = if images == 0 { told } else { Some(Usage { images, ..told.unwrap_or_default() }) };
            if let Some(usage) = usage {
                flight.usage(usage);
            }
        }
    }
}

/// Models of one batch that are told apart; what others used is taken for the first one's.
const MODELS_MAX: usize = 256;

/// Adds what a line says, if it says something.
fn add(used: &mut Vec<(String, Usage)>, line: Option<&[u8]>) {
    let Some((model, more)) = line.and_then(line_usage) else { return };
    let full = used.len() >= MODELS_MAX;
    let known = used.iter().position(|(known, _)| full || *known == model);
    match known.and_then(|at| used.get_mut(at)) {
        Some((_, usage)) => *usage = usage.plus(more),
        None => used.push((model, more)),
    }
}

/// Whether an event has content, and its usage, by the first codec that finds some.
fn look(codecs: &[&'static dyn Outbound], event: &frame::Event<'_>) -> (bool, Option<Usage>) {
    let mut content = codecs.is_empty() && event.data.is_some();
    for codec in codecs {
        let glance = codec.glance(event, Look::Meter);
        content |= glance.content;
        if glance.usage.is_some() {
            return (content, glance.usage);
        }
    }
    (content, None)
}

fn keep_tail(tail: &mut VecDeque<Bytes>, bytes: &Bytes) {
    tail.push_back(bytes.slice(bytes.len().saturating_sub(TAIL)..));
    while tail.len() > 1 && tail.iter().skip(1).map(Bytes::len).sum::<usize>() >= TAIL {
        tail.pop_front();
    }
}
