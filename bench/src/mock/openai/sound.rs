//! Sound: a text from it, and it from a text.

use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::form::Part;
use super::super::vendor::{Event, Events, Reply, VendorError, quoted, token_count};
use super::check::{known_members, missing, model as check_model};
use super::fields::{Fields, SIZE_MAX};
use super::other::members;

const TYPES: [&str; 10] = ["flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm", "oga"];

/// `POST /v1/audio/transcriptions`: what was heard is told by its length and the file's name.
pub(crate) fn transcriptions(form: Vec<Part<'_>>, behaviour: &Behaviour) -> Result<Reply, VendorError> {
    let known = [
        "file",
        "model",
        "language",
        "prompt",
        "response_format",
        "temperature",
        "stream",
        "include[]",
        "timestamp_granularities[]",
        "chunking_strategy",
        "chunking_strategy[type]",
    ];
    let fields = Fields::new(form, &known)?;
    let (model, file) = (fields.required("model")?, sound(&fields)?);
    let text =
        format!("I heard {} bytes of {}", file.content.len(), file.filename.as_deref().unwrap_or_default());
    let whisper = model.starts_with("whisper");
    let format = fields.text("response_format")?.unwrap_or("json");
    let formats: &[&str] =
        if whisper { &["json", "text", "srt", "verbose_json", "vtt"] } else { &["json", "text"] };
    if !formats.contains(&format) {
        return Err(VendorError::invalid(format!(
            "response_format '{format}' is not compatible with model '{model}'. Use 'json' or 'text' instead."
        ))
        .at("response_format")
        .code("unsupported_value"));
    }
    let seconds = file.content.len().div_ceil(16_000);
    let prompt = token_count(fields.text("prompt")?.unwrap_or_default());
    let usage = if whisper {
        json!({ "type": "duration", "seconds": seconds })
    } else {
        let (audio, output) = (seconds * 10, token_count(&text));
        json!({
            "type": "tokens", "total_tokens": audio + prompt + output, "input_tokens": audio + prompt,
            "input_token_details": { "text_tokens": prompt, "audio_tokens": audio }, "output_tokens": output,
        })
    };
    // whisper-1 takes the member, and answers whole.
    if fields.bool("stream")? && !whisper {
        return Ok(Reply::Stream(deltas(&text, &usage, behaviour)));
    }
    Ok(told(&text, format, (seconds, "transcribe"), Some(usage).filter(|_| !behaviour.has("no_usage"))))
}

/// `POST /v1/audio/translations`.
pub(crate) fn translations(form: Vec<Part<'_>>) -> Result<Reply, VendorError> {
    let fields = Fields::new(form, &["file", "model", "prompt", "response_format", "temperature"])?;
    fields.required("model")?;
    let file = sound(&fields)?;
    let text = format!("In English {} bytes", file.content.len());
    let format = fields.text("response_format")?.unwrap_or("json");
    Ok(told(&text, format, (file.content.len().div_ceil(16_000), "translate"), None))
}

fn sound<'f>(fields: &'f Fields<'_>) -> Result<&'f Part<'f>, VendorError> {
    let file = fields.file("file")?;
    let name = file.filename.as_deref().unwrap_or_default();
    let known = name.rsplit_once('.').is_some_and(|(_, end)| TYPES.contains(&end));
    if !known {
        return Err(VendorError::invalid(format!("Unrecognized file format. Supported formats: {TYPES:?}")));
    }
    if file.content.is_empty() {
        return Err(VendorError::invalid("Audio file is too short. Minimum audio length is 0.1 seconds.")
            .at("file")
            .code("audio_too_short"));
    }
    if file.content.len() > SIZE_MAX {
        let message =
            format!("Maximum content size limit ({SIZE_MAX}) exceeded ({} bytes read)", file.content.len());
        return Err(VendorError::new(413, "invalid_request_error", message));
    }
    Ok(file)
}

fn told(text: &str, format: &str, (seconds, task): (usize, &str), usage: Option<Value>) -> Reply {
    let plain = |text: String| Reply::Bytes("text/plain; charset=utf-8", text.into_bytes());
    let with_usage = |mut value: Value| {
        if let Some(usage) = &usage {
            value["usage"] = usage.clone();
        }
        Reply::Whole(value.to_string())
    };
    match format {
        "text" => plain(format!("{text}\n")),
        "srt" => plain(format!("1\n00:00:00,000 --> 00:00:0{},000\n{text}\n\n", seconds.min(9))),
        "vtt" => plain(format!("WEBVTT\n\n00:00.000 --> 00:0{}.000\n{text}\n\n", seconds.min(9))),
        "verbose_json" => with_usage(json!({
            "task": task, "language": "english", "duration": seconds as f64, "text": text, "segments": [],
        })),
        _ => with_usage(json!({ "text": text })),
    }
}

fn deltas(text: &str, usage: &Value, behaviour: &Behaviour) -> Events {
    let mut events = Events::default();
    for piece in text.split_inclusive(' ') {
        let delta = format!(r#"{{"type":"transcript.text.delta","delta":{}}}"#, quoted(piece));
        events.content.push(Event::data(delta));
    }
    let mut done = json!({ "type": "transcript.text.done", "text": text });
    if !behaviour.has("no_usage") {
        done["usage"] = usage.clone();
    }
    events.end.push(Event::data(done.to_string()));
    events.error.push(Event::data(super::error::render(&super::error::forced_error(None, Some(500), ""))));
    events
}

/// `POST /v1/audio/speech`: a sound of the text's length.
pub(crate) fn speech(body: &[u8]) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(
        members,
        &["model", "input", "voice", "instructions", "response_format", "speed", "stream_format"],
    )?;
    check_model(members)?;
    let text = members.get("input").and_then(Value::as_str).ok_or_else(|| missing("input"))?;
    members.get("voice").and_then(Value::as_str).ok_or_else(|| missing("voice"))?;
    let sound = [b"ID3\x04".as_slice(), text.as_bytes()].concat();
    if members.get("stream_format").and_then(Value::as_str) != Some("sse") {
        return Ok(Reply::Bytes("audio/mpeg", sound));
    }
    let delta = json!({ "type": "speech.audio.delta", "audio": super::super::vendor::encoded(&sound) });
    let (input, output) = (token_count(text), text.len());
    let usage = json!({ "input_tokens": input, "output_tokens": output, "total_tokens": input + output });
    let done = json!({ "type": "speech.audio.done", "usage": usage });
    Ok(Reply::Stream(Events {
        content: vec![Event::data(delta.to_string())],
        end: vec![Event::data(done.to_string())],
        ..Events::default()
    }))
}
