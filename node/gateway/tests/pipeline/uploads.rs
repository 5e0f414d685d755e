//! Forms that are larger than what is held: they go from the client to one provider as they come.

use crate::{
    feed::{Part, Sending, form, open_form, png, post},
    support::{Bed, only, until},
};
use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
};

const EDIT: &str = "/v1/images/edits";
const MB: usize = 1 << 20;
const PROMPT: Part<'static> = ("prompt", None, b"a cat");

fn model(name: &str) -> Part<'_> {
    ("model", None, name.as_bytes())
}

fn image(content: &[u8]) -> Part<'_> {
    ("image", Some("a.png"), content)
}

#[tokio::test]
async fn a_large_file_goes_through_in_bounded_memory() {
    let picture = png(30 * MB);
    for (http2, told) in [(false, true), (false, false), (true, true), (true, false)] {
        let bed = Bed::new(&format!(
            "providers: {{ a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}], http2: {http2} }} }}"
        ));
        let body = form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
        let sending = Sending::begin(&bed, EDIT, told.then_some(body.len()));
        let mut most = 0.0_f64;
        for piece in body.chunks(500_000) {
            assert!(sending.send(piece).await);
            most = most.max(bed.metric("trestle_buffered_bytes"));
        }
        let answer = sending.end().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(most > 1e6 && most < 1.5e6, "{most} bytes were held");
        let (seen, sent) = (only(&bed.a), form(&[model("gpt-image-1"), PROMPT, image(&picture)]));
        assert!(seen.body == sent, "{} bytes instead of {}", seen.body.len(), sent.len());
        let length = told.then(|| sent.len().to_string());
        assert_eq!(seen.header("content-length"), length.as_deref(), "HTTP/2: {http2}");
        assert_eq!(seen.header("transfer-encoding"), (!told && !http2).then_some("chunked"));
        until("all is counted", || bed.metric("trestle_body_bytes_total") > body.len() as f64).await;
        until("all is given back", || bed.metric("trestle_buffered_bytes") == 0.0).await;
    }
}

#[tokio::test]
async fn a_model_behind_the_file_is_waited_for() {
    let bed = Bed::new("");
    let picture = png(3 * MB);
    let parts =
        [image(&picture), PROMPT, model("a/gpt-image-1+status=500"), ("fallbacks", None, b"a/gpt-image-1")];
    let body = form(&parts);
    let sending = Sending::begin(&bed, EDIT, Some(body.len()));
    let (begin, end) = body.split_at(body.len() - 100);
    assert!(sending.send(begin).await);
    until("it is held", || bed.metric("trestle_buffered_bytes") > 3e6).await;
    assert!(bed.a.requests().is_empty() && sending.send(end).await);
    // All of it is held, so it can be sent again.
    let answer = sending.end().await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("x-trestle-model")),
        (200, "gpt-image-1"),
        "{}",
        answer.text()
    );
    assert!(bed.a.requests().len() > 1);
}

#[tokio::test]
async fn what_has_gone_is_not_sent_again() {
    let bed = Bed::new(
        "models: { edit: { strategy: ordered, targets: [{ model: a/gpt-image-1+status=500 }, { model: a/gpt-image-1 }] } }",
    );
    let picture = png(3 * MB);
    let body = form(&[model("edit"), PROMPT, image(&picture)]);
    let sending = Sending::begin(&bed, EDIT, Some(body.len()));
    assert!(sending.send(&body).await);
    let answer = sending.end().await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("x-trestle-attempts")),
        (502, "1"),
        "{}",
        answer.text()
    );
    assert!(answer.text().contains("too large to be sent again"), "{}", answer.text());
    assert_eq!(bed.a.requests().len(), 1);
}

#[tokio::test]
async fn where_nothing_has_gone_another_target_is_tried() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bed = Bed::new(&format!(
        "providers:
  a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}] }}
  gone: {{ base_url: 'http://{nobody}/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}] }}
models: {{ edit: {{ strategy: ordered, targets: [{{ model: gone/x, retries: {{ max: 1, backoff_ms: 1 }} }}, {{ model: a/gpt-image-1, params: {{ quality: low }} }}] }} }}"
    ));
    let picture = png(3 * MB);
    let body = form(&[model("edit"), PROMPT, image(&picture)]);
    let sending = Sending::begin(&bed, EDIT, Some(body.len()));
    assert!(sending.send(&body).await);
    let answer = sending.end().await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("x-trestle-attempts")),
        (200, "3"),
        "{}",
        answer.text()
    );
    assert!(
        only(&bed.a).body
            == form(&[("quality", None, b"low"), model("gpt-image-1"), PROMPT, image(&picture)])
    );
}

