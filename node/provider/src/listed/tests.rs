//! Rows that are right and rows that are not.

use super::*;
use crate::{Endpoints, listed};
use trestle_dialect::Quirks;

const CHAT: Operation = Operation::Chat;
const MESSAGES: Operation = Operation::Messages;

fn row(base_url: &str) -> Row {
    Row::new(base_url.to_owned(), vec![Dialect::OpenAiChat])
}

fn endpoints(paths: &[(Operation, &str)]) -> Endpoints {
    Endpoints(paths.iter().map(|(operation, path)| (*operation, (*path).to_owned())).collect())
}

fn of(name: &str) -> Listed {
    Listed::new(listed()[name].clone()).unwrap()
}

fn path(provider: &Listed, operation: Operation, model: &str) -> String {
    provider.endpoint(operation, model).map_or_else(|| "none".to_owned(), |path| path.to_string())
}

#[test]
fn base_urls_become_origins() {
    let check = |url: &str, expected: (bool, &str, u16, &str, &str)| {
        let made = Listed::new(row(url)).unwrap();
        let origin = made.origin();
        let host = made.host().to_str().unwrap();
        let path = path(&made, CHAT, "m");
        assert_eq!((origin.tls, &*origin.host, origin.port, host, path.as_str()), expected, "{url}");
    };
    check("https://a.b/v1", (true, "a.b", 443, "a.b", "/v1/chat/completions"));
    check("https://A.b/v1//", (true, "a.b", 443, "a.b", "/v1/chat/completions"));
    check("https://a.b", (true, "a.b", 443, "a.b", "/chat/completions"));
    check("https://a.b:443/", (true, "a.b", 443, "a.b", "/chat/completions"));
    check("https://a.b:8443/x/y", (true, "a.b", 8443, "a.b:8443", "/x/y/chat/completions"));
    check("http://vllm_1:8000/v1", (false, "vllm_1", 8000, "vllm_1:8000", "/v1/chat/completions"));
    check("http://[::1]:8000/v1", (false, "::1", 8000, "[::1]:8000", "/v1/chat/completions"));
    check("http://[FD00::1]/v1", (false, "fd00::1", 80, "[fd00::1]", "/v1/chat/completions"));
    check(
        "http://127.0.0.1:11434/v1",
        (false, "127.0.0.1", 11434, "127.0.0.1:11434", "/v1/chat/completions"),
    );
}

#[test]
fn bad_base_urls_are_refused() {
    let check = |url: &str, expected: &str| {
        let problems = Listed::new(row(url)).unwrap_err();
        assert_eq!(problems, [format!("base_url: {expected}")], "{url}");
    };
    let not_url = "is not a URL; write one such as `https://host/v1`";
    let scheme = "must begin with `https://` or `http://`";
    let port = "has a bad port; it must be 1 to 65535";
    let host = "has a bad host name; use letters, digits, `-`, `_` and `.` (punycode for others)";
    let forbidden = "is a link-local or metadata address, which is never allowed";
    check("", not_url);
    check("https://a b/v1", not_url);
    check("https://bücher.example/v1", not_url);
    check("ftp://a.b/v1", scheme);
    check("a.b", scheme);
    check("/v1", scheme);
    check("https://user:secret@a.b/v1", "must not carry a user or password; put the key into `keys`");
    check("https://a.b/v1?x=1", "must not have a query or fragment; put a query into `endpoints`");
    check("https://a.b/v1#x", "must not have a query or fragment; put a query into `endpoints`");
    check("https://a.b:0/v1", port);
    check("https://a.b:/v1", port);
    check("https://a.b:70000/v1", port);
    check("https://.a/v1", host);
    check("https://a%41/v1", not_url);
    check("https://a!b/v1", host);
    check("https://a.b/../v1", "must not have `.` or `..` in its path");
    check("http://169.254.169.254/v1", forbidden);
    check("http://[::ffff:169.254.169.254]/v1", forbidden);
    check("http://metadata.google.internal/v1", "is a metadata service, which is never allowed");
}

