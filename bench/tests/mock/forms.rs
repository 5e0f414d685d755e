//! OpenAI's forms: sound and pictures.

use serde_json::json;
use trestle_bench::mock::{Mock, Options};

use crate::http::{Answer, send};

type Part<'a> = (&'a str, &'a str);

const WAV: Part<'static> = ("name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav", "RIFF");

fn post(mock: &Mock, path: &str, parts: &[Part<'_>]) -> Answer {
    let part = |(head, content): &Part<'_>| {
        format!("--b0\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n")
    };
    let body = parts.iter().map(part).collect::<String>() + "--b0--\r\n";
    send_form(mock, path, &body)
}

fn send_form(mock: &Mock, path: &str, body: &str) -> Answer {
    let headers = [("authorization", "Bearer sk-test"), ("content-type", "multipart/form-data; boundary=b0")];
    send(mock, &format!("POST /v1/{path}"), &headers, body)
}

#[test]
fn sound_becomes_text_in_the_form_that_was_asked_for() {
    let mock = Mock::start(Options::default()).unwrap();
    let hear = |model: &str, more: &[Part<'_>]| {
        let parts = [&[WAV, ("name=\"model\"", model)], more].concat();
        post(&mock, "audio/transcriptions", &parts)
    };
    let format = |format| [("name=\"response_format\"", format)];
    let usage = json!({"type": "duration", "seconds": 1});
    assert_eq!(hear("whisper-1", &[]).json(), json!({"text": "I heard 4 bytes of a.wav", "usage": usage}));
    assert_eq!(hear("whisper-1", &format("verbose_json")).json()["duration"], json!(1.0));
    assert_eq!(hear("whisper-1", &format("text")).text(), "I heard 4 bytes of a.wav\n");
    assert!(hear("whisper-1", &format("vtt")).text().starts_with("WEBVTT"));
    assert_eq!(hear("gpt-4o-transcribe", &format("srt")).status, 400);
    let stream = [("name=\"stream\"", "true")];
    assert_eq!(hear("whisper-1", &stream).events().len(), 0);
    let streamed = hear("gpt-4o-transcribe", &stream);
    assert!(streamed.events().last().unwrap().contains("transcript.text.done"));
    assert_eq!(hear("whisper-1+status=500", &[]).status, 500);
}

#[test]
fn forms_are_checked() {
    let mock = Mock::start(Options::default()).unwrap();
    let model = ("name=\"model\"", "whisper-1");
    let file = |head: &'static str, content: &'static str| (head, content);
    let check = |path: &str, parts: &[Part<'_>], status: u16, message: &str| {
        let answer = post(&mock, path, parts);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.text().contains(message), "{message}: {answer:?}");
    };
    let hear = "audio/transcriptions";
    check(hear, &[WAV], 400, "Missing required parameter: 'model'");
    check(hear, &[model], 400, "Missing required parameter: 'file'");
    check(hear, &[model, ("name=\"file\"", "x")], 400, "Expected file");
    check(hear, &[model, file("name=\"file\"; filename=\"a.txt\"", "x")], 400, "Unrecognized file format");
    check(hear, &[model, file("name=\"file\"; filename=\"a.wav\"", "")], 400, "too short");
    check(hear, &[model, model, WAV], 400, "Duplicate parameter: 'model'");
    check(hear, &[model, WAV, ("name=\"fallbacks\"", "x")], 400, "Unknown parameter: 'fallbacks'");
    check("audio/translations", &[model, WAV, ("name=\"language\"", "x")], 400, "Unknown parameter");
    check("images/edits", &[model, ("name=\"prompt\"", "x")], 400, "Missing required parameter: 'image'");
    let text = file("name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png", "no picture");
    check("images/variations", &[model, text], 400, "unsupported mimetype");
    for body in ["", "--b0\r\n", "--b0--x", "--b1--"] {
        let refused = send_form(&mock, hear, body);
        assert_eq!(refused.status, 400, "{body}: {refused:?}");
    }
}
