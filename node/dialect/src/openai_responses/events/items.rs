//! The items of a streamed answer: what is told when one opens, grows and is done. All of it is kept, because the last
//! event repeats it.

use super::{
    super::{
        annotations, logprobs,
        output::{self, Call, Head, State},
        proof,
    },
    frame::{At, Frame, item_event, part_event, position, summary_event},
    parts::{Part, Said},
};
use crate::{
    Dialect, StreamContext,
    ir::{Citation, Json, Sealed, Text, TokenLogprob},
    json::Writer,
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// Most bytes that are kept to be repeated. What comes beyond them is streamed, but not repeated.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// What an item or a part costs besides its text, about.
const ITEM_BYTES: usize = 256;

/// An item.
#[derive(Debug)]
struct Item {
    id: String,
    body: Body,
}

/// What an item holds.
#[derive(Debug)]
enum Body {
    Message(Vec<Part>),
    Thought {
        text: Option<Vec<u8>>,
        proof: Option<Sealed>,
    },
    Call {
        id: Text,
        name: Text,
        arguments: Vec<u8>,
        proof: Option<Sealed>,
    },
    /// It is done, and this is how it is repeated.
    Done(Vec<u8>),
}

/// Whether all that was told could be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// All.
    All,
    /// Not all.
    Part,
}

/// The items of an answer so far.
#[derive(Debug)]
pub(super) struct Items {
    context: StreamContext,
    frame: Frame,
    items: Vec<Item>,
    bytes: usize,
}

impl Items {
    /// None yet.
    pub(super) fn new(context: &StreamContext) -> Self {
        Self { context: context.clone(), frame: Frame::default(), items: Vec::new(), bytes: 0 }
    }

    /// Whether all has been kept so far.
    pub(super) fn kept(&self) -> Kept {
        if self.bytes > KEPT_BYTES_MAX { Kept::Part } else { Kept::All }
    }

    /// The last item, if it is a message that is not done.
    pub(super) fn last_message(&self) -> Option<usize> {
        let last = self.items.last()?;
        matches!(last.body, Body::Message(_)).then(|| self.items.len() - 1)
    }

    /// Tells how far the answer has come, with the items that are done.
    pub(super) fn answer(&mut self, out: &mut Vec<u8>, name: &str, head: &Head, state: State<'_>) {
        let items = &self.items;
        self.frame.event(out, name, |out| {
            out.key("response");
            out.begin_object();
            output::answer(out, head, state, |out| {
                for item in items {
                    if let Body::Done(json) = &item.body {
                        out.raw(json);
                    }
                }
            });
            out.end_object();
        });
    }

    fn keep(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= KEPT_BYTES_MAX
    }

    /// Opens an item; `write` writes it as it opens.
    fn begin(
        &mut self,
        out: &mut Vec<u8>,
        kind: &str,
        body: Body,
        write: impl FnOnce(&mut Writer, &str),
    ) -> usize {
        let index = self.items.len();
        let id = output::item_id(kind, &self.context, index);
        self.keep(ITEM_BYTES);
        self.frame.event(out, "response.output_item.added", |out| {
            out.key("output_index");
            out.u64(position(index));
            out.key("item");
            write(out, &id);
        });
        self.items.push(Item { id, body });
        index
    }

    /// Closes an item, which is repeated as it is.
    fn end(&mut self, out: &mut Vec<u8>, index: usize, json: Vec<u8>) {
        self.frame.event(out, "response.output_item.done", |out| {
            out.key("output_index");
            out.u64(position(index));
            out.key("item");
            out.raw(&json);
        });
        // What was kept of its text becomes a part of it, so that it is counted once.
        if let Some(item) = self.items.get_mut(index) {
            item.body = Body::Done(json);
        }
    }

    /// Opens a message.
    pub(super) fn begin_message(&mut self, out: &mut Vec<u8>) -> usize {
        let body = Body::Message(Vec::new());
        self.begin(out, "msg", body, |out, id| output::message(out, id, "in_progress", |_| {}))
    }

