//! One request from its head to its answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, request};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use tokio::time::sleep;

use super::behaviour::Behaviour;
use super::body::{ResetFlag, Step, Steps};
use super::encode::Encoder;
use super::endpoint::{Endpoint, Kind};
use super::kept::{Account, Kept};
use super::record::{Recorded, Recorder, Ticket};
use super::script::Script;
use super::tally::Tallies;
use super::vendor::{Reply, Vendor, VendorError, forced_error, fresh_id};
use super::{anthropic, bedrock, cohere, control, form, gemini, openai, realtime, stream};

/// Body bytes that are accepted.
const BODY_BYTES_MAX: usize = 256 << 20;

/// What all connections share.
#[derive(Debug, Default)]
pub(super) struct Upstream {
    pub(super) recorder: Arc<Recorder>,
    pub(super) tallies: Arc<Tallies>,
    pub(super) script: Script,
    kept: Kept,
}

/// Answers one request. `reset` makes its connection end in a reset.
pub(super) async fn handle(
    upstream: Arc<Upstream>,
    reset: ResetFlag,
    request: Request<Incoming>,
) -> Result<Response<Steps>, Infallible> {
    let (head, body) = request.into_parts();
    if realtime::is_for(&head) {
        return Ok(session(&upstream, reset, Request::from_parts(head, body)).await);
    }
    let early = Behaviour::from_key(api_key(&head)).is_ok_and(|behaviour| behaviour.has("early"));
    let body = if early { Ok(Bytes::new()) } else { collect(body).await };
    let Ok(body) = body else {
        let text = "the body did not arrive, or is too large".to_owned();
        return Ok(control::plain(StatusCode::PAYLOAD_TOO_LARGE, "text/plain", text));
    };
    let path = head.uri.path();
    if path.starts_with("/_mock/") {
        return Ok(control::handle(&upstream, &head.method, path, &body));
    }
    if path == "/healthz" {
        return Ok(control::plain(StatusCode::OK, "text/plain", "ok\n".to_owned()));
    }
    let endpoint = Endpoint::find(&head.method, &head.uri, &head.headers);
    let model = endpoint.model(header(&head, "content-type"), &body);
    let ticket = upstream.recorder.begin(recorded(&head, body.clone()), upstream.tallies.begin(&model));
    let behaviour = match behaviour(&upstream, &head, &model) {
        Ok(behaviour) => behaviour,
        Err(problem) => {
            let error = VendorError::new(418, "invalid_request_error", problem);
            let outcome = Outcome { vendor: endpoint.vendor(&head.headers), answer: Err(error) };
            return Ok(outcome.respond(&Behaviour::default(), Connection { ticket, reset }));
        }
    };
    if let Some(delay) = behaviour.number("delay_ms") {
        sleep(Duration::from_millis(delay)).await;
    }
    if behaviour.has("silent") {
        std::future::pending::<()>().await;
    }
    let vendor = endpoint.vendor(&head.headers);
    let outcome = Outcome { vendor, answer: answer(&upstream, &endpoint, (&head, &body), &behaviour) };
    Ok(outcome.respond(&behaviour, Connection { ticket, reset }))
}

/// Answers a request for a session.
async fn session(upstream: &Upstream, reset: ResetFlag, request: Request<Incoming>) -> Response<Steps> {
    let (head, body) = request.into_parts();
    let (model, key) = (realtime::model(&head), api_key(&head));
    let ticket = upstream.recorder.begin(recorded(&head, Bytes::new()), upstream.tallies.begin(&model));
    let behaviour = behaviour(upstream, &head, &model).unwrap_or_default();
    if let Some(delay) = behaviour.number("delay_ms") {
        sleep(Duration::from_millis(delay)).await;
    }
    if behaviour.has("silent") {
        std::future::pending::<()>().await;
    }
    let vendor: &dyn Vendor = &openai::OpenAi;
    let forced = forced_error(vendor, &behaviour, &model).map_or(Ok(()), Err);
    let refused = realtime::check(&head, key).and(forced).err();
    if refused.is_some() || behaviour.has("html_error") {
        let answer = refused.map_or(Ok(Reply::Whole("{}".to_owned())), Err);
        return Outcome { vendor, answer }.respond(&behaviour, Connection { ticket, reset });
    }
    let mut request = Request::from_parts(head, body);
    realtime::accept(&mut request, model, (behaviour, ticket), reset)
}

