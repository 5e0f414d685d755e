//! The official clients against a real `trestle serve` and the mock upstream: those for Python in a virtual environment,
//! those for JavaScript with Node.
//!
//! Needs python3 with `venv`, node with npm, and the package indexes. Where they are missing the tests say so and pass;
//! with `TRESTLE_REQUIRE_CLIENTS=1` they fail.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

#[path = "python/environment.rs"]
mod environment;
#[path = "clients/node.rs"]
mod node;
#[path = "clients/packages.rs"]
mod packages;

use environment::Environment;
use node::Node;
use packages::Packages;
use trestle_bench::mock::{Mock, Options};

/// The key of the application, and the key that the gateway has for the upstream.
const KEY: &str = "sk-trestle-application-of-the-client-tests";
const UPSTREAM_KEY: &str = "sk-upstream";

/// A provider for each way to fail. Most faults are asked for in the model's name: `gpt-4o-mini+status=500`.
fn document(mock: &str) -> String {
    let provider = |name: &str, like: &str, key: &str, more: &str| {
        let (like, path) = match like {
            "bedrock" => ("like: bedrock, variables: { region: us-east-1 }".to_owned(), ""),
            "gemini" => ("like: gemini".to_owned(), "/v1beta"),
            "chat" => ("dialects: [openai-chat]".to_owned(), "/v1"),
            "responses-only" => ("dialects: [openai-responses]".to_owned(), "/v1"),
            "cohere" => ("like: cohere".to_owned(), "/v2"),
            other => (format!("like: {other}"), "/v1"),
        };
        let keys = format!("[{{ name: main, value: \"{key}\" }}]");
        format!("  {name}: {{ {like}, base_url: \"{mock}{path}\", keys: {keys}, {more} }}\n")
    };
    let limited =
        |like: &str| provider(&format!("limited-{like}"), like, "mock:status=429;retry_after=60", "");
    let providers = [
        provider("openai", "openai", UPSTREAM_KEY, "models: [gpt-4o-mini]"),
        provider("anthropic", "anthropic", UPSTREAM_KEY, "models: [claude-sonnet-4-5]"),
        provider("gemini", "gemini", UPSTREAM_KEY, "models: [gemini-2.5-flash]"),
        provider("bedrock", "bedrock", UPSTREAM_KEY, ""),
        provider("chat", "chat", UPSTREAM_KEY, ""),
        provider("responses-only", "responses-only", UPSTREAM_KEY, ""),
        provider("cohere", "cohere", UPSTREAM_KEY, ""),
        provider("broken", "openai", "mock:status=500", ""),
        limited("openai"),
        limited("anthropic"),
        limited("gemini"),
        limited("bedrock"),
        limited("chat"),
        limited("responses-only"),
        limited("cohere"),
        provider("impatient", "openai", UPSTREAM_KEY, "timeouts: { first_token_ms: 300, idle_ms: 300 }"),
    ];
    let group = |name: &str, target: &str| {
        let fallback = "anthropic/claude-sonnet-4-5";
        format!("  {name}: {{ targets: [{{ model: \"{target}\" }}], fallbacks: [{fallback}] }}\n")
    };
    let groups = [
        group("fallback", "broken/gpt-4o-mini"),
        group("fallback-silent", "impatient/gpt-4o-mini+silent"),
        group("fallback-in-stream", "openai/gpt-4o-mini+error_event"),
        group("fallback-limited", "limited-openai/gpt-4o-mini"),
    ];
    format!(
        "providers:\n{}  mock: {{ mock: {{ call_tool: true }} }}\n\
         models:\n{}  all-fail: {{ strategy: ordered, targets: [{{ model: broken/gpt-4o-mini }}, \
         {{ model: broken/gpt-4o }}] }}\n\
         keys:\n  tests: {{ value: env:TRESTLE_TEST_CLIENT_KEY }}\n\
         settings: {{ retries: {{ max: 0 }} }}\n",
        providers.concat(),
        groups.concat(),
    )
}

fn environment() -> Option<&'static Environment> {
    Environment::of("clients-venv", "node/tests/clients")
}

fn mock() -> Mock {
    Mock::start(Options::default()).expect("the mock upstream starts")
}

/// Each client straight at its vendor's mock: what the suite expects is what the mock does, without us.
#[test]
fn clients_agree_with_the_mock_upstream() {
    let Some(environment) = environment() else { return };
    let mock = mock();
    environment.run(&[
        ("TRESTLE_TEST_URL", mock.url()),
        ("TRESTLE_TEST_MOCK", mock.url()),
        ("TRESTLE_TEST_KEY", KEY.into()),
        ("TRESTLE_TEST_DIRECT", "1".into()),
    ]);
}

/// Each client to each kind of provider, through the gateway.
#[test]
fn clients_work_through_the_gateway() {
    let Some(environment) = environment() else { return };
    let mock = mock();
    let node = Node::serve(&document(&mock.url()), &[("TRESTLE_TEST_CLIENT_KEY", KEY)]);
    environment.run(&[
        ("TRESTLE_TEST_URL", node.url().into()),
        ("TRESTLE_TEST_MOCK", mock.url()),
        ("TRESTLE_TEST_KEY", KEY.into()),
        ("TRESTLE_TEST_ADMIN", node::ADMIN.into()),
    ]);
}

/// The AI SDK straight at the mock.
#[test]
fn packages_agree_with_the_mock_upstream() {
    let Some(packages) = Packages::get() else { return };
    let mock = mock();
    packages.run(&[
        ("TRESTLE_TEST_URL", mock.url()),
        ("TRESTLE_TEST_KEY", KEY.into()),
        ("TRESTLE_TEST_DIRECT", "1".into()),
    ]);
}

/// The AI SDK to each kind of provider, through the gateway.
#[test]
fn packages_work_through_the_gateway() {
    let Some(packages) = Packages::get() else { return };
    let mock = mock();
    let node = Node::serve(&document(&mock.url()), &[("TRESTLE_TEST_CLIENT_KEY", KEY)]);
    packages.run(&[("TRESTLE_TEST_URL", node.url().into()), ("TRESTLE_TEST_KEY", KEY.into())]);
}
