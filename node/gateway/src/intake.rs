//! A client's body as it comes, within its bounds in time and bytes.

use crate::{
    RequestBody,
    headers::Headers,
    upstream::{Encoding, Inflate, InflateError},
};
use bytes::Bytes;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};
use trestle_config::Settings;
use trestle_dialect::{Refusal, RefusalKind};

/// A body is waited for this long in all, and one more second for each `SLOWEST` bytes that have come.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Slower clients are told so: bytes a second.
const SLOWEST: u64 = 16 * 1024;

/// A client's body. Only the time in which it was waited for counts.
pub(crate) struct Intake {
    body: RequestBody,
    // Boxed: few bodies are compressed, and a decoder is large.
    inflate: Option<Box<Inflate>>,
    length: Option<u64>,
    bytes_max: u64,
    taken: u64,
    waited: Duration,
    since: Option<Instant>,
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Intake {
    /// Reads a body with these headers.
    pub(crate) fn new(settings: &Settings, headers: &Headers, body: RequestBody) -> Result<Self, Refusal> {
        let bytes_max = settings.body_bytes_max;
        let told = headers.text("content-length").and_then(|length| length.parse::<u64>().ok());
        if told.is_some_and(|length| length > bytes_max) {
            return Err(too_large(bytes_max));
        }
        let encoding = headers.get("content-encoding").map_or(Encoding::Identity, Encoding::of);
        let inflate = Inflate::new(encoding, bytes_max).map_err(|error| bad_encoding(error, bytes_max))?;
        let length = told.filter(|_| inflate.is_none());
        let (inflate, waited) = (inflate.map(Box::new), Duration::ZERO);
        Ok(Self { body, inflate, length, bytes_max, taken: 0, waited, since: None, alarm: None })
    }

    /// The length of all of it, if it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Whether all of it has been read.
    pub(crate) fn is_end(&self) -> bool {
        self.body.is_end() && self.inflate.is_none()
    }

    /// The next bytes.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The next bytes. After an error nothing comes that could be used.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        let Poll::Ready(next) = self.body.poll_data(cx) else {
            return self.wait(cx).map(|late| Some(Err(late)));
        };
        if let Some(since) = self.since.take() {
            self.waited += since.elapsed();
            self.alarm = None;
        }
        let read = match next {
            Some(Ok(data)) => self.expand(data),
            Some(Err(_)) => {
                let message = "the body ended before its announced length";
                Err(Refusal::new(RefusalKind::InvalidRequest, message))
            }
            None => match self.inflate.take() {
                None => return Poll::Ready(None),
                Some(mut inflate) => {
                    inflate.finish().map(Bytes::from).map_err(|e| bad_encoding(e, self.bytes_max))
                }
            },
        };
        Poll::Ready(Some(read.and_then(|data| {
            self.taken += data.len() as u64;
            if self.taken > self.bytes_max { Err(too_large(self.bytes_max)) } else { Ok(data) }
        })))
    }

    fn expand(&mut self, data: Bytes) -> Result<Bytes, Refusal> {
        match &mut self.inflate {
            None => Ok(data),
            Some(inflate) => {
                inflate.push(&data).map(Bytes::from).map_err(|error| bad_encoding(error, self.bytes_max))
            }
        }
    }

    /// Ready when the client is too slow.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Refusal> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let allowed = BODY_TIME + Duration::from_secs(self.taken / SLOWEST);
        let until = since + allowed.saturating_sub(self.waited);
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        alarm.as_mut().poll(cx).map(|()| {
            let message = "the body did not arrive in time: send it faster, or in one piece";
            Refusal::new(RefusalKind::ClientTimeout, message)
        })
    }
}

fn too_large(bytes_max: u64) -> Refusal {
    let message = format!("the body is larger than {bytes_max} bytes (settings.body_bytes_max)");
    Refusal::new(RefusalKind::TooLarge, message)
}

fn bad_encoding(error: InflateError, bytes_max: u64) -> Refusal {
    match error {
        InflateError::TooLarge => too_large(bytes_max),
        other => Refusal::invalid("content-encoding", other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalBody;
    use http::HeaderMap;
    use std::io;

    /// A client that has a byte, or none, each time that it is asked.
    struct Slow(std::vec::IntoIter<bool>);

    impl LocalBody for Slow {
        fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
            if self.0.next() == Some(true) {
                Poll::Ready(Some(Ok(Bytes::from_static(b"x"))))
            } else {
                Poll::Pending
            }
        }

        fn is_end(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn only_the_time_in_which_it_was_waited_for_counts() {
        let body = RequestBody::Local(Box::new(Slow(vec![true, false, false, true, false].into_iter())));
        let mut intake = Intake::new(&Settings::default(), &Headers::Map(HeaderMap::new()), body).unwrap();
        intake.waited = BODY_TIME - Duration::from_millis(1);
        assert!(intake.next().await.unwrap().is_ok());
        let late = intake.next().await.unwrap().unwrap_err();
        assert_eq!(late.kind, RefusalKind::ClientTimeout);
        // Who has sent much may take longer.
        intake.taken = SLOWEST * 3600;
        assert!(intake.next().await.unwrap().is_ok());
        assert!(poll_fn(|cx| Poll::Ready(intake.poll_next(cx).is_pending())).await);
        assert!(intake.waited < BODY_TIME * 2);
    }
}
