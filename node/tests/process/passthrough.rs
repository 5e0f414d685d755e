//! Calls of a provider as it is, over both servers of HTTP/1 that a node has.

use crate::support::{KEY, Start, exchange, read_head};
use std::io::Write;
use trestle_bench::mock::{Mock, Options};

#[test]
fn any_method_goes_through_on_one_connection() {
    let mock = Mock::start(Options::default()).unwrap();
    let document = format!(
        "providers:\n  a: {{ base_url: '{}/v1', dialects: [openai-chat], passthrough: ['* /**'], keys: [{{ name: main, value: env:UPSTREAM }}] }}\n\
         keys:\n  tests: {{ value: env:TRESTLE_TEST_KEY }}\n",
        mock.url()
    );
    let node = Start::serve(&document).variable("UPSTREAM", "sk-upstream").start();
    let mut stream = node.connect();
    let request = |method: &str, path: &str, body: &str| {
        format!(
            "{method} /passthrough/a{path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let answer = exchange(&mut stream, &request("POST", "/chat/completions", body));
    assert!(answer.status == 200 && answer.body.contains("chat.completion"), "{}", answer.body);
    let list = exchange(&mut stream, &request("GET", "/models?limit=1", ""));
    assert!(list.status == 200 && list.body.contains("\"list\""), "{}", list.body);
    stream.write_all(request("HEAD", "/models", "").as_bytes()).unwrap();
    let head = read_head(&mut stream).unwrap();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains(&format!("content-length: {}\r\n", list.body.len())), "{head}");
    // Nothing of a body stands before the next answer.
    let deleted = exchange(&mut stream, &request("DELETE", "/models/m", ""));
    assert!(deleted.status == 200 && deleted.body.contains("\"deleted\":true"), "{}", deleted.body);
    let refused = exchange(&mut stream, &request("GET", "/models/../keys", ""));
    assert_eq!(refused.status, 400, "{}", refused.body);
    node.printed("\"endpoint\":\"passthrough\",\"key\":\"tests\",\"model\":\"DELETE /models/m\"");
    let paths: Vec<_> = mock.requests().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect();
    assert_eq!(
        paths,
        ["POST /v1/chat/completions", "GET /v1/models?limit=1", "HEAD /v1/models", "DELETE /v1/models/m"]
    );
}