#[test]
fn all_problems_of_a_row_are_reported() {
    let bad = Row {
        dialects: Vec::new(),
        auth: Auth::Header("x api".to_owned()),
        headers: [
            ("Host", "a"),
            ("X-A", "1"),
            ("x-a", "2"),
            ("bad name", "1"),
            ("x-b", "a\nb"),
            ("Cookie", "c"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        forward_headers: [
            "authorization",
            "host",
            "proxy-a",
            "x-trestle-fallbacks",
            "X-BF-VK",
            "x-bf-cache-key",
            "x y",
        ]
        .map(str::to_owned)
        .into(),
        endpoints: endpoints(&[
            (CHAT, "chat"),
            (Operation::Embeddings, "/a/../b"),
            (Operation::Completions, "/a b"),
        ]),
        ..row("https://a.b")
    };
    let expected = [
        "dialects: is empty; name at least one of `openai-chat`, `openai-responses`, `anthropic-messages`, `gemini`, \
             `bedrock-converse`, `cohere-chat`",
        "auth.header: `x api` is not a header name",
        "headers: `cookie` carries a credential; put the key into `keys` and its header into `auth`",
        "headers: `host` belongs to the connection; leave it out",
        "headers: `bad name` is not a header name",
        "headers: `x-a` is there twice; remove one",
        "headers: the value of `x-b` cannot be sent in a header",
        "forward_headers: `authorization` would leak the client's credentials to the provider; leave it out",
        "forward_headers: `host` belongs to the client's connection; leave it out",
        "forward_headers: `proxy-a` would leak the client's credentials to the provider; leave it out",
        "forward_headers: `x-trestle-fallbacks` is meant for this gateway; leave it out",
        "forward_headers: `x-bf-vk` would leak the client's credentials to the provider; leave it out",
        "forward_headers: `x-bf-cache-key` is meant for this gateway; leave it out",
        "forward_headers: `x y` is not a header name",
        "endpoints.chat: must begin with `/` (below `base_url`) or `//` (from the root of the host)",
        "endpoints.completions: has characters that a path cannot have",
        "endpoints.embeddings: must not have a fragment, nor `.` or `..` in its path",
    ];
    assert_eq!(Listed::new(bad).unwrap_err(), expected);
}

#[test]
fn a_key_has_its_header_for_itself() {
    let own = Auth::Header("X-Token".to_owned());
    let headers = [("x-token".to_owned(), "1".to_owned())].into();
    let forward_headers = vec!["x-token".to_owned()];
    let problems =
        Listed::new(Row { auth: own, headers, forward_headers, ..row("https://a.b") }).unwrap_err();
    assert_eq!(
        problems,
        [
            "headers: `x-token` presents the key; set one of the two",
            "forward_headers: `x-token` presents the provider's key; leave it out",
        ]
    );
}

#[test]
fn quirks_leave_a_request_whole() {
    let quirks = Quirks {
        drop: vec!["model".to_owned(), "seed".to_owned()],
        rename: [("messages".to_owned(), "input".to_owned()), ("seed".to_owned(), "stream".to_owned())]
            .into(),
        default_max_tokens: 0,
        ..Quirks::default()
    };
    assert_eq!(
        Listed::new(Row { quirks, ..row("https://a.b") }).unwrap_err(),
        [
            "quirks.drop: `model` is always needed; leave it out",
            "quirks.rename: `messages` has its own meaning; leave it out",
            "quirks.rename: `stream` has its own meaning; leave it out",
            "quirks.default_max_tokens: is 0; set at least 1",
        ]
    );
}

#[test]
fn a_dialect_needs_its_endpoint() {
    let endpoints = endpoints(&[(CHAT, "")]);
    let problems = Listed::new(Row { endpoints, ..row("https://a.b") }).unwrap_err();
    assert_eq!(
        problems,
        ["endpoints.chat: is empty, but `dialects` has `openai-chat`; remove one of the two"]
    );
}

#[test]
fn paths_of_listed_vendors() {
    let check = |name: &str, operation, expected: &str| {
        assert_eq!(path(&of(name), operation, "m"), expected, "{name} {operation:?}");
    };
    check("openai", CHAT, "/v1/chat/completions");
    check("openai", Operation::Completions, "/v1/completions");
    check("openai", Operation::Embeddings, "/v1/embeddings");
    check("openai", Operation::Responses, "/v1/responses");
    check("openai", MESSAGES, "none");
    check("cohere", Operation::CohereChat, "/v2/chat");
    check("cohere", Operation::Rerank, "/v2/rerank");
    check("cohere", Operation::Embeddings, "/compatibility/v1/embeddings");
    check("anthropic", MESSAGES, "/v1/messages");
    check("anthropic", CHAT, "none");
    check("anthropic", Operation::Embeddings, "none");
    check("gemini", Operation::GenerateContent, "/v1beta/models/m:generateContent");
    check("gemini", Operation::StreamGenerateContent, "/v1beta/models/m:streamGenerateContent?alt=sse");
    check("gemini", Operation::Embeddings, "none");
    check("gemini", CHAT, "none");
    check("deepseek", CHAT, "/v1/chat/completions");
    check("deepseek", MESSAGES, "/anthropic/v1/messages");
    check("openrouter", MESSAGES, "/api/v1/messages");
    check("moonshot", MESSAGES, "/anthropic/v1/messages");
}

#[test]
fn models_are_encoded_where_they_enter_a_path() {
    let endpoints = endpoints(&[(CHAT, "/deployments/{model}/chat?api-version=1")]);
    let made = Listed::new(Row { endpoints, ..row("https://a.b/openai") }).unwrap();
    let check = |model: &str, expected: &str| assert_eq!(path(&made, CHAT, model), expected, "{model}");
    check("gpt-4.1_x~", "/openai/deployments/gpt-4.1_x~/chat?api-version=1");
    check("a/b:c?d#e f", "/openai/deployments/a%2Fb%3Ac%3Fd%23e%20f/chat?api-version=1");
    check("../x", "/openai/deployments/..%2Fx/chat?api-version=1");
    check("é%2F", "/openai/deployments/%C3%A9%252F/chat?api-version=1");
    check("..", "none");
    check("", "none");
}

#[test]
fn keys_become_sensitive_headers() {
    let (name, value) = of("openai").credential("sk-1").unwrap().unwrap();
    assert_eq!((name.as_str(), value.to_str().unwrap()), ("authorization", "Bearer sk-1"));
    assert!(value.is_sensitive());
    let (name, value) = of("anthropic").credential("sk-2").unwrap().unwrap();
    assert_eq!((name.as_str(), value.to_str().unwrap()), ("x-api-key", "sk-2"));
    assert!(value.is_sensitive());
    assert_eq!(of("ollama").credential("any").unwrap(), None);
    let check = |key: &str, expected: &str| {
        assert_eq!(of("openai").credential(key).unwrap_err(), expected, "{key:?}");
    };
    check("", "is empty");
    for bad in ["a b", "a\n", " a", "ключ"] {
        check(bad, "has white space or characters that a header cannot carry");
    }
}

#[test]
fn the_clients_version_header_wins() {
    let version = |headers: &HeaderMap| headers["anthropic-version"].to_str().unwrap().to_owned();
    let mut headers = HeaderMap::new();
    of("anthropic").sign(&mut headers);
    assert_eq!(version(&headers), "2023-06-01");
    headers.insert("anthropic-version", HeaderValue::from_static("2099-01-01"));
    of("anthropic").sign(&mut headers);
    assert_eq!(version(&headers), "2099-01-01");
    assert_eq!(headers.len(), 1);
}

#[test]
fn debug_shows_no_header() {
    let headers = [("x-gate".to_owned(), "hush".to_owned())].into();
    let made = Listed::new(Row { headers, ..row("https://a.b") }).unwrap();
    assert!(!format!("{made:?}").contains("hush"));
}
