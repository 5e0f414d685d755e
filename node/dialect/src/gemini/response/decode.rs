//! Reads a whole answer.

use super::{
    grounding::read_grounding,
    logprobs::read_logprobs,
    sources::GROUNDING,
    stop::{Held, decode_stop},
};
use crate::{
    Dialect,
    gemini::{
        part::{Calls, read_part},
        usage,
    },
    ir::{Attachment, Block, BlockKind, Response, StopReason, Text},
    json::{Member, Raw, unescape},
    read::{self, ROOT},
};
use bytes::Bytes;
use std::borrow::Cow;

const SELF: Dialect = Dialect::Gemini;

/// Reads an answer. Of several candidates the first one counts: who asked for more was not sent here.
pub(in crate::gemini) fn decode(body: &Bytes) -> Result<Response, String> {
    let root = Raw::parse(body).map_err(|error| format!("not JSON: {error}"))?;
    let mut attachments = Vec::new();
    let (mut candidates, mut feedback, mut usage) = (None, None, None);
    let (mut id, mut model) = (Text::default(), Text::default());
    for member in root.members() {
        let value = member.value;
        match &*unescape(member.key) {
            "error" if !value.is_null() => {
                let message = value.get("message").unwrap_or(value).string();
                return Err(format!("an error inside of a success: {}", message.unwrap_or_default()));
            }
            "candidates" => candidates = Some(value),
            "promptFeedback" => {
                feedback = Some(value);
                read::attach(&mut attachments, SELF, &member, body);
            }
            "usageMetadata" => usage = usage::decode(value),
            "modelVersion" => model = value.text(body).unwrap_or_default(),
            "responseId" => id = value.text(body).unwrap_or_default(),
            _ if says_nothing(&member) => {}
            _ => read::attach(&mut attachments, SELF, &member, body),
        }
    }
    let candidate = candidates.and_then(|candidates| candidates.elements().next());
    if candidate.is_none() && feedback.and_then(|feedback: Raw<'_>| feedback.get("blockReason")).is_none() {
        return Err("an answer without candidates".to_owned());
    }
    let mut answer = Response {
        id,
        model,
        created: None,
        blocks: Vec::new(),
        // What a prompt that was blocked ends with.
        stop: StopReason::ContentFilter,
        stop_sequence: None,
        logprobs: Vec::new(),
        usage,
        attachments,
    };
    if let Some(candidate) = candidate {
        read_candidate(candidate, body, &mut answer)?;
    }
    Ok(answer)
}

/// Whether a member that is not modelled is empty.
pub(in crate::gemini) fn says_nothing(member: &Member<'_>) -> bool {
    matches!(member.value.bytes(), b"null" | b"[]" | b"{}" | b"\"\"")
}

fn read_candidate(candidate: Raw<'_>, body: &Bytes, answer: &mut Response) -> Result<(), String> {
    let mut reason = Text::default();
    let mut parts = None;
    for member in candidate.members() {
        let value = member.value;
        match &*unescape(member.key) {
            "content" => parts = value.get("parts"),
            "finishReason" => reason = value.text(body).unwrap_or_default(),
            "logprobsResult" => answer.logprobs = read_logprobs(value, body),
            "index" | "citationMetadata" => {}
            "groundingMetadata" => attach_grounding(value, body, &mut answer.attachments),
            _ if says_nothing(&member) => {}
            _ => read::attach_inner(&mut answer.attachments, SELF, "candidates[]", &member, body),
        }
    }
    let mut calls = Calls::of_answer(&answer.id);
    // Which block a part became.
    let mut places = Vec::new();
    let path = ROOT.member("parts");
    for (i, part) in parts.into_iter().flat_map(Raw::elements).enumerate() {
        let block = read_part(part, &path.element(i), body, &mut calls);
        let block = block.map_err(|refusal| refusal.message.into_owned())?;
        places.push(block.is_some().then_some(answer.blocks.len()));
        answer.blocks.extend(block);
    }
    cite(candidate, body, &places, &mut answer.blocks);
    answer.stop = decode_stop(reason, Held::of(answer.blocks.iter().map(|block| &block.kind)));
    Ok(())
}

/// What the metadata holds besides sources.
fn attach_grounding(value: Raw<'_>, body: &Bytes, attachments: &mut Vec<Attachment>) {
    for member in value.members().filter(|member| !says_nothing(member)) {
        if !matches!(&*unescape(member.key), "groundingChunks" | "groundingSupports") {
            read::attach_inner(attachments, SELF, GROUNDING, &member, body);
        }
    }
}

/// Gives sources to the texts that they belong to: that of the part that is told, else the first one.
fn cite(candidate: Raw<'_>, body: &Bytes, places: &[Option<usize>], blocks: &mut [Block]) {
    let Some(first) = blocks.iter().position(|block| matches!(block.kind, BlockKind::Text(_))) else {
        return;
    };
    let place = |part: Option<usize>| {
        let told = part.and_then(|part| places.get(part).copied().flatten());
        told.filter(|at| blocks.get(*at).is_some_and(|block| matches!(block.kind, BlockKind::Text(_))))
            .unwrap_or(first)
    };
    let texts = blocks.iter().map(|block| match &block.kind {
        BlockKind::Text(text) => text.plain(),
        _ => Cow::default(),
    });
    let texts: Vec<Cow<'_, str>> = texts.collect();
    let sources = read_grounding(candidate, body, &|part| texts.get(place(part)).map(|text| &**text));
    let placed: Vec<_> = sources.into_iter().map(|source| (place(source.part), source.citation)).collect();
    for (at, citation) in placed {
        if let Some(block) = blocks.get_mut(at) {
            block.citations.push(citation);
        }
    }
}
