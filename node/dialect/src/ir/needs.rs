//! Which features a request uses, as far as its modelled parts tell.

use super::{Block, BlockKind, Features, Media, MediaSource, OutputFormat, Request, ToolKind};

impl Request {
    /// Adds to `needs` what messages, tools and the modelled members use. Decoders add the rest.
    pub fn collect_needs(&mut self) {
        let mut needs = self.needs;
        if self.stream {
            needs.add(Features::STREAMING);
        }
        for tool in &self.tools {
            needs.add(match tool.kind {
                ToolKind::Function { .. } => Features::TOOLS,
                ToolKind::Opaque { .. } => Features::SERVER_TOOLS,
            });
        }
        match self.output {
            Some(OutputFormat::JsonObject) => needs.add(Features::JSON_OBJECT),
            Some(OutputFormat::JsonSchema { .. }) => needs.add(Features::JSON_SCHEMA),
            Some(OutputFormat::Text) | None => {}
        }
        if self.logprobs.is_some() {
            needs.add(Features::LOGPROBS);
        }
        if self.reasoning.as_ref().is_some_and(|reasoning| reasoning.enabled) {
            needs.add(Features::REASONING);
        }
        for block in self.messages.iter().flat_map(|message| &message.blocks) {
            needs.add(block_needs(block));
        }
        self.needs = needs;
    }
}

fn block_needs(block: &Block) -> Features {
    match &block.kind {
        BlockKind::Image(_) => Features::IMAGES,
        // Any target can be told plain text.
        BlockKind::Document(Media { source: MediaSource::Plain(_), .. }) => Features::NONE,
        BlockKind::Document(_) => Features::DOCUMENTS,
        BlockKind::Audio(_) => Features::AUDIO,
        BlockKind::Video(_) => Features::VIDEO,
        BlockKind::ToolUse { .. } => Features::TOOLS,
        BlockKind::ToolResult { content, .. } => {
            content.iter().fold(Features::TOOLS, |needs, inner| match &inner.kind {
                BlockKind::Image(_) => needs.with(Features::IMAGES).with(Features::TOOL_RESULT_IMAGES),
                _ => needs.with(block_needs(inner)),
            })
        }
        _ => Features::NONE,
    }
}
