//! Bodies that are forms (`multipart/form-data`): held up to a size, and from there on sent on as they come.

use crate::{
    Endpoint,
    budget::Held,
    headers::Headers,
    intake::Intake,
    receive::{bad_fallbacks, keep, named},
    tail::Tail,
};
use bytes::{Bytes, BytesMut};
use std::rc::Rc;
use trestle_config::Settings;
use trestle_dialect::{
    Refusal, RefusalKind, json,
    multipart::{self, Form, Scanner},
};

/// A form is held whole up to this size, or else up to where its model is known and a file comes: the rest of that goes to
/// the provider as it comes from the client. What is held can be sent again.
const HELD_MAX: usize = 1024 * 1024;

/// A body that is a form.
pub(crate) struct Upload {
    form: Form,
    tail: Option<Rc<Tail>>,
}

/// Whether a body will be read as a form.
pub(crate) fn is_form(endpoint: Endpoint, headers: &Headers) -> bool {
    endpoint.takes_form() && headers.get("content-type").is_some_and(multipart::is_form)
}

/// Why a form is refused.
pub(crate) fn unacceptable(error: multipart::Error) -> Refusal {
    Refusal::new(RefusalKind::InvalidRequest, format!("the body is not an acceptable form: {error}"))
}

fn scanner(headers: &Headers) -> Result<Scanner, Refusal> {
    Scanner::new(headers.get("content-type").unwrap_or_default()).map_err(unacceptable)
}

/// Reads a form as far as it must be held.
pub(crate) async fn receive(
    endpoint: Endpoint,
    settings: &Settings,
    headers: &Headers,
    mut intake: Intake,
    held: &mut Held,
) -> Result<Upload, Refusal> {
    let mut scanner = scanner(headers)?;
    let mut all = BytesMut::new();
    while !intake.is_end() {
        let Some(data) = intake.next().await else { break };
        let data = data?;
        keep(held, data.len(), settings)?;
        scanner.feed(&data).map_err(unacceptable)?;
        all.extend_from_slice(&data);
        // What is to be kept is looked at as a whole.
        let known = || {
            matches!(endpoint, Endpoint::Pass(_)) && scanner.parts().iter().any(|part| &*part.name == "model")
        };
        let file = || scanner.open().is_some_and(|part| part.file);
        if all.len() >= HELD_MAX && file() && known() && !intake.is_end() {
            let form = Form::new(all.freeze(), &scanner);
            let tail = Tail::new(intake, scanner, form.body().len() as u64);
            return Ok(Upload { form, tail: Some(Rc::new(tail)) });
        }
    }
    scanner.finish().map_err(unacceptable)?;
    Ok(Upload { form: Form::new(all.freeze(), &scanner), tail: None })
}

impl Upload {
    /// A form of which all is there.
    pub(crate) fn whole(headers: &Headers, body: Bytes) -> Result<Self, Refusal> {
        let mut scanner = scanner(headers)?;
        scanner.feed(&body).and_then(|()| scanner.finish()).map_err(unacceptable)?;
        Ok(Self { form: Form::new(body, &scanner), tail: None })
    }

    /// What is held.
    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    /// What comes behind it.
    pub(crate) fn tail(&self) -> Option<&Rc<Tail>> {
        self.tail.as_ref()
    }

    /// The model that it names.
    pub(crate) fn model(&self) -> Result<String, Refusal> {
        named(self.form.field("model")?)
    }

    /// Whether the answer is to be streamed. What is no boolean is the provider's to refuse.
    pub(crate) fn stream(&self) -> Result<bool, Refusal> {
        Ok(self.form.field("stream")?.is_some_and(|text| text.eq_ignore_ascii_case("true") || text == "1"))
    }

    /// Targets of the client's own choice: a part each, or one array.
    pub(crate) fn fallbacks(&self) -> Result<Option<Vec<String>>, Refusal> {
        let Some(texts) = self.form.list("fallbacks")? else { return Ok(None) };
        let mut names = Vec::new();
        for text in texts {
            if !text.starts_with('[') {
                names.push(text.to_owned());
                continue;
            }
            let array = json::Raw::parse(text.as_bytes()).map_err(|_| bad_fallbacks())?;
            for element in array.elements() {
                names.push(element.string().ok_or_else(bad_fallbacks)?.into_owned());
            }
        }
        Ok(Some(names))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Whoever sends it must not go on once the request has ended.
        if let Some(tail) = &self.tail {
            tail.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LocalBody, RequestBody, upstream::Outgoing};
    use http::HeaderMap;
    use http_body::Body;
    use smallvec::smallvec;
    use std::{
        future::poll_fn,
        io,
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering::Relaxed},
        },
        task::{Context, Poll, Wake, Waker},
    };

    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }

    /// A client that has sent a piece of a file, and then nothing more for now.
    struct Sending(Option<&'static str>);

    impl LocalBody for Sending {
        fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
            self.0.take().map_or(Poll::Pending, |piece| Poll::Ready(Some(Ok(piece.into()))))
        }

        fn is_end(&self) -> bool {
            false
        }
    }

    fn upload() -> Upload {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", "multipart/form-data; boundary=b0".parse().unwrap());
        let headers = Headers::Map(headers);
        let begin = "--b0\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\n";
        let mut scanner = scanner(&headers).unwrap();
        scanner.feed(begin.as_bytes()).unwrap();
        let form = Form::new(begin.into(), &scanner);
        let body = RequestBody::Local(Box::new(Sending(Some("piece"))));
        let intake = Intake::new(&Settings::default(), &headers, body).unwrap();
        Upload { form, tail: Some(Rc::new(Tail::new(intake, scanner, 0))) }
    }

    /// The next bytes; nothing if they are not there yet, an error if there will be none.
    async fn next(body: &mut Outgoing) -> Option<Result<Bytes, io::ErrorKind>> {
        poll_fn(|cx| {
            Poll::Ready(match Pin::new(&mut *body).poll_frame(cx) {
                Poll::Pending => None,
                Poll::Ready(None) => panic!("it has ended"),
                Poll::Ready(Some(next)) => {
                    Some(next.map(|frame| frame.into_data().unwrap()).map_err(|error| error.kind()))
                }
            })
        })
        .await
    }

    #[tokio::test]
    async fn one_attempt_at_a_time_gets_the_rest() {
        let upload = upload();
        let prepared = Outgoing::new(smallvec![]).before(upload.tail().unwrap());
        let (mut first, mut second) = (prepared.again(), prepared.again());
        assert_eq!(next(&mut first).await, Some(Err(io::ErrorKind::ConnectionAborted)));
        assert_eq!(next(&mut second).await, Some(Ok("piece".into())));
        assert_eq!((next(&mut second).await, upload.tail().unwrap().taken()), (None, 5));
    }

    #[tokio::test]
    async fn whoever_sends_the_rest_is_told_that_the_request_has_ended() {
        let upload = upload();
        let mut body = Outgoing::new(smallvec![]).before(upload.tail().unwrap()).again();
        assert_eq!(next(&mut body).await, Some(Ok("piece".into())));
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut body).poll_frame(&mut cx).is_pending() && !woken.0.load(Relaxed));
        drop(upload);
        assert!(woken.0.load(Relaxed));
        assert_eq!(next(&mut body).await, Some(Err(io::ErrorKind::ConnectionAborted)));
    }
}
