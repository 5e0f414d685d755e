//! Calls from inside of the process, through the very same pipeline: typed, or any body to any endpoint.

use crate::{
    Endpoint, Gateway, Headers, Named, RequestBody, RequestLine,
    body::{Cut, RemoteBody},
    serve::handle_on,
};
use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http::{HeaderMap, HeaderValue, StatusCode, header::AUTHORIZATION};
use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};
use trestle_config::ResolvedTarget;
use trestle_dialect::{
    DecodeEvents, Dialect, Framing, Quirks, Refusal, Target, frame,
    ir::{self, Block, BlockKind, Event, Message, Role, Text},
    outbound,
};

/// Largest event of a stream.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Makes calls with one application key.
#[derive(Clone)]
pub struct Client {
    gateway: Gateway,
    key: Option<HeaderValue>,
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The request cannot be written.
    #[error(transparent)]
    Request(#[from] Refusal),
    /// The gateway, or the provider through it, answered with an error.
    #[error("{status}: {message}")]
    Status {
        /// The status.
        status: StatusCode,
        /// The message.
        message: String,
        /// The whole body.
        body: Bytes,
    },
    /// What came makes no sense.
    #[error("the answer makes no sense: {0}")]
    Malformed(String),
    /// The answer broke off.
    #[error("the answer broke off: {0}")]
    Broken(String),
    /// The gateway has been stopped.
    #[error("the gateway has been stopped")]
    Stopped,
}

impl From<Cut> for ClientError {
    fn from(cut: Cut) -> Self {
        Self::Broken(cut.to_string())
    }
}

/// An answer as it is on the wire.
#[derive(Debug)]
pub struct Answered {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: RemoteBody,
}

impl Answered {
    /// The next bytes of the body.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, Cut>> {
        poll_fn(|cx| self.body.poll_chunk(cx)).await
    }

    /// The whole body.
    pub async fn bytes(mut self) -> Result<Bytes, Cut> {
        let mut all = BytesMut::new();
        while let Some(chunk) = self.chunk().await {
            all.extend_from_slice(&chunk?);
        }
        Ok(all.freeze())
    }
}

/// A request, built step by step.
#[derive(Debug, Clone)]
pub struct Chat(ir::Request);

impl Chat {
    /// Asks a model: a name of the document, or `provider/model`.
    pub fn new(model: &str) -> Self {
        Self(ir::Request { model: Text::new(model), ..ir::Request::default() })
    }

    /// Adds instructions.
    #[must_use]
    pub fn system(self, text: &str) -> Self {
        self.message(Role::System, text)
    }

    /// Adds what a person says.
    #[must_use]
    pub fn user(self, text: &str) -> Self {
        self.message(Role::User, text)
    }

    /// Adds what the model said.
    #[must_use]
    pub fn assistant(self, text: &str) -> Self {
        self.message(Role::Assistant, text)
    }

    /// Limits the answer.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.0.max_tokens = Some(tokens);
        self
    }

    /// The request, for everything else that can be set.
    pub fn into_request(self) -> ir::Request {
        self.0
    }

    fn message(mut self, role: Role, text: &str) -> Self {
        let blocks = vec![Block::from(BlockKind::Text(Text::new(text)))];
        self.0.messages.push(Message { role, blocks, name: None, attachments: Vec::new() });
        self
    }
}

impl From<Chat> for ir::Request {
    fn from(chat: Chat) -> Self {
        chat.0
    }
}

impl Gateway {
    /// Makes calls with an application key; without one only where the document does not require keys.
    pub fn client(&self, key: Option<&str>) -> Client {
        let key = key.and_then(|key| HeaderValue::try_from(format!("Bearer {key}")).ok());
        Client { gateway: self.clone(), key }
    }
}

