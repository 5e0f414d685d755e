//! `trestle ask`.

use crate::{
    cli_shell::Shell,
    support::{KEY, Start, document},
};
use trestle_bench::mock::{Mock, Options};

#[test]
fn one_request_is_answered_whole_or_as_it_comes() {
    let node = Start::serve(&document("")).start();
    let url = format!("http://{}", node.address);
    let shell = Shell::bare().set("TRESTLE_URL", &url).set("TRESTLE_KEY", KEY);
    let ask = |model: &'static str| ["ask", "--model", model, "Say hello"];
    let whole = shell.run(&ask("mock/echo")).ok();
    assert!(whole.contains("Say hello"), "{whole}");
    let stream = shell.run(&["ask", "--model", "mock/echo", "--stream", "Say hello"]).ok();
    assert_eq!(stream, whole);
    let json = shell.run(&["ask", "--model", "mock/echo", "--json", "Say hello"]).json();
    assert_eq!(json["choices"][0]["message"]["content"], whole.trim_end());

    let missing = shell.run(&ask("none")).failed(1);
    assert!(missing.starts_with("error: 404: ") && missing.contains("none"), "{missing}");
    let of_file = shell.file("key", KEY);
    let flag = format!("file:{}", of_file.display());
    let stranger = Shell::bare().set("TRESTLE_URL", &url).set("OWN_KEY", "sk-nobody");
    let keyed = |key: &str| stranger.run(&["ask", "--key", key, "--model", "mock/echo", "Say hello"]);
    assert_eq!(keyed(&flag).ok(), whole);
    let refused = keyed("env:OWN_KEY").failed(1);
    assert!(refused.starts_with("error: 401: ") && !refused.contains("sk-nobody"), "{refused}");
    assert!(keyed("sk-plain").failed(2).contains("env:NAME or file:PATH"));
    assert!(stranger.run(&ask("mock/echo")).failed(2).contains("TRESTLE_KEY"));
    drop(node);
    assert!(shell.run(&ask("mock/echo")).failed(2).contains("cannot reach"));
}

#[test]
fn an_error_within_a_stream_is_a_failure() {
    let mock = Mock::start(Options::default()).unwrap();
    let document = format!(
        "providers:\n  openai: {{ base_url: '{}/v1', dialects: [openai-chat], keys: [{{ name: main, value: env:UPSTREAM }}] }}\n\
         keys:\n  tests: {{ value: env:TRESTLE_TEST_KEY }}\n",
        mock.url()
    );
    let node = Start::serve(&document).variable("UPSTREAM", "sk-upstream").start();
    let shell = Shell::bare().set("TRESTLE_URL", &format!("http://{}", node.address)).set("TRESTLE_KEY", KEY);
    let ask = |model| shell.run(&["ask", "--model", model, "--stream", "Say hello"]);
    assert!(!ask("openai/gpt-4o-mini").ok().trim().is_empty());
    for model in [
        "openai/gpt-4o-mini+status=400",
        "openai/gpt-4o-mini+error_event_mid=1",
        "openai/gpt-4o-mini+cut_mid=1",
    ] {
        let ran = ask(model);
        assert!(ran.code == 1 && ran.stderr.starts_with("error: "), "{model}: {ran:?}");
    }
}
