//! Forms that are held whole, and what is measured of sound and pictures.

use crate::{
    feed::{Part, TYPE, form, line, png, post, post_with},
    support::{Bed, only, until, whole},
};
use http::HeaderMap;
use serde_json::{Value, json};
use trestle_gateway::Endpoint;
use trestle_provider::Operation;

const HEAR: &str = "/v1/audio/transcriptions";
const EDIT: &str = "/v1/images/edits";
const WAV: Part<'static> = ("file", Some("a.wav"), b"RIFF\r\n--a \0\xff");

#[tokio::test]
async fn only_the_model_is_changed() {
    let bed = Bed::new("models: { hear: { targets: [{ model: a/whisper-1 }] } }");
    for [first, second] in [[("model", None, &b"hear"[..]), WAV], [WAV, ("model", None, b"hear")]] {
        bed.a.clear();
        let ours = [first, ("language", None, b"en"), second];
        let theirs =
            ours.map(|(name, file, text)| (name, file, if name == "model" { b"whisper-1" } else { text }));
        let answer =
            post(&bed, HEAR, [b"preamble\r\n".to_vec(), form(&ours), b"epilogue".to_vec()].concat()).await;
        assert_eq!(answer.json()["text"], "I heard 12 bytes of a.wav", "{}", answer.text());
        let seen = only(&bed.a);
        assert_eq!(seen.body, [b"preamble\r\n".to_vec(), form(&theirs), b"epilogue".to_vec()].concat());
        assert_eq!(seen.header("content-type"), Some(TYPE));
        assert_eq!((seen.header("accept"), &*seen.path), (Some("*/*"), "/v1/audio/transcriptions"));
        assert_eq!(answer.header("x-trestle-model"), "whisper-1");
    }
}

#[tokio::test]
async fn params_are_set_and_fallbacks_taken_out() {
    let bed = Bed::new(
        "models: { hear: { targets: [{ model: a/whisper-1, params: { temperature: 0.5, timestamp_granularities: [word], prompt: null } }] } }",
    );
    let parts = [
        ("model", None, &b"hear"[..]),
        ("temperature", None, b"1"),
        ("fallbacks[]", None, b"a/whisper-2"),
        ("prompt", None, b"x"),
        WAV,
        ("fallbacks", None, b"[\"a/whisper-3\"]"),
    ];
    let answer = post(&bed, HEAR, form(&parts)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let expected = [
        ("temperature", None, &b"0.5"[..]),
        ("timestamp_granularities[]", None, b"word"),
        ("model", None, b"whisper-1"),
        WAV,
    ];
    assert_eq!(only(&bed.a).body, form(&expected));
}

#[tokio::test]
async fn small_forms_are_tried_again_and_elsewhere() {
    let bed = Bed::new(
        "models: { hear: { strategy: ordered, targets: [
            { model: a/whisper-1+status=500, retries: { max: 1, backoff_ms: 1 } }, { model: b/claude-x }] } }
settings: { require_keys: false, attempts_max: 9 }",
    );
    let parts = [("model", None, &b"hear"[..]), WAV, ("fallbacks[]", None, b"a/whisper-1")];
    let answer = post(&bed, HEAR, form(&parts)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let models: Vec<_> = bed
        .a
        .requests()
        .iter()
        .map(|seen| {
            let text = String::from_utf8_lossy(&seen.body).into_owned();
            text.contains("\r\nwhisper-1+status=500\r\n")
        })
        .collect();
    assert_eq!((models, answer.header("x-trestle-attempts")), (vec![true, true, false], "4"));
    // In a header, too.
    bed.a.clear();
    let parts = [("model", None, &b"a/whisper-1+status=404"[..]), WAV];
    let answer = post_with(
        &bed,
        HEAR,
        &[("x-trestle-fallbacks", "a/whisper-1"), ("x-trestle-strict", "true")],
        form(&parts),
    )
    .await;
    assert_eq!((answer.status.as_u16(), bed.a.requests().len()), (200, 2), "{}", answer.text());
}

