//! Which part of the node answers a request: the gateway, health, or the admin router.

use crate::{
    admin,
    serve::{
        front::Place,
        stream::Stream,
        vitals::{Running, Vitals},
    },
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version,
    header::{ALLOW, HOST},
};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};
use trestle_gateway::{Answer, Cut, Headers, RequestBody, RequestLine, Session, Worker};

/// What the requests of one connection share.
pub(super) struct Shared {
    place: Place,
    worker: Rc<Worker>,
    vitals: Rc<Vitals>,
    peer: SocketAddr,
}

impl Shared {
    pub(super) fn new(place: Place, worker: Rc<Worker>, vitals: Rc<Vitals>, peer: SocketAddr) -> Rc<Self> {
        Rc::new(Self { place, worker, vitals, peer })
    }

    /// Serves one request. Errors are answers.
    pub(super) async fn serve(
        self: Rc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Served>, Infallible> {
        let mut running = self.vitals.begin();
        let answer = self.answer(request).await;
        running.answered();
        Ok(answer.map(|body| Served { body, _running: running }))
    }

    /// Serves one request to an inference endpoint that this connection carries alone.
    pub(super) async fn serve_post(
        &self,
        mut line: RequestLine,
        request: (Headers, RequestBody),
    ) -> Response<Served> {
        line.peer = Some(self.peer.ip());
        let mut running = self.vitals.begin();
        let answer = self.worker.handle(line, request).await;
        running.answered();
        answer.map(|body| Served { body, _running: running })
    }

    /// Opens a session on the connection, which carries it alone from then on; or the answer that refuses it.
    pub(super) async fn serve_session(
        &self,
        mut line: RequestLine,
        headers: Headers,
    ) -> Result<(HeaderMap, Switched), Box<Response<Served>>> {
        line.peer = Some(self.peer.ip());
        let mut running = self.vitals.begin();
        let opened = self.worker.open_session(line, headers).await;
        running.answered();
        match opened {
            Ok((headers, session)) => Ok((headers, Switched { session, running })),
            Err(refused) => Err(Box::new(refused.map(|body| Served { body, _running: running }))),
        }
    }

    /// Whether the connection was told to end with what runs.
    pub(super) fn is_told(&self) -> bool {
        self.vitals.is_told()
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Answer> {
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        match RequestLine::find(request.method(), target) {
            Some(Ok(mut line)) => {
                line.peer = Some(self.peer.ip());
                let spread = request.version() == Version::HTTP_2;
                let (mut head, body) = request.into_parts();
                // Over HTTP/2 the host stands in the URI; who signs a request signs it as a header.
                let host = head.uri.authority().filter(|_| spread && line.target.is_some());
                if let Some(host) = host.and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
                    head.headers.entry(HOST).or_insert(host);
                }
                let headers = Headers::Map(head.headers);
                if spread {
                    self.worker.handle_spread(line, (headers, body)).await
                } else {
                    self.worker.handle(line, (headers, body.into())).await
                }
            }
            Some(Err(method)) => self.wrong_method(&request, method),
            None => self.other(request).await,
        }
    }

    async fn other(&self, request: Request<Incoming>) -> Response<Answer> {
        let path = request.uri().path();
        let here = &self.place.front;
        if admin::Health::serves(path) || (here.admin.is_some() && path == "/metrics") {
            if !matches!(*request.method(), Method::GET | Method::HEAD) {
                return self.wrong_method(&request, "GET");
            }
            if let Some(answer) = here.health.answer(path) {
                return answer.map(Answer::full);
            }
        }
        if let Some(admin) = here.admin.as_ref().filter(|_| admin::serves(path)) {
            return admin.answer(request, self.peer).await.map(Answer::full);
        }
        let message = format!("there is nothing at {path}; there are: {}", RequestLine::PATHS.join(", "));
        self.worker.refuse(path, StatusCode::NOT_FOUND, &message)
    }

    fn wrong_method(&self, request: &Request<Incoming>, method: &'static str) -> Response<Answer> {
        let path = request.uri().path();
        let message = format!("{path} takes {method}, not {}", request.method());
        let mut answer = self.worker.refuse(path, StatusCode::METHOD_NOT_ALLOWED, &message);
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static(method));
        answer
    }
}

/// A session that is open; the request runs until it is over.
pub(super) struct Switched {
    session: Session,
    running: Running,
}

impl Switched {
    /// Runs it on the connection that has switched.
    pub(super) async fn run(self, stream: Stream) {
        self.session.run(stream).await;
        drop(self.running);
    }
}

/// The body of an answer; the request runs until it is dropped.
pub(super) struct Served {
    body: Answer,
    _running: Running,
}

impl Body for Served {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
