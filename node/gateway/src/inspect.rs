//! The commit point: a streamed answer is held until its first content, so that up to then another target can still
//! take over.

use crate::{
    cause::Failed,
    flight::Flight,
    stream::{Step, Stream},
    timer::{Expired, Timer},
};
use std::{future::poll_fn, pin::pin};

/// Lifecycle frames beyond this commit the stream: they are no longer lifecycle frames.
const HELD_BYTES_MAX: usize = 256 * 1024;

/// Reads up to the first content. The stage of `timer` bounds the time.
pub(crate) async fn commit(
    mut stream: Stream,
    flight: &mut Flight,
    timer: &mut Timer,
) -> Result<Stream, Failed> {
    loop {
        let step = timer.within(pin!(poll_fn(|cx| stream.poll_step(flight, cx)))).await;
        match step {
            Err(Expired::Stage) => return Err(Failed::first_token_timeout()),
            Err(Expired::Total) => return Err(Failed::total_timeout()),
            Ok(Step::Failed { failed, .. }) => return Err(failed),
            Ok(Step::Events { content: true } | Step::Ended) => return Ok(stream),
            Ok(Step::Events { .. }) if stream.queued_bytes() > HELD_BYTES_MAX => return Ok(stream),
            Ok(Step::Events { .. }) => {}
        }
    }
}