#[tokio::test]
async fn the_path_of_azure_names_the_model() {
    let bed = Bed::new("");
    let path = "/openai/deployments/a%2Fwhisper-1/audio/transcriptions?api-version=2024-10-21";
    for parts in [vec![WAV], vec![WAV, ("model", None, b"other")]] {
        bed.a.clear();
        let answer = post(&bed, path, form(&parts)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let body = only(&bed.a).body;
        assert_eq!(String::from_utf8_lossy(&body).matches("name=\"model\"\r\n\r\nwhisper-1\r\n").count(), 1);
    }
}

#[tokio::test]
async fn bad_forms_say_what_is_wrong() {
    let bed = Bed::new("");
    let model: Part<'_> = ("model", None, b"a/whisper-1");
    let check = async |body: Vec<u8>, message: &str| {
        let answer = post(&bed, HEAR, body).await;
        let error = &answer.json()["error"];
        assert!(error["message"].as_str().unwrap().contains(message), "{message}: {}", answer.text());
        assert_eq!((answer.status.as_u16(), &error["type"]), (400, &json!("invalid_request_error")));
    };
    check(Vec::new(), "ends without its last boundary").await;
    check(form(&[WAV]), "`model` is missing").await;
    check(form(&[model, WAV, model]), "there are two parts `model`").await;
    check(form(&[("model", None, b" "), WAV]), "`model` is empty").await;
    check(form(&[("model", None, b"\xff"), WAV]), "the part `model` is not UTF-8").await;
    check(form(&[("model", Some("a.wav"), b"a/whisper-1"), WAV]), "must be a field, not a file").await;
    check(form(&[model, ("fallbacks", None, b"[7]"), WAV]), "`fallbacks` must be an array").await;
    check(form(&[model, ("a\"; name=\"b", None, b"x")]), "the head of a part has two names").await;
    check(form(&[model, WAV])[..180].to_vec(), "ends without its last boundary").await;
    check(form(&[model, ("file", Some("a.wav"), b"\r\n--a b!")]), "the boundary stands").await;
    assert!(bed.a.requests().is_empty());
    // Whoever sends no form is told so.
    for (content_type, message) in [
        ("multipart/form-data", "must name one boundary"),
        ("text/plain", "nor multipart/form-data by its content-type"),
        ("application/json", "nor multipart/form-data by its content-type"),
    ] {
        let headers =
            HeaderMap::from_iter([("content-type".parse().unwrap(), content_type.parse().unwrap())]);
        let answer =
            whole(bed.client.send(line(HEAR), headers, form(&[model, WAV]).into()).await.unwrap()).await;
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains(message), "{}", answer.text());
    }
    // What is wrong for the vendor alone is the vendor's to say.
    let answer = post(&bed, HEAR, form(&[model, ("file", Some("a.txt"), b"x")])).await;
    assert!(answer.text().contains("Unrecognized file format"), "{}", answer.text());
}

