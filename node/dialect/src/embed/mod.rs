//! Embeddings: what vendors put on the wire, and one representation between them.

mod api;
pub use api::{Api, Form};

mod task;
pub use task::Task;

mod request;
pub use request::{Content, Input, Kind, Request, Truncation};

mod response;
pub use response::{Response, Vectors};

mod codec;
pub use codec::{Embeds, codec, edit};

mod members;
mod vector;

mod cohere;
mod gemini;
mod nova;
mod openai;
mod titan;
