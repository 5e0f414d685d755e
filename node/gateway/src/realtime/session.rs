//! A session: messages of client and provider on their way to each other, until one of them leaves.
//!
//! Each side has its own WebSocket: pings are answered where they arrive, and a message is one here however it was cut.
//! A message that waits for its receiver keeps the next one of its sender waiting.

use super::{dial::Link, sessions::Place};
use crate::{
    budget::{Budget, Held},
    flight::Flight,
    record::Outcome,
    state::Slot,
    upstream::Io,
};
use futures_util::{SinkExt, Stream, StreamExt};
use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::{Instant, sleep_until, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        error::ProtocolError,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};
use trestle_dialect::realtime::{self, Passing};

/// Largest message of either side: OpenAI takes 15 MiB of sound at once.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What a connection reads at once, and writes at once if it can.
const BUFFER_BYTES: usize = 16 * 1024;
/// Neither side has said anything.
const IDLE: Duration = Duration::from_secs(600);
/// Longer than OpenAI's own limit of an hour, so that the client hears of that one.
const TOTAL: Duration = Duration::from_secs(65 * 60);
/// For goodbyes.
const CLOSING: Duration = Duration::from_secs(1);
/// Events of our own that wait for the client.
const OWN_MAX: usize = 8;

/// A session that is open on the provider's side. Settled when it is dropped.
pub struct Session {
    flight: Box<Flight>,
    upstream: WebSocketStream<Io>,
    /// How the client calls the model, and how the provider does.
    model: (String, Box<str>),
    place: Place,
    #[allow(dead_code, reason = "the call runs as long as the session")]
    slot: Slot,
}

/// How a session ends.
enum End {
    /// The client says goodbye.
    Client(Option<CloseFrame>),
    /// The provider does.
    Upstream(Option<CloseFrame>),
    /// The client is gone.
    ClientGone,
    /// The provider is gone.
    UpstreamGone,
    /// The client does not keep to the rules.
    ClientWrong(CloseCode, &'static str),
    /// Nobody said anything.
    Idle,
    /// It took too long.
    Total,
    /// Too much is held in the whole process.
    Full,
    /// The node goes.
    Leaving,
}

/// What both directions share.
struct Shared<'a> {
    budget: Arc<Budget>,
    budget_max: u64,
    flight: RefCell<&'a mut Flight>,
    last: Cell<Instant>,
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX))
}

impl Session {
    pub(super) async fn new(flight: Box<Flight>, link: Link, asked: String) -> Self {
        let Link { io, first, model, slot, .. } = link;
        let upstream =
            WebSocketStream::from_partially_read(io, first.into(), Role::Client, Some(config())).await;
        let place = flight.worker.shared.sessions.place();
        Self { flight, upstream, model: (asked, model), place, slot }
    }

    /// Runs on the client's connection, which has switched to WebSocket, to the end of the session.
    pub async fn run(mut self, client: impl AsyncRead + AsyncWrite + Unpin) {
        let client = WebSocketStream::from_raw_socket(client, Role::Server, Some(config())).await;
        let (mut to_client, mut from_client) = client.split();
        let (mut to_upstream, mut from_upstream) = self.upstream.split();
        let shared = Shared {
            budget: Arc::clone(self.flight.worker.budget()),
            budget_max: self.flight.worker.snapshot().settings.buffered_bytes_max,
            flight: RefCell::new(&mut self.flight),
            last: Cell::new(Instant::now()),
        };
        let (own, mut owned) = mpsc::channel(OWN_MAX);
        let model = (&*self.model.0, &*self.model.1);
        let end = tokio::select! {
            end = upward((&mut from_client, &mut to_upstream), &own, model, &shared) => end,
            end = downward((&mut from_upstream, &mut to_client), &mut owned, &shared) => end,
            end = shared.watch() => end,
            () = self.place.told() => End::Leaving,
        };
        // Known before the goodbyes, which nobody may hear.
        self.flight.record.outcome = end.outcome();
        let (for_client, for_upstream) = end.goodbyes();
        let goodbyes = async {
            // An error is that they cannot be told, or that they have said goodbye themselves: then this flushes ours.
            let _ = tokio::join!(
                leave(&mut to_client, &mut from_client, for_client),
                leave(&mut to_upstream, &mut from_upstream, for_upstream),
            );
        };
        let _ = timeout(CLOSING, goodbyes).await;
    }
}