    /// Opens a part of a message.
    pub(super) fn begin_part(&mut self, out: &mut Vec<u8>, item: usize, said: Said) -> At {
        self.keep(ITEM_BYTES);
        let Some(Item { id, body: Body::Message(parts) }) = self.items.get_mut(item) else {
            return (item, 0);
        };
        let part = Part::new(said);
        let at = (item, parts.len());
        part_event(&mut self.frame, out, ("response.content_part.added", at, id), |out| {
            out.key("part");
            part.write(out);
        });
        parts.push(part);
        at
    }

    /// More of the text of a part.
    pub(super) fn said(&mut self, out: &mut Vec<u8>, at: At, text: &Text) {
        let keep = self.keep(text.escaped().len());
        let Some((id, part)) = part(&mut self.items, at) else { return };
        let (name, is_text) = match part.said {
            Said::Text => ("response.output_text.delta", true),
            Said::Refusal => ("response.refusal.delta", false),
        };
        part_event(&mut self.frame, out, (name, at, id), |out| {
            out.key("delta");
            out.text(text);
            if is_text {
                out.key("logprobs");
                out.raw(b"[]");
            }
        });
        if keep {
            part.text.extend_from_slice(text.escaped());
        }
    }

    /// How likely the tokens of the last text were; false where there is none. They come with a delta that holds no
    /// more text, because the text itself did not wait for them.
    pub(super) fn logprobs(&mut self, out: &mut Vec<u8>, list: &[TokenLogprob]) -> bool {
        let Some(item) = self.last_message() else { return false };
        let keep = self.keep(logprobs::size(list));
        let Some(Item { id, body: Body::Message(parts) }) = self.items.get_mut(item) else { return false };
        let last = parts.len().saturating_sub(1);
        let Some(part) = parts.get_mut(last).filter(|part| part.said == Said::Text && part.done.is_none())
        else {
            return false;
        };
        part_event(&mut self.frame, out, ("response.output_text.delta", (item, last), id), |out| {
            out.key("delta");
            out.string("");
            out.key("logprobs");
            logprobs::write(out, list);
        });
        if keep {
            part.logprobs.extend_from_slice(list);
        }
        true
    }

    /// Where a text comes from; false where that cannot be told. What stands for the whole text waits for its end.
    pub(super) fn citation(&mut self, out: &mut Vec<u8>, at: At, citation: &Citation) -> bool {
        let keep = self.keep(ITEM_BYTES + citation.json.bytes().len());
        let Some((_, part)) = part(&mut self.items, at) else { return false };
        let mut annotation = Writer::default();
        if part.said != Said::Text || !annotations::write(&mut annotation, citation, 0) {
            return false;
        }
        if citation.span.is_none() && citation.dialect != SELF {
            part.waiting.extend(keep.then(|| citation.clone()));
            return keep;
        }
        self.annotation(out, at, annotation.finish());
        true
    }

    fn annotation(&mut self, out: &mut Vec<u8>, at: At, annotation: Vec<u8>) {
        let Some((id, part)) = part(&mut self.items, at) else { return };
        let index = part.annotations.len();
        part_event(&mut self.frame, out, ("response.output_text.annotation.added", at, id), |out| {
            out.key("annotation_index");
            out.u64(position(index));
            out.key("annotation");
            out.raw(&annotation);
        });
        if self.bytes <= KEPT_BYTES_MAX {
            part.annotations.push(annotation);
        }
    }

    fn waiting_annotations(&mut self, out: &mut Vec<u8>, at: At) {
        let Some((_, part)) = part(&mut self.items, at) else { return };
        let waiting = std::mem::take(&mut part.waiting);
        if waiting.is_empty() {
            return;
        }
        let chars = annotations::chars(&Text::from_escaped(part.text.clone().into()));
        for citation in waiting {
            let mut annotation = Writer::default();
            annotations::write(&mut annotation, &citation, chars);
            self.annotation(out, at, annotation.finish());
        }
    }

