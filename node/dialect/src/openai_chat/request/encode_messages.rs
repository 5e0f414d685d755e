//! Writes the messages of a request.

use super::{
    parts::THINKING,
    thinking::{Lost, write_thinking},
};
use crate::{
    Dialect, Refusal,
    body::Body,
    dropped, foreign,
    ir::{Block, BlockKind, Media, MediaSource, Message, Role, Text},
    json::Writer,
    openai_chat::proof,
    read::{Path, ROOT},
};

const SELF: Dialect = Dialect::OpenAiChat;

/// Where blocks stand, in the paths of what is dropped.
const CONTENT: &str = "messages[].content[].";

/// Stands in a tool message, which can hold text only, for what follows in a user message.
static SEE_NEXT_MESSAGE: Text = Text::fixed("[see the next user message]");

/// Between the parts of a content that must be one string.
static LINE_END: Text = Text::fixed("\\n");

/// Writes the array of messages.
pub(super) fn write_messages(body: &mut Body<'_>, messages: &[Message]) -> Result<(), Refusal> {
    body.out.begin_array();
    for (i, message) in messages.iter().enumerate() {
        match message.role {
            Role::System | Role::Developer => write_system(body, message),
            Role::User => write_user(body, message, i)?,
            Role::Assistant => write_assistant(body, message),
        }
    }
    body.out.end_array();
    Ok(())
}

fn begin(body: &mut Body<'_>, role: &str, message: &Message) {
    body.out.begin_object();
    body.out.key("role");
    body.out.string(role);
    if let Some(name) = &message.name {
        body.out.key("name");
        body.out.text(name);
    }
}

fn end(body: &mut Body<'_>, message: &Message) {
    dropped::attachments(&message.attachments, SELF, "messages[].", &mut body.out, &mut body.dropped);
    body.out.end_object();
}

fn write_system(body: &mut Body<'_>, message: &Message) {
    let developer = message.role == Role::Developer && body.target.quirks.developer_role;
    let mut texts = Vec::with_capacity(message.blocks.len());
    for block in &message.blocks {
        match &block.kind {
            BlockKind::Text(_) => texts.push(block),
            other => body.drop(format!("system[].{}", other.type_name())),
        }
    }
    begin(body, if developer { "developer" } else { "system" }, message);
    body.out.key("content");
    write_content(body, &texts, "system[].");
    end(body, message);
}

/// Tool results first, each as a message of its own, as they must follow the calls; then what they hold that is not
/// text, and what the user says.
fn write_user(body: &mut Body<'_>, message: &Message, index: usize) -> Result<(), Refusal> {
    let messages = ROOT.member("messages");
    let (at, mut only_results) = (messages.element(index), true);
    let content_at = at.member("content");
    let mut rest: Vec<&Block> = Vec::new();
    for (i, block) in message.blocks.iter().enumerate() {
        let at = content_at.element(i);
        let BlockKind::ToolResult { id, content, is_error } = &block.kind else {
            check_expressible(block, &at)?;
            only_results = false;
            continue;
        };
        let inner_at = at.member("content");
        for (j, inner) in content.iter().enumerate().filter(|(_, inner)| !is_text(inner)) {
            check_expressible(inner, &inner_at.element(j))?;
            rest.push(inner);
        }
        if *is_error {
            body.drop("messages[].content[].is_error");
        }
        write_tool_message(body, block, id, content);
    }
    rest.extend(message.blocks.iter().filter(|block| !matches!(block.kind, BlockKind::ToolResult { .. })));
    if rest.is_empty() && only_results && !message.blocks.is_empty() {
        return Ok(());
    }
    begin(body, "user", message);
    body.out.key("content");
    write_content(body, &rest, CONTENT);
    end(body, message);
    Ok(())
}

/// Whether a tool message can hold it.
const fn is_text(block: &Block) -> bool {
    matches!(
        block.kind,
        BlockKind::Text(_) | BlockKind::Document(Media { source: MediaSource::Plain(_), .. })
    )
}

