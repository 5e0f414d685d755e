//! Writes the messages of a request.

use super::parts::THINKING;
use crate::{
    Dialect, Refusal,
    body::Body,
    dropped,
    ir::{Block, BlockKind, Media, MediaSource, Message, Role, Sealed, Text},
    json::Writer,
};

const SELF: Dialect = Dialect::OpenAiChat;

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
    let mut rest: Vec<&Block> = Vec::new();
    for block in &message.blocks {
        if let BlockKind::ToolResult { id, content, is_error } = &block.kind {
            if *is_error {
                body.drop("messages[].content[].is_error");
            }
            write_tool_message(body, block, id, content)?;
            rest.extend(content.iter().filter(|inner| plain_text(inner).is_none()));
        }
    }
    let only_results = message.blocks.iter().all(|block| matches!(block.kind, BlockKind::ToolResult { .. }));
    rest.extend(message.blocks.iter().filter(|block| !matches!(block.kind, BlockKind::ToolResult { .. })));
    if rest.is_empty() && only_results && !message.blocks.is_empty() {
        return Ok(());
    }
    for block in &rest {
        check_expressible(block, index)?;
    }
    begin(body, "user", message);
    body.out.key("content");
    write_content(body, &rest, "messages[].content[].");
    end(body, message);
    Ok(())
}

fn write_tool_message(
    body: &mut Body<'_>,
    block: &Block,
    id: &Text,
    content: &[Block],
) -> Result<(), Refusal> {
    body.out.begin_object();
    body.out.key("role");
    body.out.string("tool");
    body.out.key("tool_call_id");
    body.out.text(id);
    body.out.key("content");
    let mut texts = Vec::new();
    let mut more = false;
    for inner in content {
        let Some((title, text)) = plain_text(inner) else {
            more = true;
            continue;
        };
        for text in title.into_iter().chain([text]) {
            if !texts.is_empty() {
                texts.push(&LINE_END);
            }
            texts.push(text);
        }
        dropped::bare(inner, "messages[].content[].content[].", &mut body.dropped);
    }
    if more {
        if !texts.is_empty() {
            texts.push(&LINE_END);
        }
        texts.push(&SEE_NEXT_MESSAGE);
    }
    body.out.texts(texts);
    write_cache(body, block, "messages[].content[].");
    let parent = "messages[].content[].";
    dropped::attachments(&block.attachments, SELF, parent, &mut body.out, &mut body.dropped);
    body.out.end_object();
    Ok(())
}

/// The text of a block that a tool message can hold, and its title.
fn plain_text(block: &Block) -> Option<(Option<&Text>, &Text)> {
    match &block.kind {
        BlockKind::Text(text) => Some((None, text)),
        BlockKind::Document(Media { source: MediaSource::Plain(text), title, .. }) => {
            Some((title.as_ref(), text))
        }
        _ => None,
    }
}

fn write_assistant(body: &mut Body<'_>, message: &Message) {
    begin(body, "assistant", message);
    let parent = "messages[].content[].";
    let mut texts: Vec<&Text> = Vec::new();
    let (mut refusal, mut thinking, mut calls) = (None, Vec::new(), Vec::new());
    for block in &message.blocks {
        match &block.kind {
            BlockKind::Text(text) => {
                dropped::bare(block, parent, &mut body.dropped);
                texts.push(text);
            }
            BlockKind::Refusal(text) => refusal = Some(text),
            BlockKind::ToolUse { .. } => calls.push(block),
            BlockKind::Opaque { dialect, json } if *dialect == SELF && is_call(json) => calls.push(block),
            BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => thinking.push(block),
            other => body.drop(format!("{parent}{}", other.type_name())),
        }
    }
    body.out.key("content");
    match texts.is_empty() {
        true => body.out.null(),
        false => body.out.texts(texts),
    }
    if let Some(refusal) = refusal {
        body.out.key("refusal");
        body.out.text(refusal);
    }
    if !thinking.is_empty() {
        if body.target.quirks.echo_reasoning {
            write_thinking(&mut body.out, thinking.into_iter());
        } else {
            body.drop(format!("{parent}thinking"));
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

fn is_call(json: &crate::ir::Json) -> bool {
    json.raw().get("id").is_some()
}

fn write_call_block(body: &mut Body<'_>, block: &Block) {
    match &block.kind {
        BlockKind::ToolUse { id, name, input } => {
            write_call_open(&mut body.out, id, name, input);
            write_cache(body, block, "messages[].content[].");
            let parent = "messages[].content[].";
            dropped::attachments(&block.attachments, SELF, parent, &mut body.out, &mut body.dropped);
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

/// `reasoning_content` with all text, and `thinking_blocks` where a block holds more than text.
pub(in crate::openai_chat) fn write_thinking<'b>(
    out: &mut Writer,
    blocks: impl Iterator<Item = &'b Block> + Clone,
) {
    let texts = blocks.clone().filter_map(|block| match &block.kind {
        BlockKind::Thinking(text) if !text.is_empty() => Some(text),
        _ => None,
    });
    if texts.clone().next().is_some() {
        out.key("reasoning_content");
        out.texts(texts);
    }
    let plain = |block: &Block| matches!(block.kind, BlockKind::Thinking(_)) && block.signature.is_none();
    if blocks.clone().all(plain) {
        return;
    }
    out.key("thinking_blocks");
    out.begin_array();
    blocks.for_each(|block| write_thinking_block(out, &block.kind, block.signature.as_ref()));
    out.end_array();
}

/// One element of `thinking_blocks`.
pub(in crate::openai_chat) fn write_thinking_block(
    out: &mut Writer,
    kind: &BlockKind,
    signature: Option<&Sealed>,
) {
    out.begin_object();
    out.key("type");
    match kind {
        BlockKind::RedactedThinking(sealed) => {
            out.string("redacted_thinking");
            out.key("data");
            out.text(&sealed.carried(THINKING));
        }
        BlockKind::Thinking(text) => {
            out.string("thinking");
            out.key("thinking");
            out.text(text);
            if let Some(signature) = signature {
                out.key("signature");
                out.text(&signature.carried(THINKING));
            }
        }
        _ => out.string("text"),
    }
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
            dropped::bare(block, parent, &mut body.dropped);
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
fn check_expressible(block: &Block, index: usize) -> Result<(), Refusal> {
    let refuse = |what: &str| Err(Refusal::invalid(format!("messages[{index}]"), what.to_owned()));
    match &block.kind {
        BlockKind::ToolUse { .. } | BlockKind::Thinking(_) | BlockKind::RedactedThinking(_) => {
            refuse(&format!("has a block of type `{}`, which has no place there", block.kind.type_name()))
        }
        BlockKind::Opaque { dialect, .. } if *dialect != SELF => refuse(&format!(
            "has a block of type `{}`, which this target's dialect lacks",
            block.kind.type_name()
        )),
        BlockKind::Image(media) if matches!(media.source, MediaSource::File(..)) => {
            refuse("has an image by file id, which this target's dialect lacks: send its data or URL")
        }
        BlockKind::Document(media) => match &media.source {
            MediaSource::File(dialect, _) if *dialect != SELF => {
                refuse("has a file that lies with another vendor: send its data")
            }
            MediaSource::Url(_) => {
                refuse("has a document by URL, which this target's dialect lacks: send its data as base64")
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}
