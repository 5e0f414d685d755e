//! A session of OpenAI's Realtime API: WebSocket, JSON events both ways.

use std::future::Future;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{
    CONNECTION, COOKIE, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, request};
use hyper::body::Incoming;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};

use super::behaviour::Behaviour;
use super::body::{ResetFlag, Steps};
use super::record::Ticket;
use super::serve::header;
use super::vendor::{VendorError, fresh_id};

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Whether a request is for a session.
pub(super) fn is_for(head: &request::Parts) -> bool {
    head.uri.path().ends_with("/realtime") && head.headers.contains_key(UPGRADE)
}

/// The model, which stands in the query.
pub(super) fn model(head: &request::Parts) -> String {
    let query = head.uri.query().unwrap_or_default();
    let named = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    super::endpoint::decoded(named("model").or_else(|| named("deployment")).unwrap_or_default())
}

/// What is wrong with a request for a session.
pub(super) fn check(head: &request::Parts, key: &str) -> Result<(), VendorError> {
    let word = |name: &str| header(head, name).to_ascii_lowercase();
    if word(UPGRADE.as_str()) != "websocket"
        || !word(CONNECTION.as_str()).split(',').any(|word| word.trim() == "upgrade")
        || header(head, SEC_WEBSOCKET_VERSION.as_str()) != "13"
        || STANDARD.decode(header(head, SEC_WEBSOCKET_KEY.as_str())).map_or(0, |key| key.len()) != 16
    {
        return Err(VendorError::invalid("this is no handshake of WebSocket"));
    }
    if head.headers.contains_key(COOKIE) || header(head, SEC_WEBSOCKET_PROTOCOL.as_str()).contains("api-key")
    {
        return Err(VendorError::invalid("the headers of somebody else came through"));
    }
    if model(head).is_empty() {
        return Err(VendorError::invalid("You must provide a model parameter.").code("missing_model"));
    }
    if key.is_empty() {
        return Err(VendorError::new(401, "invalid_request_error", "Missing bearer or basic authentication"));
    }
    Ok(())
}