impl Client {
    /// Sends any body to any endpoint, as a client of the HTTP interface would.
    pub async fn send(
        &self,
        line: impl Into<RequestLine>,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answered, ClientError> {
        self.upload(line, headers, body).await
    }

    /// The same with a body that need not be there yet.
    pub async fn upload(
        &self,
        line: impl Into<RequestLine>,
        headers: HeaderMap,
        body: impl Into<RequestBody> + Send + 'static,
    ) -> Result<Answered, ClientError> {
        let mut headers = headers;
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        let request = (Headers::Map(headers), body);
        let shared = self.gateway.shared();
        let answer = handle_on(&shared.seats[shared.idlest()], line.into(), request)
            .await
            .ok_or(ClientError::Stopped)?;
        let (head, body) = answer.into_parts();
        Ok(Answered { status: head.status, headers: head.headers, body })
    }

    /// Asks for a whole answer.
    pub async fn generate(&self, request: impl Into<ir::Request>) -> Result<ir::Response, ClientError> {
        let request = ir::Request { stream: false, ..request.into() };
        let (dialect, answered) = self.ask(&request).await?;
        outbound(dialect).decode_response(&answered.bytes().await?).map_err(ClientError::Malformed)
    }

    /// Asks for a stream.
    pub async fn stream(&self, request: impl Into<ir::Request>) -> Result<Events, ClientError> {
        let request = ir::Request { stream: true, ..request.into() };
        let (dialect, answered) = self.ask(&request).await?;
        Ok(Events {
            body: answered.body,
            framing: dialect.framing(),
            reader: dialect.framing().reader(EVENT_BYTES_MAX),
            decoder: outbound(dialect).decode_events(),
            queue: VecDeque::new(),
            done: false,
        })
    }

    async fn ask(&self, request: &ir::Request) -> Result<(Dialect, Answered), ClientError> {
        let dialect = self.dialect(&request.model.plain());
        let model = request.model.plain();
        let target = Target {
            model: &model,
            quirks: &Quirks::default(),
            params: &[],
            wants_max_completion_tokens: false,
        };
        let encoded = outbound(dialect).encode_request(request, &target)?;
        let named = Named { model: model.as_ref().into(), stream: Some(request.stream) };
        let named = Some(named).filter(|_| dialect.model_in_path());
        let line = RequestLine { named, ..Endpoint::Generate(dialect).into() };
        let answered = self.send(line, HeaderMap::new(), encoded.body.into()).await?;
        if answered.status.is_success() {
            return Ok((dialect, answered));
        }
        let status = answered.status;
        let body = answered.bytes().await?;
        let message = outbound(dialect).decode_fault(status.as_u16(), &body).message;
        Err(ClientError::Status { status, message, body })
    }

    /// The dialect of the provider that will most likely answer: what need not be translated is not.
    fn dialect(&self, model: &str) -> Dialect {
        let target = match self.gateway.snapshot().resolve(model) {
            Some(ResolvedTarget::Target(target)) => Some(target),
            Some(ResolvedTarget::Group(group)) => group.targets.first().cloned(),
            None => None,
        };
        target.and_then(|target| target.provider.dialects.first().copied()).unwrap_or(Dialect::OpenAiChat)
    }
}

/// The events of a streamed answer. Dropping it ends the upstream call.
pub struct Events {
    body: RemoteBody,
    framing: Framing,
    reader: frame::Reader,
    decoder: Box<dyn DecodeEvents>,
    queue: VecDeque<Event>,
    done: bool,
}

impl Events {
    /// The next event; an error ends the stream.
    pub async fn next(&mut self) -> Option<Result<Event, ClientError>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Event, ClientError>>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                if let Event::Fault(fault) = event {
                    self.done = true;
                    return Poll::Ready(Some(Err(ClientError::Broken(fault.message))));
                }
                return Poll::Ready(Some(Ok(event)));
            }
            if self.done {
                return Poll::Ready(None);
            }
            let next = ready!(self.body.poll_chunk(cx));
            if let Err(error) = self.take(next) {
                self.done = true;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn take(&mut self, next: Option<Result<Bytes, Cut>>) -> Result<(), ClientError> {
        let block = match next {
            Some(chunk) => {
                self.reader.feed(chunk?).map_err(|error| ClientError::Malformed(error.to_string()))?
            }
            None => {
                self.done = true;
                self.reader.finish()
            }
        };
        let mut events = Vec::new();
        for event in self.framing.events(&block) {
            self.decoder.decode(&event, &mut events).map_err(ClientError::Malformed)?;
        }
        self.queue.extend(events);
        if self.done
            && !self.decoder.ended()
            && !self.queue.iter().any(|event| matches!(event, Event::Fault(_)))
        {
            return Err(ClientError::Broken("the stream ended without its end".to_owned()));
        }
        Ok(())
    }
}

impl Stream for Events {
    type Item = Result<Event, ClientError>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_event(cx)
    }
}
