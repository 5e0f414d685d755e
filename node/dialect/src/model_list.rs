//! The list of models, in the shapes of the vendors.

use crate::{Dialect, json::Writer};

/// Writes a list of models: each with its id and who owns it.
pub fn model_list(dialect: Dialect, models: &[(String, String)]) -> Vec<u8> {
    let mut json = Writer::with_capacity(64 + models.len() * 96);
    json.begin_object();
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::BedrockConverse => {
            openai(models, &mut json)
        }
        Dialect::AnthropicMessages => anthropic(models, &mut json),
        Dialect::Gemini => gemini(models, &mut json),
        Dialect::CohereChat => cohere(models, &mut json),
    }
    json.end_object();
    json.finish()
}

/// `name`: an array with an object for each model; `write` fills it.
fn array(
    name: &str,
    models: &[(String, String)],
    json: &mut Writer,
    write: impl Fn(&str, &str, &mut Writer),
) {
    json.key(name);
    json.begin_array();
    for (id, owner) in models {
        json.begin_object();
        write(id, owner, json);
        json.end_object();
    }
    json.end_array();
}

fn strings<const N: usize>(members: [(&str, &str); N], json: &mut Writer) {
    for (name, value) in members {
        json.key(name);
        json.string(value);
    }
}

fn openai(models: &[(String, String)], json: &mut Writer) {
    strings([("object", "list")], json);
    array("data", models, json, |id, owner, json| {
        strings([("id", id), ("object", "model"), ("owned_by", owner)], json);
        json.key("created");
        json.u64(0);
    });
}

fn anthropic(models: &[(String, String)], json: &mut Writer) {
    array("data", models, json, |id, _, json| {
        let created = ("created_at", "1970-01-01T00:00:00Z");
        strings([("type", "model"), ("id", id), ("display_name", id), created], json);
    });
    json.key("has_more");
    json.bool(false);
    for (key, model) in [("first_id", models.first()), ("last_id", models.last())] {
        json.key(key);
        match model {
            Some((id, _)) => json.string(id),
            None => json.null(),
        }
    }
}

fn gemini(models: &[(String, String)], json: &mut Writer) {
    array("models", models, json, |id, _, json| {
        strings([("name", &format!("models/{id}")), ("displayName", id), ("version", "1")], json);
        json.key("supportedGenerationMethods");
        json.begin_array();
        json.string("generateContent");
        json.end_array();
    });
}

fn cohere(models: &[(String, String)], json: &mut Writer) {
    array("models", models, json, |id, _, json| {
        strings([("name", id)], json);
        json.key("endpoints");
        json.begin_array();
        json.string("chat");
        json.end_array();
    });
}
