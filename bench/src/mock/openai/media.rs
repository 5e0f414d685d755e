//! Pictures: made, edited and varied.

use serde_json::{Value, json};

use super::super::behaviour::Behaviour;
use super::super::form::Part;
use super::super::vendor::{
    Event, Events, IMAGE_TYPES, Reply, VendorError, sniffed, token_count, unix_seconds,
};
use super::check::{known_members, missing, model as check_model, wrong_type};
use super::fields::Fields;
use super::other::members;

/// The smallest PNG there is, in base64.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// Largest picture to edit.
const EDIT_MAX: usize = 50 << 20;
/// Tokens of a picture that is made, and of one that is seen.
const MADE: u64 = 272;
const SEEN: u64 = 323;

/// What is asked for.
struct Wanted<'a> {
    /// `image_generation` or `image_edit`.
    kind: &'static str,
    prompt: &'a str,
    count: u64,
    seen: u64,
    stream: bool,
    partial: u64,
}

/// `POST /v1/images/generations`.
pub(crate) fn images(body: &[u8], behaviour: &Behaviour) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    let mut known = vec![
        "model",
        "prompt",
        "n",
        "size",
        "quality",
        "background",
        "output_format",
        "moderation",
        "user",
        "stream",
        "partial_images",
    ];
    // Newer models always answer in base64.
    if members.get("model").and_then(Value::as_str).is_some_and(|model| model.starts_with("dall-e")) {
        known.push("response_format");
    }
    known_members(members, &known)?;
    check_model(members)?;
    wanted_in(members, ("image_generation", 0))?.answer(behaviour)
}

fn wanted_in<'a>(
    members: &'a serde_json::Map<String, Value>,
    (kind, seen): (&'static str, u64),
) -> Result<Wanted<'a>, VendorError> {
    let stream = match members.get("stream") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(stream)) => *stream,
        Some(other) => return Err(wrong_type("stream", "a boolean", other)),
    };
    let number = |name| members.get(name).and_then(Value::as_u64);
    let prompt = members.get("prompt").and_then(Value::as_str).ok_or_else(|| missing("prompt"))?;
    let (count, partial) = (number("n").unwrap_or(1), number("partial_images").unwrap_or(0));
    Ok(Wanted { kind, prompt, count, seen, stream, partial })
}

/// `POST /v1/images/edits` with a JSON body.
pub(crate) fn edits_in_json(body: &[u8], behaviour: &Behaviour) -> Result<Reply, VendorError> {
    let body = super::chat::parse(body)?;
    let members = members(&body)?;
    known_members(
        members,
        &["model", "images", "mask", "prompt", "n", "size", "quality", "stream", "partial_images"],
    )?;
    check_model(members)?;
    let images = members.get("images").and_then(Value::as_array).ok_or_else(|| missing("images"))?;
    wanted_in(members, ("image_edit", images.len() as u64))?.answer(behaviour)
}

/// `POST /v1/images/edits` with a form.
pub(crate) fn edits(form: Vec<Part<'_>>, behaviour: &Behaviour) -> Result<Reply, VendorError> {
    let mut known = vec![
        "model",
        "image",
        "image[]",
        "mask",
        "prompt",
        "n",
        "size",
        "quality",
        "background",
        "input_fidelity",
        "output_format",
        "stream",
        "partial_images",
        "user",
    ];
    if form.iter().any(|part| part.name == "model" && part.content.starts_with(b"dall-e")) {
        known.push("response_format");
    }
    let fields = Fields::new(form, &known)?;
    fields.required("model")?;
    let images = fields.files("image");
    if images.is_empty() {
        return Err(missing("image"));
    }
    images.iter().try_for_each(|image| picture(image))?;
    let (count, partial) = (fields.number("n")?.unwrap_or(1), fields.number("partial_images")?.unwrap_or(0));
    let (prompt, stream) = (fields.required("prompt")?, fields.bool("stream")?);
    Wanted { kind: "image_edit", prompt, count, seen: images.len() as u64, stream, partial }.answer(behaviour)
}

/// `POST /v1/images/variations`.
pub(crate) fn variations(form: Vec<Part<'_>>) -> Result<Reply, VendorError> {
    let fields = Fields::new(form, &["model", "image", "n", "response_format", "size", "user"])?;
    fields.required("model")?;
    picture(fields.file("image")?)?;
    let as_base64 = fields.text("response_format")? == Some("b64_json");
    let one =
        if as_base64 { json!({ "b64_json": PNG }) } else { json!({ "url": "https://images.example/1.png" }) };
    let data = vec![one; fields.number("n")?.unwrap_or(1) as usize];
    Ok(Reply::Whole(json!({ "created": unix_seconds(), "data": data }).to_string()))
}

fn picture(image: &Part<'_>) -> Result<(), VendorError> {
    let told = image.media_type.as_deref().unwrap_or("application/octet-stream");
    if !IMAGE_TYPES.contains(&told) || sniffed(image.content) != Some(told) {
        return Err(VendorError::invalid(format!(
            "Invalid file 'image': unsupported mimetype ('{told}'). Supported file formats are 'image/jpeg', \
             'image/png', and 'image/webp'."
        ))
        .at("image")
        .code("unsupported_file_mimetype"));
    }
    if image.content.len() > EDIT_MAX {
        return Err(VendorError::new(413, "invalid_request_error", "The image is larger than 50MB."));
    }
    Ok(())
}

impl Wanted<'_> {
    fn answer(&self, behaviour: &Behaviour) -> Result<Reply, VendorError> {
        if !(1..=10).contains(&self.count) {
            return Err(VendorError::invalid("Invalid 'n': integer above maximum value.").at("n"));
        }
        let text = token_count(self.prompt) as u64;
        let (image, output) = (SEEN * self.seen, MADE * self.count);
        let usage = json!({
            "input_tokens": text + image, "output_tokens": output, "total_tokens": text + image + output,
            "input_tokens_details": { "text_tokens": text, "image_tokens": image },
        });
        let png = match behaviour.count("bytes") {
            Some(bytes) => PNG.chars().cycle().take(bytes).collect(),
            None => PNG.to_owned(),
        };
        if self.stream {
            return Ok(Reply::Stream(self.events(&png, &usage)));
        }
        let data = vec![json!({ "b64_json": png }); self.count as usize];
        let mut whole = json!({ "created": unix_seconds(), "data": data });
        if !behaviour.has("no_usage") {
            whole["usage"] = usage;
        }
        Ok(Reply::Whole(whole.to_string()))
    }

    fn events(&self, png: &str, usage: &Value) -> Events {
        let (partial, completed) = match self.kind {
            "image_edit" => ("image_edit.partial_image", "image_edit.completed"),
            _ => ("image_generation.partial_image", "image_generation.completed"),
        };
        let event = |name: &'static str, more: Value| {
            let mut data = json!({ "type": name, "b64_json": png, "created_at": unix_seconds() });
            if let (Some(data), Value::Object(more)) = (data.as_object_mut(), more) {
                data.extend(more);
            }
            Event::named(name, data.to_string())
        };
        let content =
            (0..self.partial).map(|n| event(partial, json!({ "partial_image_index": n }))).collect();
        Events { content, end: vec![event(completed, json!({ "usage": usage }))], ..Events::default() }
    }
}
