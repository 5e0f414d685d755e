//! Gets the media that clients name by URL, for targets that cannot be told one. What a client names is never inside:
//! private, link-local and metadata addresses are refused after the name has been resolved, on every redirect again.

use crate::{
    budget::Held,
    cause::{Failed, Next},
    state::acquire,
    upstream::{self, Incoming, Outgoing, Pool, SendError},
    worker::Worker,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::LazyLock,
    time::Duration,
};
use trestle_config::{MockSettings, ProviderConfig, ProviderKind, RetryPolicy, Settings, TimeLimits};
use trestle_dialect::{
    Quirks,
    ir::{self, Media, MediaSource, Text},
};
use trestle_provider::Origin;

/// Most URLs of one request.
const URLS_MAX: usize = 32;
/// Redirects that are followed.
const REDIRECTS_MAX: usize = 3;
/// All media of one request must be there in time.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Fetches of the whole process at once, and those that may wait.
const AT_ONCE: u32 = 64;
const WAITING: u32 = 1_000;
/// Under which fetches are counted; no provider can have this name.
const NAME: &str = "media/url";

/// How strangers' servers are called.
static STRANGERS: LazyLock<ProviderConfig> = LazyLock::new(strangers);

fn strangers() -> ProviderConfig {
    ProviderConfig {
        name: NAME.into(),
        vendor: NAME.into(),
        kind: ProviderKind::Mock(MockSettings::default()),
        dialects: Vec::new(),
        credentials: Vec::new(),
        keys_missing: true,
        quirks: Quirks::default(),
        forward_headers: Vec::new(),
        passthrough: Default::default(),
        models: Vec::new(),
        concurrency: AT_ONCE,
        queue: WAITING,
        times: TimeLimits {
            connect: Duration::from_secs(5),
            first_token: TIME_MAX,
            idle: TIME_MAX,
            total: TIME_MAX,
        },
        retries: RetryPolicy { max: 0, backoff: Duration::ZERO, backoff_max: Duration::ZERO },
        limits: Default::default(),
        tls_ca: None,
        tls_server_name: None,
        http2_prior_knowledge: false,
        private_addresses: false,
        params: Vec::new(),
        proxy: None,
    }
}

/// What is read into one request.
pub(crate) struct Fetch<'a> {
    /// Where it runs.
    pub(crate) worker: &'a Worker,
    /// Bounds.
    pub(crate) settings: &'a Settings,
    /// Counts the bytes.
    pub(crate) held: &'a mut Held,
}

impl Fetch<'_> {
    /// The request with all media that it names by URL in it.
    pub(crate) async fn inline(self, request: &ir::Request) -> Result<ir::Request, Failed> {
        let mut request = request.clone();
        let mut urls = Vec::new();
        request.each_media(|media| {
            if let MediaSource::Url(url) = &media.source
                && !urls.contains(url)
            {
                urls.push(url.clone());
            }
        });
        if urls.len() > URLS_MAX {
            return Err(unavailable(format!("the request names more than {URLS_MAX} URLs")));
        }
        let fetched = tokio::time::timeout(TIME_MAX, self.all(&urls, &STRANGERS)).await;
        let fetched = fetched
            .unwrap_or_else(|_| Err(unavailable("what the request names by URL did not come in time")))?;
        request.each_media(|media| fill(media, &fetched));
        Ok(request)
    }

    async fn all(
        self,
        urls: &[Text],
        config: &ProviderConfig,
    ) -> Result<HashMap<Text, (Option<Text>, Text)>, Failed> {
        let local = self.worker.provider(NAME);
        let mut fetched = HashMap::with_capacity(urls.len());
        for url in urls {
            let slot = acquire(&local.state, config.concurrency, config.queue).await;
            let slot = slot
                .map_err(|_| Failed::new("queue_full", Next::Onward, "too many media are being fetched"))?;
            let (media_type, body) = get(&url.plain(), config, slot, (self.settings, self.held)).await?;
            let text = STANDARD.encode(&body);
            hold(self.held, text.len() - body.len(), self.settings)?;
            fetched.insert(url.clone(), (media_type, Text::from_escaped(text.into())));
        }
        Ok(fetched)
    }
}