async fn collect(body: Incoming) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    Ok(Limited::new(body, BODY_BYTES_MAX).collect().await?.to_bytes())
}

fn recorded(head: &request::Parts, body: Bytes) -> Recorded {
    let headers = head.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    // HTTP/2 carries the host in the request line.
    let host = head.uri.authority().map(|host| ("host".to_owned(), host.to_string()));
    Recorded {
        id: 0,
        method: head.method.to_string(),
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        version: format!("{:?}", head.version),
        headers: host.into_iter().chain(headers).collect(),
        body,
        aborted: false,
        done: false,
    }
}

pub(super) fn header<'a>(head: &'a request::Parts, name: &str) -> &'a str {
    head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The API key, from whichever header; of a signed request the id of the key. Empty where there is none.
fn api_key(head: &request::Parts) -> &str {
    let authorization = header(head, AUTHORIZATION.as_str());
    let signed = authorization.strip_prefix("AWS4-HMAC-SHA256 Credential=");
    let signed = signed.and_then(|rest| rest.split('/').next());
    let bearer = authorization.strip_prefix("Bearer ").unwrap_or_default().trim();
    let others = ["x-api-key", "x-goog-api-key", "api-key"].map(|name| header(head, name));
    let query = head.uri.query().unwrap_or_default();
    let in_query = query.split('&').find_map(|pair| pair.strip_prefix("key="));
    [signed.unwrap_or_default(), bearer]
        .into_iter()
        .chain(others)
        .chain(in_query)
        .find(|key| !key.is_empty())
        .unwrap_or_default()
}

fn behaviour(upstream: &Upstream, head: &request::Parts, model: &str) -> Result<Behaviour, String> {
    let key = api_key(head);
    let mut behaviour = Behaviour::from_key(key)?;
    behaviour.overlay(Behaviour::from_model(model)?);
    behaviour.overlay(upstream.script.take(key));
    behaviour.overlay(Behaviour::parse(header(head, "x-mock"))?);
    Ok(behaviour)
}

fn answer(
    upstream: &Upstream,
    endpoint: &Endpoint,
    (head, body): (&request::Parts, &[u8]),
    behaviour: &Behaviour,
) -> Result<Reply, VendorError> {
    let vendor = endpoint.vendor(&head.headers);
    let known_key = endpoint.has_key(head, api_key(head));
    if !known_key && !behaviour.has("no_auth") {
        return Err(vendor.missing_key());
    }
    let in_stream = behaviour.has("error_event") || behaviour.has("error_event_mid");
    if !in_stream
        && let Some(error) =
            forced_error(vendor, behaviour, &endpoint.model(header(head, "content-type"), body))
    {
        return Err(error);
    }
    let account = Account { kept: &upstream.kept, key: api_key(head) };
    let content_type = header(head, "content-type");
    let form = || {
        form::parse(content_type, body)
            .map_err(|why| VendorError::invalid(format!("Could not parse multipart form: {why}")))
    };
    match endpoint {
        Endpoint::Kept { what, id, action } => {
            let asked = (head.method.as_str(), id.as_str(), action.as_str());
            match what {
                Kind::Response => openai::kept_response(asked, head.uri.query().unwrap_or_default(), account),
                Kind::Batch => openai::kept_batch(asked, body, account),
                Kind::File => openai::kept_file(asked, (content_type, body), account),
                Kind::MessageBatch => anthropic::kept_batch(asked, (&head.headers, body), account),
            }
        }
        Endpoint::ResponseTokens => openai::input_tokens(body, account),
        Endpoint::Transcriptions => openai::transcriptions(form()?, behaviour),
        Endpoint::Translations => openai::translations(form()?),
        Endpoint::ImageEdits if !form::is_form(content_type) => openai::edits_in_json(body, behaviour),
        Endpoint::ImageEdits => openai::edits(form()?, behaviour),
        Endpoint::ImageVariations => openai::variations(form()?),
        Endpoint::Chat => openai::chat(body, behaviour, account),
        Endpoint::Responses => openai::responses(body, behaviour, account),
        Endpoint::Messages => anthropic::messages(body, &head.headers, behaviour),
        Endpoint::Completions => openai::completions(body, behaviour),
        Endpoint::Embeddings => openai::embeddings(body),
        Endpoint::Images => openai::images(body, behaviour),
        Endpoint::Speech => openai::speech(body),
        Endpoint::Moderations => openai::moderations(body),
        Endpoint::CohereChat => cohere::chat(body, behaviour),
        Endpoint::CohereEmbed => cohere::embed(body),
        Endpoint::Rerank if head.uri.path().ends_with("/v1/rerank") => cohere::rerank(body, "1"),
        Endpoint::Rerank => cohere::rerank(body, "2"),
        Endpoint::CountTokens => anthropic::count_tokens(body),
        Endpoint::Converse { model, stream } => bedrock::converse((model, *stream), body, behaviour),
        Endpoint::Generate { model, stream } => gemini::generate((model, *stream), body, behaviour),
        Endpoint::GeminiCount(model) => gemini::count_tokens(model, body),
        Endpoint::Embed(model) => gemini::embed(model, body),
        Endpoint::BatchEmbed(model) => gemini::batch_embed(model, body),
        Endpoint::GeminiModels => Ok(Reply::Whole(gemini::models())),
        Endpoint::GeminiModel(id) => Ok(Reply::Whole(gemini::model(id))),
        Endpoint::Models if head.headers.contains_key("anthropic-version") => {
            Ok(Reply::Whole(anthropic::models()))
        }
        Endpoint::Models => Ok(Reply::Whole(openai::models())),
        Endpoint::Model(id) if head.headers.contains_key("anthropic-version") => {
            Ok(Reply::Whole(anthropic::model(id)))
        }
        Endpoint::DeleteModel(id) => Ok(Reply::Whole(openai::delete_model(id))),
        Endpoint::Model(id) => Ok(Reply::Whole(openai::model(id))),
        Endpoint::Unknown(_) => Err(vendor.unknown_path(head.method.as_str(), head.uri.path())),
    }
}

