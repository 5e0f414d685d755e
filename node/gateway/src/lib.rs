//! The request pipeline, one file a stage. The binary serves it over HTTP; any Rust program can embed it.

mod gateway;
pub use gateway::{Gateway, OpenError, Options};

mod thread;
pub use thread::Worker;

mod endpoint;
pub use endpoint::Endpoint;

mod body;
pub use body::{Answer, RequestBody};
