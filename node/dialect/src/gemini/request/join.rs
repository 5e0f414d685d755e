//! Puts a streamed answer together again. Clients keep the pieces of one as they came, each a part or a content of its
//! own, and send them back like that; other vendors want the turn whole: a thought with its signature, all calls
//! before their results.

use crate::ir::{Block, BlockKind, Message, Role, Text};

/// Where two blocks meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seam {
    /// In one content: its texts are separate.
    Part,
    /// Between two contents.
    Content,
}

/// Neighbouring contents of the model as one, and the pieces of a thought or a text as one block.
pub(super) fn join(messages: Vec<Message>) -> Vec<Message> {
    let mut turns: Vec<Message> = Vec::with_capacity(messages.len());
    let mut open = Open::default();
    for message in messages {
        let goes_on = turns.last().is_some_and(|turn| turn.role == Role::Assistant);
        if message.role != Role::Assistant {
            close(&mut turns, &mut open);
            turns.push(message);
            continue;
        }
        if !goes_on {
            turns.push(Message { blocks: Vec::new(), attachments: Vec::new(), ..message.clone() });
        }
        for (i, block) in message.blocks.into_iter().enumerate() {
            open.push(block, if i == 0 && goes_on { Seam::Content } else { Seam::Part });
        }
        if let Some(turn) = turns.last_mut() {
            turn.attachments.extend(message.attachments);
        }
    }
    close(&mut turns, &mut open);
    turns
}

fn close(turns: &mut [Message], open: &mut Open) {
    if let Some(turn) = turns.last_mut().filter(|turn| turn.role == Role::Assistant) {
        turn.blocks = open.take();
    }
}

/// The turn that is being put together.
#[derive(Debug, Default)]
struct Open {
    blocks: Vec<Block>,
    /// What goes on the last block: joined once, whatever their number.
    pieces: Vec<Text>,
}

impl Open {
    fn push(&mut self, block: Block, seam: Seam) {
        let nothing = matches!(&block.kind, BlockKind::Text(text) if text.is_empty())
            && is_bare(&block)
            && block.signature.is_none();
        match self.blocks.last_mut() {
            Some(last) if goes_on(last, &block, seam) => {
                self.pieces.extend(text_of(&block).cloned());
                last.signature = block.signature;
            }
            Some(_) if nothing && seam == Seam::Content => {}
            _ => {
                self.settle();
                self.blocks.push(block);
            }
        }
    }

    fn settle(&mut self) {
        if let Some(BlockKind::Text(text) | BlockKind::Thinking(text)) =
            self.blocks.last_mut().map(|block| &mut block.kind)
            && !self.pieces.is_empty()
        {
            *text = Text::join(std::iter::once(&*text).chain(&self.pieces), "");
        }
        self.pieces.clear();
    }

    fn take(&mut self) -> Vec<Block> {
        self.settle();
        std::mem::take(&mut self.blocks)
    }
}

fn text_of(block: &Block) -> Option<&Text> {
    match &block.kind {
        BlockKind::Text(text) | BlockKind::Thinking(text) => Some(text),
        _ => None,
    }
}

fn is_bare(block: &Block) -> bool {
    block.cache.is_none() && block.citations.is_empty() && block.attachments.is_empty()
}

/// A signature is that of all before it, and ends the block.
fn goes_on(last: &Block, block: &Block, seam: Seam) -> bool {
    let same = match (&last.kind, &block.kind) {
        (BlockKind::Thinking(_), BlockKind::Thinking(_)) => true,
        (BlockKind::Text(_), BlockKind::Text(_)) => seam == Seam::Content,
        _ => false,
    };
    same && last.signature.is_none() && is_bare(last) && is_bare(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, ir::Sealed};

    fn message(role: Role, blocks: Vec<Block>) -> Message {
        Message { role, blocks, name: None, attachments: Vec::new() }
    }

    fn text(plain: &str) -> Block {
        BlockKind::Text(Text::new(plain)).into()
    }

    fn thought(plain: &str, signature: &str) -> Block {
        let sealed = Sealed { dialect: Dialect::Gemini, data: Text::new(signature) };
        let signature = Some(sealed).filter(|sealed| !sealed.data.is_empty());
        Block { signature, ..BlockKind::Thinking(Text::new(plain)).into() }
    }

    #[test]
    fn pieces_of_an_answer_become_its_turn() {
        let model = |blocks| message(Role::Assistant, blocks);
        let user = || message(Role::User, vec![text("a"), text("b")]);
        let pieces = vec![
            user(),
            model(vec![thought("One ", ""), thought("two", ""), thought("", "s")]),
            model(vec![text("He")]),
            model(vec![text("llo"), text("apart")]),
            model(vec![text("")]),
            user(),
            user(),
            model(vec![text("")]),
        ];
        let expected = vec![
            user(),
            model(vec![thought("One two", "s"), text("Hello"), text("apart")]),
            user(),
            user(),
            model(vec![text("")]),
        ];
        assert_eq!(join(pieces), expected);
    }

    #[test]
    fn a_signature_ends_its_block() {
        let signed = vec![thought("a", "s"), thought("b", "t")];
        assert_eq!(join(vec![message(Role::Assistant, signed.clone())]), [message(Role::Assistant, signed)]);
    }
}
