//! From the request for a session to the answer that accepts it: a provider is connected first, so that what fails
//! there is told as an ordinary error, or tried elsewhere.

use super::{Session, handshake};
use crate::{
    Answer, Endpoint, Headers, RequestLine,
    admit::access,
    answer::{self, Content},
    authenticate::authenticate,
    concede::{Conceding, Reached, longest},
    flight::Flight,
    handle::{client_id, lost},
    receive::Ask,
    route::plan,
    take::Won,
    timer::Timer,
    worker::Worker,
};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, Response, header::CONTENT_TYPE};
use std::{panic::AssertUnwindSafe, rc::Rc};
use trestle_config::Snapshot;
use trestle_dialect::Refusal;

/// Such a request came where no connection can be switched: over HTTP/2, or without its headers.
pub(crate) fn not_here() -> Refusal {
    Refusal::invalid("upgrade", "this endpoint speaks WebSocket over HTTP/1.1: send `upgrade: websocket`")
}

impl Worker {
    /// Opens a session: the headers with which the client's connection switches to WebSocket, and what has to run on
    /// it then; or the answer that refuses it. A panic ends this request alone.
    pub async fn open_session(
        self: &Rc<Self>,
        line: RequestLine,
        headers: Headers,
    ) -> Result<(HeaderMap, Session), Box<Response<Answer>>> {
        let opening = Box::pin(open(self, line, headers));
        let caught = AssertUnwindSafe(opening).catch_unwind().await;
        caught.unwrap_or_else(|_| Err(answer::panicked(self, Endpoint::Realtime).into()))
    }
}

async fn open(
    worker: &Rc<Worker>,
    line: RequestLine,
    headers: Headers,
) -> Result<(HeaderMap, Session), Box<Response<Answer>>> {
    let mut flight = Flight::begin(worker, Endpoint::Realtime);
    flight.join_trace(&headers);
    let snapshot = worker.snapshot();
    flight.record.client_id = client_id(&headers);
    let (offer, mut ask) = match read(&mut flight, &snapshot, (line, headers)) {
        Ok(read) => read,
        Err(refusal) => return Err(answer::refusal(flight, &refusal).into()),
    };
    flight.received();
    let planned = plan(&snapshot, flight.record.caller.as_deref(), &mut ask, &mut || worker.chance());
    let plan = match planned {
        Ok(plan) => plan,
        Err(refusal) => return Err(answer::refusal(flight, &refusal).into()),
    };
    let mut timer = Timer::new(flight.started + longest(&plan));
    let conceding =
        Conceding { flight: &mut flight, ask: &mut ask, timer: &mut timer, snapshot: &snapshot, plan };
    let link = match conceding.walk().await {
        Reached::Won(Won::Session(link), _) => link,
        Reached::Won(..) => return Err(answer::refusal(flight, &not_here()).into()),
        Reached::Refused(refusal) => return Err(answer::refusal(flight, &refusal).into()),
        Reached::Lost(failed, dialect) => return Err(lost(flight, &failed, dialect).into()),
    };
    flight.record.status = 101;
    let mut accepted = answer::head(&flight, Content::Json, &[]);
    accepted.remove(CONTENT_TYPE);
    handshake::accept(&offer, link.protocol.as_ref(), &mut accepted);
    Ok((accepted, Session::new(flight, *link, ask.model).await))
}

/// Who asks for what. There is no body: the query and the headers say all.
fn read(
    flight: &mut Flight,
    snapshot: &Snapshot,
    (line, headers): (RequestLine, Headers),
) -> Result<(handshake::Offer, Ask), Refusal> {
    flight.record.caller = authenticate(snapshot, &headers, handshake::key(&headers))?;
    if let Some(caller) = &flight.record.caller {
        access(snapshot, caller, (line.peer, &headers))?;
    }
    let offer = handshake::read(&headers)?;
    if line.named.is_none() {
        let message = "the query names no model: write `/v1/realtime?model=openai/gpt-realtime`";
        return Err(Refusal::invalid("model", message));
    }
    let held = flight.worker.budget().share();
    let ask = Ask::read(line, headers, Bytes::from_static(b"{}"), held)?;
    flight.record.model = ask.model.chars().take(128).collect();
    flight.record.stream = true;
    Ok((offer, ask))
}