#[tokio::test]
async fn keys_and_providers_are_asked_as_for_other_requests() {
    let bed = Bed::new(
        "providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }] }
  g: { base_url: '$A/v1', like: groq, keys: [{ name: main, value: sk }] }
keys: { web: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', models: [a/whisper-1, g/x, mock/echo] } }
settings: {}",
    );
    let key = [("authorization", "Bearer abc")];
    for (model, status, message) in [
        ("a/whisper-1", 200, "I heard"),
        ("a/other", 403, "may not use"),
        ("nobody/x", 404, "no model"),
        ("g/x", 400, "the provider g does not offer image_edits"),
        ("mock/echo", 400, "the provider mock does not offer"),
    ] {
        let path = if model == "g/x" { EDIT } else { HEAR };
        let answer = post_with(&bed, path, &key, form(&[("model", None, model.as_bytes()), WAV])).await;
        assert_eq!(answer.status, status, "{model}: {}", answer.text());
        assert!(answer.text().contains(message), "{model}: {}", answer.text());
    }
    assert_eq!(post(&bed, HEAR, form(&[WAV])).await.status, 401);
    until("all is given back", || bed.metric("trestle_buffered_bytes") == 0.0).await;
}

/// Tokens of a side, or things of a kind, that were counted.
fn counted(bed: &Bed, what: &str) -> f64 {
    if ["input", "output"].contains(&what) {
        return bed.metric(&format!("trestle_{what}_tokens_total"));
    }
    let (text, label) = (bed.gateway.metrics(), format!("kind=\"{what}\""));
    let of_kind = text.lines().filter(|line| line.starts_with("trestle_things_total"));
    of_kind
        .filter(|line| line.contains(&label))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[tokio::test]
async fn transcriptions_come_in_each_form_and_are_measured() {
    let hear = async |parts: &[Part<'_>]| {
        let bed = Bed::new("");
        let parts: Vec<_> = [WAV].iter().chain(parts).copied().collect();
        let answer = post(&bed, HEAR, form(&parts)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        until("it is settled", || bed.gateway.in_flight() == 0).await;
        let counts = ["input", "output", "audio_ms"].map(|kind| counted(&bed, kind));
        (answer.header("content-type").to_owned(), answer.text(), counts)
    };
    let (whisper, newer) =
        (("model", None, &b"a/whisper-1"[..]), ("model", None, &b"a/gpt-4o-transcribe"[..]));
    for (format, begin) in [("text", "I heard 12"), ("srt", "1\n00:00"), ("vtt", "WEBVTT\n")] {
        let (kind, text, counts) = hear(&[whisper, ("response_format", None, format.as_bytes())]).await;
        assert_eq!((&*kind, counts), ("text/plain; charset=utf-8", [0.0; 3]));
        assert!(text.starts_with(begin), "{text}");
    }
    let (kind, _, counts) = hear(&[whisper, ("response_format", None, b"verbose_json")]).await;
    assert_eq!((&*kind, counts), ("application/json", [0.0, 0.0, 1000.0]));
    let bare = ("model", None, &b"a/whisper-1+no_usage"[..]);
    assert_eq!(hear(&[bare, ("response_format", None, b"verbose_json")]).await.2, [0.0, 0.0, 1000.0]);
    assert_eq!(hear(&[bare]).await.2, [0.0; 3]);
    assert_eq!(hear(&[newer, ("prompt", None, b"eightchr")]).await.2, [12.0, 7.0, 0.0]);
    // This model ignores the member, and answers whole.
    assert_eq!(hear(&[whisper, ("stream", None, b"true")]).await.0, "application/json");
    let (kind, text, counts) = hear(&[newer, ("stream", None, b"true")]).await;
    assert_eq!((&*kind, counts), ("text/event-stream; charset=utf-8", [10.0, 7.0, 0.0]));
    assert!(text.starts_with("data: {\"type\":\"transcript.text.delta\",\"delta\":\"I \"}\n\n"), "{text}");
    assert!(text.contains("transcript.text.done") && !text.contains("[DONE]"), "{text}");
}

#[tokio::test]
async fn translations_are_passed_on() {
    let bed = Bed::new("");
    let answer =
        post(&bed, "/litellm/audio/translations", form(&[WAV, ("model", None, b"a/whisper-1")])).await;
    assert_eq!(answer.json(), json!({ "text": "In English 12 bytes" }), "{}", answer.text());
    assert_eq!(only(&bed.a).path, "/v1/audio/translations");
}

#[tokio::test]
async fn pictures_are_made_edited_varied_and_measured() {
    let picture = png(500);
    let image: Part<'_> = ("image[]", Some("a.png"), &picture);
    let (model, prompt) = (("model", None, &b"a/gpt-image-1"[..]), ("prompt", None, &b"a cat"[..]));
    let counts = async |bed: &Bed| {
        until("it is settled", || bed.gateway.in_flight() == 0).await;
        ["input", "output", "images"].map(|kind| counted(bed, kind))
    };
    let bed = Bed::new("");
    let answer = post(&bed, EDIT, form(&[image, image, model, prompt, ("n", None, b"2")])).await;
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 2, "{}", answer.text());
    assert_eq!(counts(&bed).await, [648.0, 544.0, 2.0]);

    let bed = Bed::new("");
    let streamed = [image, model, prompt, ("stream", None, b"true"), ("partial_images", None, b"2")];
    let answer = post(&bed, EDIT, form(&streamed)).await;
    let types: Vec<_> = answer
        .data()
        .iter()
        .map(|data| serde_json::from_str::<Value>(data).unwrap()["type"].clone())
        .collect();
    assert_eq!(types, ["image_edit.partial_image", "image_edit.partial_image", "image_edit.completed"]);
    assert_eq!(counts(&bed).await, [325.0, 272.0, 1.0]);

    let bed = Bed::new("");
    let variations =
        [("model", None, &b"a/dall-e-2"[..]), ("image", Some("a.png"), &picture), ("n", None, b"3")];
    let answer = post(&bed, "/v1/images/variations", form(&variations)).await;
    assert!(answer.text().contains("https://images.example/1.png"), "{}", answer.text());
    assert_eq!(counts(&bed).await, [0.0, 0.0, 3.0]);

    // In JSON: generations, also streamed, and edits.
    let pass = |operation| Endpoint::Pass(operation);
    let bed = Bed::new("");
    let body = json!({ "model": "a/gpt-image-1", "prompt": "a cat", "stream": true, "partial_images": 1 });
    let answer = bed.ask(pass(Operation::ImageGenerations), &[], body.to_string()).await;
    assert!(answer.text().contains("event: image_generation.completed"), "{}", answer.text());
    assert_eq!(counts(&bed).await, [2.0, 272.0, 1.0]);
    let images = json!([{ "image_url": "https://images.example/1.png" }]);
    let body = json!({ "model": "a/gpt-image-1", "prompt": "a cat", "images": images });
    let answer =
        bed.ask(pass(Operation::ImageEdits), &[("content-type", "application/json")], body.to_string()).await;
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 1, "{}", answer.text());
    assert_eq!(counts(&bed).await, [327.0, 544.0, 2.0]);

    // Too large to be read whole.
    let bed = Bed::new("");
    let body = json!({ "model": "a/gpt-image-1+bytes=1500000", "prompt": "a cat", "n": 2 });
    let answer = bed.ask(pass(Operation::ImageGenerations), &[], body.to_string()).await;
    assert!(answer.body.len() > 3_000_000 && answer.json()["data"].as_array().unwrap().len() == 2);
    assert_eq!(counts(&bed).await, [2.0, 544.0, 2.0]);
}

#[tokio::test]
async fn speech_is_measured_in_characters_and_tokens() {
    let speak = async |more: Value| {
        let bed = Bed::new("");
        let mut body =
            json!({ "model": "a/gpt-4o-mini-tts", "input": "Gr\u{fc}\u{df}e, \u{1f389}", "voice": "alloy" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = bed.ask(Endpoint::Pass(Operation::Speech), &[], body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        until("it is settled", || bed.gateway.in_flight() == 0).await;
        assert_eq!(counted(&bed, "characters"), 8.0);
        (answer.header("content-type").to_owned(), answer.text(), counted(&bed, "output"))
    };
    let (kind, _, output) = speak(json!({})).await;
    assert_eq!((&*kind, output), ("audio/mpeg", 0.0));
    let (kind, text, output) = speak(json!({ "stream_format": "sse" })).await;
    assert_eq!((&*kind, output), ("text/event-stream; charset=utf-8", 13.0));
    assert!(text.contains("speech.audio.delta") && text.contains("speech.audio.done"), "{text}");
}