fn write_tool_message(body: &mut Body<'_>, block: &Block, id: &Text, content: &[Block]) {
    body.out.begin_object();
    body.out.key("role");
    body.out.string("tool");
    body.out.key("tool_call_id");
    body.out.text(id);
    body.out.key("content");
    let mut texts = Vec::new();
    let mut more = false;
    for inner in content {
        let (title, text) = match &inner.kind {
            BlockKind::Text(text) => (None, text),
            BlockKind::Document(Media { source: MediaSource::Plain(text), title, .. }) => {
                (title.as_ref(), text)
            }
            _ => {
                more = true;
                continue;
            }
        };
        for text in title.into_iter().chain([text]) {
            if !texts.is_empty() {
                texts.push(&LINE_END);
            }
            texts.push(text);
        }
        bare(body, inner, "messages[].content[].content[].");
    }
    if more {
        if !texts.is_empty() {
            texts.push(&LINE_END);
        }
        texts.push(&SEE_NEXT_MESSAGE);
    }
    body.out.texts(texts);
    write_cache(body, block, CONTENT);
    dropped::attachments(&block.attachments, SELF, CONTENT, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

/// Names what is attached to a block that is written as bare text and is not the model's own.
fn bare(body: &mut Body<'_>, block: &Block, parent: &str) {
    dropped::bare(block, parent, &mut body.dropped);
    dropped::citations(block, parent, &mut body.dropped);
    dropped::signature(block, parent, &mut body.dropped);
}

fn write_assistant(body: &mut Body<'_>, message: &Message) {
    begin(body, "assistant", message);
    let (mut texts, mut refusals): (Vec<&Text>, Vec<&Text>) = (Vec::new(), Vec::new());
    let (mut thinking, mut calls, mut signed) = (Vec::new(), Vec::new(), None);
    for block in &message.blocks {
        match &block.kind {
            BlockKind::Text(text) => {
                dropped::bare(block, CONTENT, &mut body.dropped);
                texts.push(text);
                let proof = proof::own(block.signature.as_ref(), CONTENT, &mut body.dropped);
                if let Some(proof) = proof
                    && signed.replace(proof).is_some()
                {
                    body.drop(format!("{CONTENT}signature"));
                }
            }
            BlockKind::Refusal(text) => refusals.push(text),
            BlockKind::ToolUse { .. } => calls.push(block),
            BlockKind::Opaque { dialect, json } if *dialect == SELF && is_call(json) => calls.push(block),
            BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => thinking.push(block),
            other => body.drop(format!("{CONTENT}{}", other.type_name())),
        }
    }
    body.out.key("content");
    match texts.is_empty() {
        true => body.out.null(),
        false => body.out.texts(texts),
    }
    write_annotations(body, &message.blocks);
    if let Some(proof) = signed {
        proof::write(proof, &mut body.out);
    }
    if !refusals.is_empty() {
        body.out.key("refusal");
        body.out.texts(refusals);
    }
    if !thinking.is_empty() {
        if body.target.quirks.echo_reasoning {
            let lost = write_thinking(&thinking, |sealed| sealed.meant_for(THINKING).cloned(), &mut body.out);
            if lost == Lost::Proofs {
                body.drop(format!("{CONTENT}signature"));
            }
        } else {
            body.drop(format!("{CONTENT}thinking"));
        }
    }
    if !calls.is_empty() {
        body.out.key("tool_calls");
        body.out.begin_array();
        for call in calls {
            write_call_block(body, call);
        }
        body.out.end_array();
    }
    end(body, message);
}

/// The annotations of an earlier answer, as they came. Those of other vendors stay away: models do not read them, and
/// many providers refuse the member.
fn write_annotations(body: &mut Body<'_>, blocks: &[Block]) {
    let mut open = false;
    for citation in blocks.iter().flat_map(|block| &block.citations) {
        if citation.dialect != SELF {
            body.drop(format!("{CONTENT}citations"));
            continue;
        }
        if !std::mem::replace(&mut open, true) {
            body.out.key("annotations");
            body.out.begin_array();
        }
        body.out.json(&citation.json);
    }
    if open {
        body.out.end_array();
    }
}

fn is_call(json: &crate::ir::Json) -> bool {
    json.raw().get("id").is_some()
}

fn write_call_block(body: &mut Body<'_>, block: &Block) {
    match &block.kind {
        BlockKind::ToolUse { id, name, input } => {
            write_call_open(&mut body.out, id, name, input);
            if let Some(proof) = proof::own(block.signature.as_ref(), CONTENT, &mut body.dropped) {
                proof::write(proof, &mut body.out);
            }
            write_cache(body, block, CONTENT);
            dropped::attachments(&block.attachments, SELF, CONTENT, &mut body.out, &mut body.dropped);
            body.out.end_object();
        }
        BlockKind::Opaque { json, .. } => body.out.json(json),
        _ => {}
    }
}

/// A call, its object still open.
pub(in crate::openai_chat) fn write_call_open(out: &mut Writer, id: &Text, name: &Text, input: &Text) {
    out.begin_object();
    out.key("id");
    out.text(id);
    out.key("type");
    out.string("function");
    out.key("function");
    out.begin_object();
    out.key("name");
    out.text(name);
    out.key("arguments");
    out.text(input);
    out.end_object();
}

/// A string where one plain text says it all or the provider takes nothing else, else an array of parts.
fn write_content(body: &mut Body<'_>, blocks: &[&Block], parent: &str) {
    let all_text = blocks.iter().all(|block| matches!(block.kind, BlockKind::Text(_)));
    let marked = |block: &&Block| {
        (block.cache.is_some() && body.target.quirks.cache_control) || !block.attachments.is_empty()
    };
    let simple = blocks.len() <= 1 && !blocks.iter().any(marked);
    if all_text && (simple || body.target.quirks.flatten_content) {
        let mut texts = Vec::with_capacity(blocks.len() * 2);
        for block in blocks {
            bare(body, block, parent);
            if let BlockKind::Text(text) = &block.kind {
                if !texts.is_empty() {
                    texts.push(&LINE_END);
                }
                texts.push(text);
            }
        }
        body.out.texts(texts);
        return;
    }
    body.out.begin_array();
    for block in blocks {
        write_part(body, block, parent);
    }
    body.out.end_array();
}

fn write_part(body: &mut Body<'_>, block: &Block, parent: &str) {
    let out = &mut body.out;
    if let BlockKind::Opaque { json, .. } = &block.kind {
        out.json(json);
        return;
    }
    out.begin_object();
    out.key("type");
    match &block.kind {
        BlockKind::Image(media) => write_image(out, media),
        BlockKind::Audio(media) => write_audio(out, media),
        BlockKind::Document(media) => write_document(out, media),
        BlockKind::Text(text) | BlockKind::Refusal(text) => {
            out.string("text");
            out.key("text");
            out.text(text);
        }
        _ => out.string("text"),
    }
    write_cache(body, block, parent);
    dropped::citations(block, parent, &mut body.dropped);
    dropped::signature(block, parent, &mut body.dropped);
    dropped::attachments(&block.attachments, SELF, parent, &mut body.out, &mut body.dropped);
    body.out.end_object();
}

fn write_image(out: &mut Writer, media: &Media) {
    out.string("image_url");
    out.key("image_url");
    out.begin_object();
    out.key("url");
    write_url(out, media);
    if let Some(detail) = &media.detail {
        out.key("detail");
        out.text(detail);
    }
    out.end_object();
}

fn write_audio(out: &mut Writer, media: &Media) {
    out.string("input_audio");
    out.key("input_audio");
    out.begin_object();
    out.key("data");
    if let MediaSource::Base64(data) | MediaSource::Url(data) = &media.source {
        out.text(data);
    }
    if let Some(media_type) = &media.media_type {
        let plain = media_type.plain();
        out.key("format");
        out.string(plain.strip_prefix("audio/").unwrap_or(&plain));
    }
    out.end_object();
}

fn write_document(out: &mut Writer, media: &Media) {
    if let MediaSource::Plain(text) = &media.source {
        out.string("text");
        out.key("text");
        match &media.title {
            Some(title) => out.texts([title, &LINE_END, text]),
            None => out.text(text),
        }
        return;
    }
    out.string("file");
    out.key("file");
    out.begin_object();
    match &media.source {
        MediaSource::File(_, id) => {
            out.key("file_id");
            out.text(id);
        }
        _ => {
            out.key("file_data");
            write_url(out, media);
        }
    }
    if let Some(title) = &media.title {
        out.key("filename");
        out.text(title);
    }
    out.end_object();
}

fn write_url(out: &mut Writer, media: &Media) {
    match &media.source {
        MediaSource::Base64(data) => {
            let media_type = media.media_type_or_guess();
            out.texts([&Text::fixed("data:"), &media_type, &Text::fixed(";base64,"), data]);
        }
        MediaSource::Url(text) | MediaSource::Plain(text) | MediaSource::File(_, text) => out.text(text),
    }
}

fn write_cache(body: &mut Body<'_>, block: &Block, parent: &str) {
    let Some(cache) = &block.cache else { return };
    if body.target.quirks.cache_control {
        body.out.key("cache_control");
        body.out.json(cache);
    } else {
        body.drop(format!("{parent}cache_control"));
    }
}

/// What the model would have to see cannot be left out without changing the meaning.
fn check_expressible(block: &Block, path: &Path<'_>) -> Result<(), Refusal> {
    match &block.kind {
        BlockKind::ToolUse { .. } | BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => {
            let kind = block.kind.type_name();
            Err(path.refuse(format_args!("is a block of type `{kind}`, which has no place there")))
        }
        BlockKind::Opaque { dialect, .. } if *dialect != SELF => {
            let kind = block.kind.type_name();
            Err(path.refuse(format_args!("is a block of type `{kind}`, which this target's dialect lacks")))
        }
        BlockKind::Audio(Media { source: MediaSource::File(..), .. }) => {
            Err(path.refuse("is sound by file id, which this target's dialect lacks: send its data"))
        }
        BlockKind::Video(_) => Err(path.refuse("is a film, which this target's dialect lacks")),
        BlockKind::Image(Media { source: MediaSource::File(..), .. }) => {
            Err(path
                .refuse("is an image by file id, which this target's dialect lacks: send its data or URL"))
        }
        BlockKind::Document(Media { source: MediaSource::File(dialect, _), .. })
            if !foreign::same_vendor(*dialect, SELF) =>
        {
            Err(path.refuse("is a file that lies with another vendor: send its data"))
        }
        BlockKind::Document(Media { source: MediaSource::Url(_), .. }) => {
            Err(path
                .refuse("is a document by URL, which this target's dialect lacks: send its data as base64"))
        }
        BlockKind::Image(media) | BlockKind::Document(media) | BlockKind::Audio(media) => media.check(path),
        _ => Ok(()),
    }
}
