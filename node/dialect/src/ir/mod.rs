//! The one representation between dialects: an ordered list of blocks, a superset of what the vendors express.
//! What it does not model travels along as attachments tagged with the dialect that they came from.

mod allowed;
mod citation;
mod event;
mod features;
mod media;
mod message;
mod needs;
mod reasoning;
mod request;
mod response;
mod sealed;
mod text;
mod usage;

pub use citation::{Citation, Likelihood, TokenLogprob};
pub use event::{BlockStart, Delta, Event};
pub use features::Features;
pub use message::{Attachment, Block, BlockKind, Media, MediaSource, Message, Role};
pub use request::{OutputFormat, Reasoning, Request, Sampling, Tool, ToolChoice, ToolKind};
pub use response::{Response, StopReason};
pub use sealed::Sealed;
pub use text::{Json, Text};
pub use usage::Usage;
