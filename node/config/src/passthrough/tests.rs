//! Which calls are allowed, where they go, and what could be taken for another one.

use super::*;

fn list(rules: &[&str]) -> Passthrough {
    Passthrough::new(rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect())
}

/// A call to a provider below `/v1` with these rules goes there, or nowhere.
fn check(rules: &[&str], call: &str, expected: Result<&str, NotAllowed>) {
    let (method, target) = call.split_once(' ').unwrap();
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let found = list(rules).find(&method.parse().unwrap(), (path, query), "/v1");
    assert_eq!(
        found.as_ref().map(PathAndQuery::as_str).map_err(|error| *error),
        expected,
        "{rules:?}: {call}"
    );
}

const NO: Result<&str, NotAllowed> = Err(NotAllowed::NoRule);

#[test]
fn a_call_goes_where_a_rule_allows_it() {
    check(&[], "GET /files", NO);
    check(&["GET /files"], "GET /files", Ok("/v1/files"));
    check(&["GET /files"], "GET /v1/files", Ok("/v1/files"));
    check(&["GET /files"], "GET /v1/v1/files", NO);
    check(&["GET /files"], "POST /files", NO);
    check(&["GET /files"], "HEAD /files", NO);
    check(&["GET /files"], "GET /files/x", NO);
    check(&["GET /files"], "GET /Files", NO);
    check(&["GET /files"], "GET /files?limit=2&after=a%2Fb", Ok("/v1/files?limit=2&after=a%2Fb"));
    check(&["GET /files"], "GET /files?", Ok("/v1/files?"));
    check(&["GET /files/*"], "GET /files/a", Ok("/v1/files/a"));
    check(&["GET /files/*"], "GET /files", NO);
    check(&["GET /files/*"], "GET /files/a/b", NO);
    check(&["GET /files/*/content"], "GET /files/a/content", Ok("/v1/files/a/content"));
    check(&["* /files/**"], "DELETE /files/a/b/c", Ok("/v1/files/a/b/c"));
    check(&["* /files/**"], "DELETE /files", NO);
    check(&["* /files/**"], "TRACE /files/a", NO);
    check(&["* /**"], "GET /v1", Ok("/v1/v1"));
    check(&["POST /models/*:predict"], "POST /models/m:predict", Ok("/v1/models/m:predict"));
    check(&["POST /models/*:predict"], "POST /models/m:train", NO);
    check(&["POST //upload/v1/files"], "POST /upload/v1/files", Ok("/upload/v1/files"));
    check(&["POST //upload/v1/files"], "POST /v1/upload/v1/files", NO);
    check(&["POST //v1/x"], "POST /v1/x", Ok("/v1/x"));
}

#[test]
fn encoded_characters_are_what_they_encode() {
    check(&["GET /files/*"], "GET /%66iles/a%3Ab", Ok("/v1/%66iles/a%3Ab"));
    check(&["GET /files/secret"], "GET /files/%73ecret", Ok("/v1/files/%73ecret"));
    check(&["GET /files/*"], "GET /files/100%25", Ok("/v1/files/100%25"));
    // An encoded slash may be one.
    check(&["GET /files/*"], "GET /files/a%2Fb", NO);
    check(&["GET /files/a/b"], "GET /files/a%2fb", NO);
    check(&["GET /*"], "GET /files%2Fb", NO);
    check(&["POST /model/**"], "POST /model/arn%3Ax%2Fm/invoke", Ok("/v1/model/arn%3Ax%2Fm/invoke"));
}

#[test]
fn what_could_be_another_path_is_refused() {
    for path in [
        "/files/../keys",
        "/..",
        "/files/.",
        "/files/%2e%2e/keys",
        "/files/%2E./keys",
        "/files/..%2Fkeys",
        "/files/a%2F..%2F..%2Fkeys",
        "/files/..;x=1/keys",
        "/files/%2e%2e%3Bx/keys",
        "/files/a%2F",
        "/files//keys",
        "//evil.example/x",
        "/",
        "/files/",
        "",
        "files",
        "/files\\..\\keys",
        "/files/%5c..%5ckeys",
        "/files/%252e%252e/keys",
        "/files/%zz",
        "/files/a%2",
        "/files/%ff",
        "/files/%00",
        "/files/a%0d%0ax",
    ] {
        for rules in [&["* /**"][..], &["* //**"]] {
            let found = list(rules).find(&Method::GET, (path, None), "/v1");
            assert!(matches!(found, Err(NotAllowed::Unclear(_))), "{path}: {found:?}");
        }
    }
    for (path, query) in
        [("/a b", None), ("/a#b", None), ("/a", Some("x#y")), ("/a", Some("x y")), ("/é", None)]
    {
        let found = list(&["* /**"]).find(&Method::GET, (path, query), "/v1");
        assert!(matches!(found, Err(NotAllowed::Unclear(_))), "{path} {query:?}: {found:?}");
    }
}

#[test]
fn rules_that_make_no_sense_are_told() {
    for (rule, expected) in [
        ("/files", "must be a method and a path"),
        ("GET", "must be a method and a path"),
        (" /files", "must be a method and a path"),
        ("get /files", "has a method that is not passed on"),
        ("CONNECT /files", "has a method that is not passed on"),
        ("GET files", "must have a path that begins with `/`"),
        ("GET https://x/files", "must have a path that begins with `/`"),
        ("GET /files?x=1", "without `?`"),
        ("GET /files/%2e", "without `%`"),
        ("GET /files /x", "without ` `"),
        ("GET /files/", "an empty segment"),
        ("GET /", "an empty segment"),
        ("GET ///x", "an empty segment"),
        ("GET /files/../x", "an empty segment, `.` or `..`"),
        ("GET /**/x", "only as its last segment"),
        ("GET /files/a**", "only as its last segment"),
    ] {
        let problem = Rule::parse(rule).unwrap_err();
        assert!(problem.contains(expected), "{rule}: {problem}");
    }
}