#[tokio::test]
async fn an_answer_before_the_end_is_the_answer() {
    for http2 in [false, true] {
        let bed = Bed::new(&format!(
            "providers: {{ a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: 'mock:early;status=413' }}], http2: {http2} }} }}"
        ));
        let picture = png(40 * MB);
        let body = form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
        let sending = Sending::begin(&bed, EDIT, Some(body.len()));
        assert!(!sending.send(&body).await, "all was taken");
        let answer = sending.end().await;
        assert_eq!(answer.status, 413, "HTTP/2: {http2}: {}", answer.text());
        assert!(answer.text().contains("The request was refused."), "{}", answer.text());
        until("all is given back", || bed.metric("trestle_buffered_bytes") == 0.0).await;
    }
}

#[tokio::test]
async fn what_comes_is_still_checked() {
    let picture = png(2 * MB);
    let begin = open_form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
    for (end, message) in [
        (form(&[model("a/other")]), "the part `model` comes too late or twice"),
        (form(&[("fallbacks[]", None, b"a/x")]), "the part `fallbacks[]` comes too late"),
        (b"--a bx\r\n\r\n--a b--".to_vec(), "the boundary stands"),
        (b"--a b-".to_vec(), "ends without its last boundary"),
    ] {
        for (http2, told) in [(false, true), (false, false), (true, true), (true, false)] {
            let bed = Bed::new(&format!(
                "providers: {{ a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}], http2: {http2} }} }}"
            ));
            let sending = Sending::begin(&bed, EDIT, told.then_some(begin.len() + end.len()));
            assert!(sending.send(&begin).await && sending.send(&end).await);
            let answer = sending.end().await;
            assert_eq!(answer.status, 400, "{}", answer.text());
            assert!(answer.text().contains(message), "{message}: {}", answer.text());
            assert!(answer.json()["error"].get("attempts").is_none(), "{}", answer.text());
            until("the call has ended", || bed.metric("trestle_provider_in_flight") == 0.0).await;
            // The provider never saw a whole request, and is not blamed.
            assert!(bed.a.requests().is_empty());
            assert_eq!(bed.metric("trestle_error_requests_total"), 0.0);
        }
    }
}

#[tokio::test]
async fn a_body_must_have_its_announced_length() {
    let picture = png(2 * MB);
    let body = form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
    for length in [body.len() - 100_000, body.len() + 1] {
        let bed = Bed::new("");
        let sending = Sending::begin(&bed, EDIT, Some(length));
        sending.send(&body).await;
        let answer = sending.end().await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains("announced length"), "{}", answer.text());
        assert!(bed.a.requests().is_empty());
    }
}

#[tokio::test]
async fn params_of_the_target_must_not_come_late() {
    let bed = Bed::new("models: { edit: { targets: [{ model: a/gpt-image-1, params: { size: 1x1 } }] } }");
    let picture = png(2 * MB);
    let begin = open_form(&[model("edit"), PROMPT, image(&picture)]);
    for (name, status) in [("size", 400), ("user", 200)] {
        let end = form(&[(name, None, b"x")]);
        let sending = Sending::begin(&bed, EDIT, Some(begin.len() + end.len()));
        assert!(sending.send(&begin).await && sending.send(&end).await);
        assert_eq!(sending.end().await.status, status, "{name}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_call() {
    let picture = png(3 * MB);
    let body = form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
    for http2 in [false, true] {
        let bed = Bed::new(&format!(
            "providers: {{ a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}], http2: {http2} }} }}"
        ));
        let sending = Sending::begin(&bed, EDIT, Some(body.len()));
        assert!(sending.send(&body[..2 * MB]).await);
        until("the call has begun", || bed.metric("trestle_provider_in_flight") == 1.0).await;
        sending.cut().await;
        let answer = sending.end().await;
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains("ended before its announced length"), "{}", answer.text());
        // One that does not even wait.
        let sending = Sending::begin(&bed, EDIT, Some(body.len()));
        assert!(sending.send(&body[..2 * MB]).await);
        until("the call has begun", || bed.metric("trestle_provider_in_flight") == 1.0).await;
        sending.answer.abort();
        drop(sending);
        until("all has ended", || bed.gateway.in_flight() == 0).await;
        until("the call has ended", || bed.metric("trestle_provider_in_flight") == 0.0).await;
        assert!(bed.a.requests().is_empty());
        assert_eq!(bed.metric("trestle_buffered_bytes"), 0.0);
    }
}

#[tokio::test]
async fn a_provider_that_does_not_read_slows_the_client_and_runs_out_of_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let bed = Bed::new(&format!(
        "providers: {{ s: {{ base_url: 'http://{}/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}], timeouts: {{ first_token_ms: 300 }} }} }}",
        listener.local_addr().unwrap()
    ));
    let picture = png(60 * MB);
    let body = form(&[model("s/x"), PROMPT, image(&picture)]);
    let sending = Sending::begin(&bed, EDIT, Some(body.len()));
    assert!(!sending.send(&body).await, "all was taken");
    let answer = sending.end().await;
    assert_eq!(answer.status, 504, "{}", answer.text());
    assert!(answer.text().contains("first_token_timeout"), "{}", answer.text());
}

