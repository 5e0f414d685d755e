//! The request pipeline, one file a stage. The binary serves it over HTTP; any Rust program can embed it.

mod answer;
mod attempt;
mod authenticate;
mod budget;
mod cause;
mod flight;
mod handle;
mod inspect;
mod log;
mod metrics;
mod mock;
mod models;
mod prepare;
mod receive;
mod record;
mod relay;
mod route;
mod state;
mod stream;
mod timer;
mod upstream;

mod gateway;
pub use gateway::{Gateway, HostSecrets, OpenError, Options};

mod client;
pub use client::{Answered, Chat, Client, ClientError, Events};

mod thread;
pub use thread::Worker;

mod endpoint;
pub use endpoint::Endpoint;

mod body;
pub use body::{Answer, Cut, RequestBody};
