//! What a request did, as the spans of a trace: its place in the trace, what is noted on its way, and the description at its
//! end. How that is written and sent is for whoever runs the gateway.

mod context;
mod finished;
mod noted;
mod sampling;
mod stages;

pub use finished::{FinishedCall, FinishedRequest, Skipped};
pub(crate) use noted::Noted;
pub use sampling::{Ratio, Sampling, Tracing};
pub(crate) use stages::Marks;
pub use stages::Stage;