struct Connection {
    ticket: Ticket,
    reset: ResetFlag,
}

struct Outcome {
    vendor: &'static dyn Vendor,
    answer: Result<Reply, VendorError>,
}

/// What a proxy in front of a vendor answers when the vendor is away.
const HTML_ERROR: &str = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad \
                          Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n";

impl Outcome {
    fn respond(self, behaviour: &Behaviour, connection: Connection) -> Response<Steps> {
        let request_id = fresh_id("req_");
        let html = behaviour.has("html_error");
        let (status, mime, (steps, length)) = match &self.answer {
            _ if html => (502, "text/html", stream::whole(HTML_ERROR, behaviour)),
            Ok(Reply::Stream(events)) => {
                let steps = stream::steps(events.clone(), behaviour);
                (200, events.framing.media_type(), (steps, None))
            }
            Ok(Reply::Whole(text)) => (200, "application/json", stream::whole(text, behaviour)),
            Ok(Reply::Bytes(mime, bytes)) => (200, *mime, stream::bytes(bytes, behaviour)),
            Err(error) => {
                let text = self.vendor.render(error, &request_id);
                (error.status, "application/json", stream::whole(&text, behaviour))
            }
        };
        let silence = matches!(steps.back(), Some(Step::Silence)) && length.is_none();
        connection.ticket.tally.answered(status);
        let body = Steps::new(steps, Some(connection.ticket), connection.reset);
        let mut response = Response::new(match length {
            Some(length) if !silence => body.with_length(length),
            _ => body,
        });
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(mime));
        if !html {
            vendor_headers(self.vendor, &request_id, headers);
        }
        if let Err(error) = &self.answer
            && let Some((name, value)) = self.vendor.error_header(error)
            && let Ok(value) = HeaderValue::try_from(value)
        {
            headers.insert(name, value);
        }
        if let Ok(Reply::Stream(_)) = &self.answer {
            headers.insert("cache-control", HeaderValue::from_static("no-cache"));
        }
        if let Some(encoding) = Encoder::new(behaviour).name() {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        if let Some(seconds) = behaviour.number("retry_after") {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn vendor_headers(vendor: &dyn Vendor, request_id: &str, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(vendor.id_header(), value);
    }
    for (name, value) in vendor.headers() {
        headers.insert(*name, HeaderValue::from_static(value));
    }
}