fn fill(media: &mut Media, fetched: &HashMap<Text, (Option<Text>, Text)>) {
    let MediaSource::Url(url) = &media.source else { return };
    if let Some((declared, data)) = fetched.get(url) {
        // What the first bytes say counts for more than what a server says, and that for more than a name.
        let found = Media::new(MediaSource::Base64(data.clone()), None);
        let told = Some(found.media_type_or_guess()).filter(|told| !told.is("application/octet-stream"));
        media.media_type = told.or_else(|| declared.clone());
        media.source = found.source;
    }
}

/// Counts bytes of media as they come.
fn hold(held: &mut Held, bytes: usize, settings: &Settings) -> Result<(), Failed> {
    let overloaded = "too many bytes of media are in flight: try again shortly";
    let grown = held.grow(bytes, settings.buffered_bytes_max);
    grown.map_err(|_| Failed::new("overloaded", Next::Stop, overloaded))
}

/// The bytes behind a URL, and what the server says that they are.
async fn get(
    url: &str,
    config: &ProviderConfig,
    slot: crate::state::Slot,
    (settings, held): (&Settings, &mut Held),
) -> Result<(Option<Text>, Bytes), Failed> {
    let bytes_max = settings.media_bytes_max;
    let mut uri: Uri = url.parse().map_err(|_| unavailable("the request names a URL that is none"))?;
    for _ in 0..=REDIRECTS_MAX {
        let origin = Origin::of(&uri).ok_or_else(|| {
            unavailable("the request names a URL that does not begin with https:// or http://")
        })?;
        let host = origin.host.clone();
        let failed = |what: &str| unavailable(format!("what the request names at {host} {what}"));
        let pool = Rc::new(RefCell::new(Pool::new(Default::default())));
        let request = request(&uri, &host);
        let sent = upstream::send(&pool, (&origin, config), &request, &Cell::new(false)).await;
        let (head, source) = sent.map_err(|error| match error {
            SendError::Connect(upstream::ConnectError::Refused(_)) => {
                failed("is at an address that may not be called")
            }
            SendError::Connect(_) => failed("cannot be reached"),
            SendError::Broken(_) => failed("broke off"),
        })?;
        if head.status.is_redirection() {
            let location = head.location.as_deref().ok_or_else(|| failed("redirects to nowhere"))?;
            uri = joined(&uri, location).ok_or_else(|| failed("redirects to what is no URL"))?;
            continue;
        }
        if head.status != StatusCode::OK {
            return Err(failed(&format!("cannot be had: {}", head.status.as_u16())));
        }
        let declared = head
            .media_type
            .as_deref()
            .and_then(|text| text.split(';').next())
            .map(|text| Text::new(text.trim()));
        let too_large = || failed(&format!("is larger than {bytes_max} bytes (settings.media_bytes_max)"));
        if head.length.is_some_and(|length| length > bytes_max) {
            return Err(too_large());
        }
        let mut body = Incoming::new(source, head.encoding, bytes_max, slot)
            .map_err(|_| failed("is compressed in a way that is not known here"))?;
        let mut all = Vec::new();
        while let Some(chunk) = body.chunk().await {
            let chunk = chunk.map_err(|_| failed("broke off, or is too large"))?;
            if (all.len() + chunk.len()) as u64 > bytes_max {
                return Err(too_large());
            }
            hold(held, chunk.len(), settings)?;
            all.extend_from_slice(&chunk);
        }
        if all.is_empty() {
            return Err(failed("is empty"));
        }
        return Ok((declared, all.into()));
    }
    Err(unavailable(format!("a URL of the request redirects more than {REDIRECTS_MAX} times")))
}

fn request(uri: &Uri, host: &str) -> Request<Outgoing> {
    let mut request = Request::new(Outgoing::new(Default::default()));
    *request.method_mut() = Method::GET;
    *request.uri_mut() = uri.path_and_query().cloned().map_or_else(|| Uri::from_static("/"), Uri::from);
    let authority = uri.authority().map_or(host, |authority| authority.as_str());
    // Of `user:password@host` only the host is for the header.
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let headers = request.headers_mut();
    headers.extend(HeaderValue::try_from(authority).ok().map(|value| (header::HOST, value)));
    headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(header::USER_AGENT, crate::prepare::AGENT.clone());
    request
}

/// Where a redirect leads: to a whole URL, or to a path of the same host.
fn joined(from: &Uri, location: &str) -> Option<Uri> {
    if !location.starts_with('/') {
        return location.parse().ok().filter(|uri: &Uri| uri.scheme().is_some());
    }
    let scheme = from.scheme_str()?;
    if let Some(rest) = location.strip_prefix("//") {
        return format!("{scheme}://{rest}").parse().ok();
    }
    format!("{scheme}://{}{location}", from.authority()?).parse().ok()
}