    /// Keeps the proof of a part, of reasoning or of a call; pieces are joined.
    pub(super) fn proof(&mut self, at: At, sealed: &Sealed) {
        if !self.keep(sealed.data.escaped().len()) {
            return;
        }
        let proof = match self.items.get_mut(at.0).map(|item| &mut item.body) {
            Some(Body::Message(parts)) => parts.get_mut(at.1).map(|part| &mut part.proof),
            Some(Body::Thought { proof, .. } | Body::Call { proof, .. }) => Some(proof),
            _ => None,
        };
        let Some(proof) = proof else { return };
        *proof = Some(match proof.take() {
            Some(before) => Sealed { data: Text::join([&before.data, &sealed.data], ""), ..before },
            None => sealed.clone(),
        });
    }

    /// Closes a part, once.
    pub(super) fn end_part(&mut self, out: &mut Vec<u8>, at: At) {
        self.waiting_annotations(out, at);
        let Some((id, part)) = part(&mut self.items, at) else { return };
        if part.done.is_some() {
            return;
        }
        let name = match part.said {
            Said::Text => "response.output_text.done",
            Said::Refusal => "response.refusal.done",
        };
        let text = Text::from_escaped(std::mem::take(&mut part.text).into());
        part_event(&mut self.frame, out, (name, at, id), |out| match part.said {
            Said::Text => {
                out.key("text");
                out.text(&text);
                out.key("logprobs");
                logprobs::write(out, &part.logprobs);
            }
            Said::Refusal => {
                out.key("refusal");
                out.text(&text);
            }
        });
        part.text = text.escaped().to_vec();
        let mut json = Writer::default();
        part.write(&mut json);
        let json = json.finish();
        part_event(&mut self.frame, out, ("response.content_part.done", at, id), |out| {
            out.key("part");
            out.raw(&json);
        });
        part.text = Vec::new();
        part.done = Some(json);
    }

    /// Closes a message, and its parts.
    pub(super) fn end_message(&mut self, out: &mut Vec<u8>, item: usize) {
        let count = match self.items.get(item).map(|item| &item.body) {
            Some(Body::Message(parts)) => parts.len(),
            _ => return,
        };
        (0..count).for_each(|part| self.end_part(out, (item, part)));
        let mut json = Writer::default();
        if let Some(Item { id, body: Body::Message(parts) }) = self.items.get(item) {
            output::message(&mut json, id, "completed", |out| {
                parts.iter().filter_map(|part| part.done.as_ref()).for_each(|part| out.raw(part));
            });
        }
        self.end(out, item, json.finish());
    }

    /// Opens reasoning that can be read.
    pub(super) fn begin_thought(&mut self, out: &mut Vec<u8>) -> usize {
        let body = Body::Thought { text: None, proof: None };
        self.begin(out, output::OUR_REASONING, body, |out, id| {
            output::reasoning(out, &Text::new(id), None, None)
        })
    }

    /// More of the reasoning: one part of a summary, which opens with it.
    pub(super) fn thought(&mut self, out: &mut Vec<u8>, item: usize, more: &Text) {
        let keep = self.keep(more.escaped().len());
        let Some(Item { id, body: Body::Thought { text, .. } }) = self.items.get_mut(item) else { return };
        let text = text.get_or_insert_with(|| {
            summary_event(&mut self.frame, out, ("response.reasoning_summary_part.added", item, id), |out| {
                out.key("part");
                output::summary_part(out, &Text::default());
            });
            Vec::new()
        });
        if more.is_empty() {
            return;
        }
        summary_event(&mut self.frame, out, ("response.reasoning_summary_text.delta", item, id), |out| {
            out.key("delta");
            out.text(more);
        });
        if keep {
            text.extend_from_slice(more.escaped());
        }
    }