#[tokio::test]
async fn a_slow_client_is_not_the_fault_of_the_provider() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }], timeouts: { first_token_ms: 1000 } } }",
    );
    let picture = png(2 * MB);
    let body = form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
    let sending = Sending::begin(&bed, EDIT, Some(body.len()));
    let (begin, end) = body.split_at(3 * MB / 2);
    assert!(sending.send(begin).await);
    until("the call has begun", || bed.metric("trestle_provider_in_flight") == 1.0).await;
    // Several times as long as the provider would have.
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    assert!(sending.send(end).await);
    assert_eq!(sending.end().await.status, 200);
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_middle_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let bed = Bed::new(&format!(
        "providers:
  a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}] }}
  s: {{ base_url: 'http://{address}/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}] }}
models: {{ edit: {{ strategy: ordered, targets: [{{ model: s/x }}, {{ model: a/gpt-image-1 }}] }} }}"
    ));
    let breaking = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut read = vec![0; 5 * MB];
        stream.read_exact(&mut read).unwrap();
        stream.write_all(b"HTTP/1.1 2").unwrap();
    });
    let picture = png(40 * MB);
    let body = form(&[model("edit"), PROMPT, image(&picture)]);
    let sending = Sending::begin(&bed, EDIT, None);
    sending.send(&body).await;
    let answer = sending.end().await;
    breaking.join().unwrap();
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("connection_broken") && bed.a.requests().is_empty(), "{}", answer.text());
}

#[tokio::test]
async fn bounds_hold_for_all_of_a_form() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }] } }
settings: { require_keys: false, body_bytes_max: 3000000, buffered_bytes_max: 3000000 }",
    );
    let picture = png(4 * MB);
    let body = form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
    // Announced, or found out on the way.
    assert_eq!(post(&bed, EDIT, body.clone()).await.status, 413);
    let sending = Sending::begin(&bed, EDIT, None);
    sending.send(&body).await;
    assert_eq!(sending.end().await.status, 413);
    assert!(bed.a.requests().is_empty());
    // Two whose models are waited for do not fit at once; two that go through do.
    let half = png(5 * MB / 2);
    let first = Sending::begin(&bed, EDIT, None);
    let late = form(&[image(&half), model("a/gpt-image-1"), PROMPT]);
    assert!(first.send(&late[..2 * MB]).await);
    until("it is held", || bed.metric("trestle_buffered_bytes") > 2e6).await;
    let second = Sending::begin(&bed, EDIT, None);
    second.send(&late[..2 * MB]).await;
    assert_eq!(second.end().await.status, 503);
    let early = form(&[model("a/gpt-image-1"), PROMPT, image(&png(1000)), ("user", None, b"x")]);
    assert_eq!(post(&bed, EDIT, early).await.status, 200);
    assert!(first.send(&late[2 * MB..]).await);
    assert_eq!(first.end().await.status, 200);
    until("all is given back", || bed.metric("trestle_buffered_bytes") == 0.0).await;
}

#[tokio::test]
async fn what_must_be_signed_must_be_held() {
    let bed = Bed::new(
        "providers: { a: { like: bedrock, base_url: '$A', dialects: [openai-chat], endpoints: { image_edits: '/v1/images/edits' },
           variables: { region: eu-west-1 }, keys: [{ name: main, aws: { access_key_id: AKID, secret_access_key: S } }] } }",
    );
    let picture = png(2 * MB);
    for (size, status, told) in [(1000, 200, "b64_json"), (2 * MB, 502, "not held whole cannot be signed")] {
        let body = form(&[model("a/gpt-image-1+no_auth"), PROMPT, image(&picture[..size])]);
        let sending = Sending::begin(&bed, EDIT, Some(body.len()));
        sending.send(&body).await;
        let answer = sending.end().await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(told), "{}", answer.text());
    }
    let seen = only(&bed.a);
    assert!(seen.header("authorization").is_some_and(|value| value.starts_with("AWS4-HMAC-SHA256 ")));
}

#[tokio::test]
async fn compressed_forms_are_expanded_on_the_way() {
    use std::io::Write as _;
    let bed = Bed::new("");
    let picture = png(3 * MB);
    let body = form(&[model("a/gpt-image-1"), PROMPT, image(&picture)]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&body).unwrap();
    let packed = gzip.finish().unwrap();
    let answer = crate::feed::post_with(&bed, EDIT, &[("content-encoding", "gzip")], packed).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(only(&bed.a).body == form(&[model("gpt-image-1"), PROMPT, image(&picture)]));
    assert!(only(&bed.a).header("content-encoding").is_none());
}