fn unavailable(message: impl ToString) -> Failed {
    Failed::new("media_unavailable", Next::Onward, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{budget::Budget, state::ProviderState};
    use std::sync::Arc;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
        task::LocalSet,
    };

    /// A server that answers each path as the test says.
    async fn serve(listener: TcpListener) {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let read = socket.read(&mut head).await.unwrap();
            let head = String::from_utf8_lossy(&head[..read]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let answer = match path {
                "/a.png?x=1" => "200 OK\r\ncontent-type: image/png; q=1\r\ncontent-length: 4\r\n\r\n\u{89}PN",
                "/there" => "302 Found\r\nlocation: /a.png?x=1\r\ncontent-length: 0\r\n\r\n",
                "/inside" => {
                    "302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n"
                }
                "/round" => "302 Found\r\nlocation: /round\r\ncontent-length: 0\r\n\r\n",
                "/file" => "302 Found\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n",
                "/large" => "200 OK\r\ncontent-length: 1000\r\n\r\n",
                "/endless" => "200 OK\r\nconnection: close\r\n\r\n0123456789012345678901234567890123456789",
                "/long" => "200 OK\r\nconnection: close\r\n\r\n01234567890123456789",
                "/empty" => "200 OK\r\ncontent-length: 0\r\n\r\n",
                _ => "404 Not Found\r\ncontent-length: 0\r\n\r\n",
            };
            socket.write_all(format!("HTTP/1.1 {answer}").as_bytes()).await.unwrap();
        }
    }

    async fn fetched(url: &str, config: &ProviderConfig) -> Result<(Option<Text>, Bytes), String> {
        let budget = Arc::new(Budget::default());
        let settings = Settings { media_bytes_max: 32, buffered_bytes_max: 36, ..Settings::default() };
        let slot = acquire(&Arc::new(ProviderState::default()), 1, 1).await.unwrap();
        // What others hold counts as well.
        let mut others = budget.share();
        others.grow(30, u64::MAX).unwrap();
        let mut held = budget.share();
        get(url, config, slot, (&settings, &mut held)).await.map_err(|failed| failed.message)
    }

    #[tokio::test]
    async fn what_is_inside_is_never_fetched() {
        LocalSet::new()
            .run_until(async {
                for url in [
                    "http://127.0.0.1:1/a.png",
                    "http://localhost:1/a.png",
                    "http://10.0.0.1/a.png",
                    "http://[::1]/a.png",
                    "http://[::ffff:169.254.169.254]/latest",
                    "http://169.254.169.254/latest/meta-data",
                ] {
                    let error = fetched(url, &STRANGERS).await.unwrap_err();
                    assert!(error.contains("an address that may not be called"), "{url}: {error}");
                }
                for url in ["file:///etc/passwd", "ftp://example.com/a", "a.png", "http://"] {
                    let error = fetched(url, &STRANGERS).await.unwrap_err();
                    assert!(error.contains("URL"), "{url}: {error}");
                }
            })
            .await;
    }

    #[tokio::test]
    async fn what_is_outside_is_fetched_within_bounds() {
        LocalSet::new()
            .run_until(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let base = format!("http://{}", listener.local_addr().unwrap());
                tokio::task::spawn_local(serve(listener));
                // For once the server is let in where it stands.
                let config = ProviderConfig { private_addresses: true, ..strangers() };
                for path in ["/a.png?x=1", "/there"] {
                    let (declared, body) = fetched(&format!("{base}{path}"), &config).await.unwrap();
                    assert_eq!((declared, &body[2..]), (Some(Text::new("image/png")), &b"PN"[..]), "{path}");
                }
                for (path, expected) in [
                    ("/inside", "may not be called"),
                    ("/round", "redirects more than 3 times"),
                    ("/file", "redirects to what is no URL"),
                    ("/large", "larger than 32 bytes"),
                    ("/endless", "larger than 32 bytes"),
                    ("/long", "too many bytes of media are in flight"),
                    ("/empty", "is empty"),
                    ("/none", "cannot be had: 404"),
                ] {
                    let error = fetched(&format!("{base}{path}"), &config).await.unwrap_err();
                    assert!(error.contains(expected), "{path}: {error}");
                }
            })
            .await;
    }
}