    /// Closes reasoning. With a text, even an empty one, it comes back as reasoning that can be read.
    pub(super) fn end_thought(&mut self, out: &mut Vec<u8>, item: usize) {
        self.thought(out, item, &Text::default());
        let Some(Item { id, body: Body::Thought { text, proof } }) = self.items.get_mut(item) else { return };
        let text = Text::from_escaped(text.take().unwrap_or_default().into());
        summary_event(&mut self.frame, out, ("response.reasoning_summary_text.done", item, id), |out| {
            out.key("text");
            out.text(&text);
        });
        summary_event(&mut self.frame, out, ("response.reasoning_summary_part.done", item, id), |out| {
            out.key("part");
            output::summary_part(out, &text);
        });
        let encrypted = proof.as_ref().map(proof::carried_apart);
        let mut json = Writer::default();
        output::reasoning(&mut json, &Text::new(id), Some(&text), encrypted.as_ref());
        self.end(out, item, json.finish());
    }

    /// Reasoning that only its vendor can read, whole.
    pub(super) fn redacted(&mut self, out: &mut Vec<u8>, sealed: &Sealed) {
        let body = Body::Thought { text: None, proof: None };
        let encrypted = proof::carried_apart(sealed);
        let item = self.begin(out, output::OUR_REASONING, body, |out, id| {
            output::reasoning(out, &Text::new(id), None, None)
        });
        let Some(Item { id, .. }) = self.items.get(item) else { return };
        let mut json = Writer::default();
        output::reasoning(&mut json, &Text::new(id), None, Some(&encrypted));
        self.end(out, item, json.finish());
    }

    /// An item of this dialect, whole.
    pub(super) fn whole(&mut self, out: &mut Vec<u8>, json: &Json) {
        let item = self.begin(out, "item", Body::Done(Vec::new()), |out, _| out.json(json));
        self.keep(json.bytes().len());
        self.end(out, item, json.bytes().to_vec());
    }

    /// Opens a call.
    pub(super) fn begin_call(&mut self, out: &mut Vec<u8>, id: &Text, name: &Text) -> usize {
        let body = Body::Call { id: id.clone(), name: name.clone(), arguments: Vec::new(), proof: None };
        let arguments = Text::default();
        self.begin(out, "fc", body, |out, item| {
            output::call(out, Call { item, id, name, arguments: &arguments, signature: None }, "in_progress");
        })
    }

    /// More of the arguments of a call.
    pub(super) fn arguments(&mut self, out: &mut Vec<u8>, item: usize, more: &Text) {
        let keep = self.keep(more.escaped().len());
        let Some(Item { id, body: Body::Call { arguments, .. } }) = self.items.get_mut(item) else { return };
        item_event(&mut self.frame, out, ("response.function_call_arguments.delta", item, id), |out| {
            out.key("delta");
            out.text(more);
        });
        if keep {
            arguments.extend_from_slice(more.escaped());
        }
    }

    /// Closes a call. No arguments are `{}`.
    pub(super) fn end_call(&mut self, out: &mut Vec<u8>, item: usize) {
        if let Some(Item { body: Body::Call { arguments, .. }, .. }) = self.items.get(item)
            && arguments.is_empty()
        {
            self.arguments(out, item, &Text::fixed("{}"));
        }
        let Some(Item { id: item_id, body: Body::Call { id, name, arguments, proof } }) =
            self.items.get_mut(item)
        else {
            return;
        };
        let arguments = Text::from_escaped(std::mem::take(arguments).into());
        let done = ("response.function_call_arguments.done", item, item_id.as_str());
        item_event(&mut self.frame, out, done, |out| {
            out.key("name");
            out.text(name);
            out.key("arguments");
            out.text(&arguments);
        });
        let signature = proof.as_ref().map(|proof| proof.carried(SELF));
        let call = Call { item: item_id, id, name, arguments: &arguments, signature: signature.as_ref() };
        let mut json = Writer::default();
        output::call(&mut json, call, "completed");
        self.end(out, item, json.finish());
    }
}

/// A part of a message that is not done.
fn part(items: &mut [Item], (item, part): At) -> Option<(&str, &mut Part)> {
    let Item { id, body: Body::Message(parts) } = items.get_mut(item)? else { return None };
    Some((id, parts.get_mut(part)?))
}
