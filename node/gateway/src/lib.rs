//! The request pipeline, one file a stage. The binary serves it over HTTP; any Rust program can embed it.

// The handle of a running gateway, and what runs it.
mod gateway;
mod serve;
mod thread;
mod worker;

// One request, stage by stage.
mod handle;

mod intake;
mod receive;
mod upload;

mod authenticate;
mod signed;

mod admit;
mod route;

// What providers keep, and the ids that lead there.
mod kept;

mod attempt;
mod call;
mod concede;
mod embed;
mod estimate;
mod fetch;
mod pick;
mod prepare;
mod reserve;
mod take;

mod array;
mod inspect;
mod stream;

mod relay;

mod answer;
mod models;
mod passthrough;
mod realtime;
mod usage;

// What a request carries along.
mod body;
mod endpoint;
mod flight;
mod headers;
mod limits;
mod meter;
mod record;
mod spans;
mod tail;
mod timer;

// What requests share.
mod budget;
mod cause;
mod cooldown;
mod state;
mod upstream;

// What answers without a network, and what is told to operators.
mod log;
mod metrics;
mod mock;
mod trace;

// Calls from inside of the process, and what would be done with one.
mod client;
mod explain;
mod foresee;

pub use body::{Answer, Cut, LocalBody, RequestBody};
pub use client::{Answered, Chat, Client, ClientError, Events};
pub use cooldown::Cooldown;
pub use endpoint::{Endpoint, Form, Named, RequestLine, Through};
pub use explain::{Because, Candidate, Explanation, Question};
pub use foresee::Foreseen;
pub use gateway::{COUNTERS_MAX, Gateway, HostSecrets, OpenError, Options};
pub use headers::{Headers, Lines};
pub use kept::{Act, Item};
pub use limits::{LimitNow, LimitPage, LimitsAsked, OWNER_KINDS, kind_word, measure_word, usd};
pub use metrics::{Buckets, Family, Kind, Sample, Value, text};
pub use realtime::Session;
pub use spans::{FinishedCall, FinishedRequest, Ratio, Sampling, Skipped, Stage, Tracing};
pub use worker::Worker;