/// Accepts the session, which then runs on the connection.
pub(super) fn accept(
    request: &mut Request<Incoming>,
    model: String,
    (behaviour, ticket): (Behaviour, Ticket),
    reset: ResetFlag,
) -> Response<Steps> {
    let mut response = Response::new(Steps::new(std::collections::VecDeque::new(), None, reset.clone()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    put(request.headers(), response.headers_mut());
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(run(upgrade, Session { model, behaviour, ticket, reset, sound: 0 }));
    response
}

fn put(asked: &HeaderMap, answered: &mut HeaderMap) {
    let key = asked.get(SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes).unwrap_or_default();
    answered.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answered.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::try_from(derive_accept_key(key)) {
        answered.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    let offered = asked.get(SEC_WEBSOCKET_PROTOCOL).and_then(|list| list.to_str().ok()).unwrap_or_default();
    if offered.split(',').any(|one| one.trim() == "realtime") {
        answered.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("realtime"));
    }
}

struct Session {
    model: String,
    behaviour: Behaviour,
    ticket: Ticket,
    reset: ResetFlag,
    /// Bytes of sound that came.
    sound: usize,
}

/// The connection is over.
struct Gone;

async fn run(upgrade: OnUpgrade, mut session: Session) {
    let Ok(upgraded) = upgrade.await else { return };
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    let created = json!({ "type": "session.created", "session": session.shown(&Value::Null) });
    if say(&mut socket, created).await.is_err() {
        return;
    }
    while let Some(Ok(message)) = socket.next().await {
        let done = match message {
            Message::Text(text) => session.event(&mut socket, text.as_str()).await,
            // The vendor has none of these: so that tests see that they pass.
            Message::Binary(bytes) => socket.send(Message::Binary(bytes)).await.map_err(|_| Gone),
            Message::Close(_) => {
                session.ticket.finish();
                Ok(())
            }
            _ => Ok(()),
        };
        if done.is_err() {
            return;
        }
    }
}

fn say(socket: &mut Socket, mut event: Value) -> impl Future<Output = Result<(), Gone>> {
    event["event_id"] = fresh_id("event_").into();
    async move { socket.send(Message::text(event.to_string())).await.map_err(|_| Gone) }
}

fn error(message: &str, event: &Value) -> Value {
    json!({ "type": "error", "error": { "type": "invalid_request_error", "code": null, "message": message, "param": null,
        "event_id": event["event_id"] } })
}

impl Session {
    fn shown(&self, update: &Value) -> Value {
        let mut session =
            json!({ "type": "realtime", "object": "realtime.session", "id": "sess_1", "model": self.model });
        if let (Some(session), Some(update)) = (session.as_object_mut(), update.as_object()) {
            session.extend(update.clone());
        }
        session
    }

    async fn event(&mut self, socket: &mut Socket, text: &str) -> Result<(), Gone> {
        let Ok(event) = serde_json::from_str::<Value>(text) else {
            return say(socket, error("Unable to parse event", &Value::Null)).await;
        };
        match event["type"].as_str().unwrap_or_default() {
            "session.update" => {
                let model = event["session"].get("model");
                if model.is_some_and(|model| *model != self.model) {
                    return say(socket, error("Cannot update a conversation's model", &event)).await;
                }
                let session = self.shown(&event["session"]);
                say(socket, json!({ "type": "session.updated", "session": session })).await
            }
            "input_audio_buffer.append" => {
                match event["audio"].as_str().map(|sound| STANDARD.decode(sound)) {
                    Some(Ok(sound)) => {
                        self.sound += sound.len();
                        Ok(())
                    }
                    _ => {
                        say(socket, error("Invalid 'audio'. Expected base64-encoded audio bytes", &event))
                            .await
                    }
                }
            }
            "input_audio_buffer.commit" => {
                say(socket, json!({ "type": "input_audio_buffer.committed", "bytes": self.sound })).await
            }
            "conversation.item.create" => {
                say(socket, json!({ "type": "conversation.item.added", "item": event["item"] })).await
            }
            "response.create" => self.respond(socket).await,
            other => {
                let message =
                    format!("Invalid value: '{other}'. Supported values are: 'session.update', ...");
                say(socket, error(&message, &event)).await
            }
        }
    }

    async fn respond(&mut self, socket: &mut Socket) -> Result<(), Gone> {
        let id = fresh_id("resp_");
        say(socket, json!({ "type": "response.created", "response": { "id": id, "status": "in_progress" } }))
            .await?;
        let size = self.behaviour.count("bytes").unwrap_or(5);
        for at in 0..self.behaviour.count("tokens").unwrap_or(3) {
            self.fail(socket, at).await?;
            if let Some(gap) = self.behaviour.number("gap_ms") {
                sleep(Duration::from_millis(gap)).await;
            }
            let delta = "Hello".repeat(size.div_ceil(5));
            say(socket, json!({ "type": "response.output_text.delta", "response_id": id, "delta": delta }))
                .await?;
        }
        let usage = json!({ "total_tokens": 30, "input_tokens": 20, "output_tokens": 10,
            "input_token_details": { "text_tokens": 8, "audio_tokens": 12, "cached_tokens": 4 },
            "output_token_details": { "text_tokens": 3, "audio_tokens": 7 } });
        let usage = if self.behaviour.has("no_usage") { Value::Null } else { usage };
        let response = json!({ "id": id, "status": "completed", "usage": usage });
        say(socket, json!({ "type": "response.done", "response": response })).await
    }

    /// Ends the session after so many deltas, where that is asked for.
    async fn fail(&mut self, socket: &mut Socket, after: usize) -> Result<(), Gone> {
        let due = |name: &str| self.behaviour.count(name) == Some(after);
        if due("close_mid") {
            let frame = CloseFrame { code: CloseCode::Library(4001), reason: "session expired".into() };
            let _ = socket.send(Message::Close(Some(frame))).await;
            while let Some(Ok(_)) = socket.next().await {}
            return Err(Gone);
        }
        if due("cut_mid") || due("reset_mid") {
            self.reset.store(due("reset_mid"), std::sync::atomic::Ordering::Relaxed);
            return Err(Gone);
        }
        if due("silent_mid") {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}
