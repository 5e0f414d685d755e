//! A mock upstream: answers as OpenAI, Anthropic, Bedrock, Gemini and Cohere do, misbehaves on demand, records what it
//! received.
//!
//! A request chooses how it is treated by the header `x-mock: name=value,name=value`, by its API key
//! (`mock:status=429;retry_after=2`), by its model (`gpt-4o-mini+status=500`), or by the next step of a script
//! (`POST /_mock/script`). [`SETTINGS`] lists all names.

mod anthropic;
mod bedrock;
mod behaviour;
mod body;
mod canned;
mod cohere;
mod command;
mod compose;
mod control;
mod encode;
mod endpoint;
mod form;
mod gemini;
mod kept;
mod listen;
mod openai;
mod realtime;
mod record;
mod schema;
mod script;
mod serve;
mod shape;
mod stream;
mod tally;
mod vendor;

pub use behaviour::{Behaviour, SETTINGS};
pub use command::Command;
pub use listen::{Mock, Options, Pem};
pub use record::Recorded;
pub use tally::Tally;