impl End {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Client(_) | Self::Upstream(_) => Outcome::Ok,
            Self::ClientGone | Self::Leaving => Outcome::Cancelled,
            Self::UpstreamGone => Outcome::Broken("connection_broken"),
            Self::ClientWrong(..) => Outcome::Broken("invalid_request"),
            Self::Idle => Outcome::Broken("idle_timeout"),
            Self::Total => Outcome::Broken("total_timeout"),
            Self::Full => Outcome::Broken("overloaded"),
        }
    }

    /// What the client and the provider are told.
    fn goodbyes(self) -> (Option<CloseFrame>, Option<CloseFrame>) {
        let away = |why: &'static str| Some(CloseFrame { code: CloseCode::Away, reason: why.into() });
        match self {
            Self::Client(frame) | Self::Upstream(frame) => (frame.clone(), frame),
            Self::ClientGone => (None, away("")),
            Self::UpstreamGone => {
                let reason = "the connection to the provider broke".into();
                (Some(CloseFrame { code: CloseCode::Error, reason }), None)
            }
            Self::ClientWrong(code, why) => (Some(CloseFrame { code, reason: why.into() }), away("")),
            Self::Idle => (away("nothing was said for ten minutes"), away("")),
            Self::Total => (away("the session took longer than it may"), away("")),
            Self::Full => {
                let reason = "too many bytes are in flight: try again shortly".into();
                (Some(CloseFrame { code: CloseCode::Again, reason }), away(""))
            }
            Self::Leaving => (away("this node of the gateway is going away"), away("")),
        }
    }
}

impl Shared<'_> {
    /// Notes a message; its share of the bytes in flight, which it has until it is sent.
    fn passed(&self, message: &Message, count: impl FnOnce(&mut Flight, u64)) -> Result<Held, End> {
        self.last.set(Instant::now());
        count(&mut self.flight.borrow_mut(), message.len() as u64);
        let mut held = self.budget.share();
        held.grow(message.len(), self.budget_max).map(|()| held).map_err(|_| End::Full)
    }

    /// Ready when nobody says anything any more, or it has taken too long.
    async fn watch(&self) -> End {
        let total = Instant::now() + TOTAL;
        loop {
            let idle = self.last.get() + IDLE;
            sleep_until(idle.min(total)).await;
            if Instant::now() >= total {
                return End::Total;
            }
            if Instant::now() >= self.last.get() + IDLE {
                return End::Idle;
            }
        }
    }
}

type Messages<'a, S> = &'a mut futures_util::stream::SplitStream<WebSocketStream<S>>;
type Out<'a, S> = &'a mut futures_util::stream::SplitSink<WebSocketStream<S>, Message>;

/// Messages of the client on their way to the provider.
async fn upward<C, U>(
    (from, to): (Messages<'_, C>, Out<'_, U>),
    own: &mpsc::Sender<Message>,
    model: (&str, &str),
    shared: &Shared<'_>,
) -> End
where
    C: AsyncRead + AsyncWrite + Unpin,
    U: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(next) = from.next().await {
        let message = match next {
            Ok(Message::Close(frame)) => return End::Client(frame),
            Ok(message) => message,
            Err(Error::Capacity(_)) => {
                return End::ClientWrong(CloseCode::Size, "a message is larger than 16 MiB");
            }
            Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => return End::ClientGone,
            Err(Error::Protocol(_) | Error::Utf8(_)) => {
                return End::ClientWrong(CloseCode::Protocol, "the frames are not WebSocket");
            }
            Err(_) => return End::ClientGone,
        };
        let message = match message {
            Message::Text(text) => match realtime::client_event(text.as_str(), model) {
                Passing::Same => Message::Text(text),
                Passing::Instead(text) => Message::text(text),
                Passing::Refused(event) => {
                    // The client is told through the other direction.
                    let _ = own.send(Message::text(event)).await;
                    continue;
                }
            },
            Message::Binary(bytes) => Message::Binary(bytes),
            // Answered where they arrive.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) | Message::Close(_) => continue,
        };
        let held = shared.passed(&message, |flight, bytes| flight.record.bytes_in += bytes);
        let _held = match held {
            Ok(held) => held,
            Err(full) => return full,
        };
        if to.send(message).await.is_err() {
            // Why, is seen by who reads from there.
            std::future::pending::<()>().await;
        }
    }
    End::ClientGone
}

/// Messages of the provider, and those of our own, on their way to the client.
async fn downward<C, U>(
    (from, to): (Messages<'_, U>, Out<'_, C>),
    own: &mut mpsc::Receiver<Message>,
    shared: &Shared<'_>,
) -> End
where
    C: AsyncRead + AsyncWrite + Unpin,
    U: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let next = tokio::select! {
            next = from.next() => next,
            Some(message) = own.recv() => Some(Ok(message)),
        };
        let message = match next {
            Some(Ok(Message::Close(frame))) => return End::Upstream(frame),
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => message,
            Some(Ok(_)) => continue,
            Some(Err(_)) | None => return End::UpstreamGone,
        };
        let usage = message.to_text().ok().and_then(realtime::usage);
        let held = shared.passed(&message, |flight, bytes| {
            flight.record.bytes_out += bytes;
            flight.record.events = flight.record.events.saturating_add(1);
            if let Some(usage) = usage {
                flight.more_usage(usage);
            }
        });
        let _held = match held {
            Ok(held) => held,
            Err(full) => return full,
        };
        if to.send(message).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Says goodbye and waits for the other's, so that ours is not lost with the connection.
async fn leave<S>(to: Out<'_, S>, from: Messages<'_, S>, frame: Option<CloseFrame>) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let said = to.send(Message::Close(frame)).await;
    drain(from).await;
    said
}

async fn drain(from: &mut (impl Stream<Item = Result<Message, Error>> + Unpin)) {
    while let Some(Ok(_)) = from.next().await {}
}
