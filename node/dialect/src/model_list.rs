//! Models as the vendors list them.

use crate::{Dialect, json::Writer};

/// A model that a client may ask for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedModel {
    /// What the client asks for.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// Most input tokens, if known.
    pub context_max: Option<u64>,
    /// Most output tokens, if known.
    pub output_max: Option<u64>,
}

/// Writes a list of models.
pub fn model_list(dialect: Dialect, models: &[ListedModel]) -> Vec<u8> {
    let mut json = Writer::with_capacity(64 + models.len() * 128);
    json.begin_object();
    let list = match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::BedrockConverse => {
            strings([("object", "list")], &mut json);
            "data"
        }
        Dialect::AnthropicMessages => {
            anthropic_page(models, &mut json);
            "data"
        }
        Dialect::Gemini | Dialect::CohereChat => "models",
    };
    json.key(list);
    json.begin_array();
    models.iter().for_each(|model| write(dialect, model, &mut json));
    json.end_array();
    json.end_object();
    json.finish()
}

/// Writes one model.
pub fn model_info(dialect: Dialect, model: &ListedModel) -> Vec<u8> {
    let mut json = Writer::with_capacity(256);
    write(dialect, model, &mut json);
    json.finish()
}

fn write(dialect: Dialect, model: &ListedModel, json: &mut Writer) {
    let ListedModel { id, owner, .. } = model;
    let limits = |names: [&str; 2], json: &mut Writer| {
        for (name, most) in names.into_iter().zip([model.context_max, model.output_max]) {
            if let Some(most) = most {
                json.key(name);
                json.u64(most);
            }
        }
    };
    json.begin_object();
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::BedrockConverse => {
            strings([("id", id), ("object", "model"), ("owned_by", owner)], json);
            json.key("created");
            json.u64(0);
        }
        Dialect::AnthropicMessages => {
            let created = ("created_at", "1970-01-01T00:00:00Z");
            strings([("type", "model"), ("id", id), ("display_name", id), created], json);
            limits(["max_input_tokens", "max_tokens"], json);
        }
        Dialect::Gemini => {
            strings([("name", &format!("models/{id}")), ("displayName", id), ("version", "1")], json);
            limits(["inputTokenLimit", "outputTokenLimit"], json);
            json.key("supportedGenerationMethods");
            json.begin_array();
            json.string("generateContent");
            json.string("streamGenerateContent");
            json.end_array();
        }
        Dialect::CohereChat => {
            strings([("name", id)], json);
            limits(["context_length", "max_output_tokens"], json);
            json.key("endpoints");
            json.begin_array();
            json.string("chat");
            json.end_array();
        }
    }
    json.end_object();
}

fn anthropic_page(models: &[ListedModel], json: &mut Writer) {
    json.key("has_more");
    json.bool(false);
    for (key, model) in [("first_id", models.first()), ("last_id", models.last())] {
        json.key(key);
        match model {
            Some(model) => json.string(&model.id),
            None => json.null(),
        }
    }
}

fn strings<const N: usize>(members: [(&str, &str); N], json: &mut Writer) {
    for (name, value) in members {
        json.key(name);
        json.string(value);
    }
}
