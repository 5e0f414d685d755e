//! The list of models, in the shapes of OpenAI and Anthropic.

use crate::{Dialect, json::Writer};

/// Writes a list of models: each with its id and who owns it.
pub fn model_list(dialect: Dialect, models: &[(String, String)]) -> Vec<u8> {
    let mut json = Writer::with_capacity(64 + models.len() * 96);
    json.begin_object();
    if dialect == Dialect::OpenAiChat {
        json.key("object");
        json.string("list");
    }
    json.key("data");
    json.begin_array();
    for (id, owner) in models {
        json.begin_object();
        json.key("id");
        json.string(id);
        match dialect {
            Dialect::OpenAiChat => {
                json.key("object");
                json.string("model");
                json.key("created");
                json.u64(0);
                json.key("owned_by");
                json.string(owner);
            }
            Dialect::AnthropicMessages => {
                json.key("type");
                json.string("model");
                json.key("display_name");
                json.string(id);
                json.key("created_at");
                json.string("1970-01-01T00:00:00Z");
            }
        }
        json.end_object();
    }
    json.end_array();
    if dialect == Dialect::AnthropicMessages {
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
    json.end_object();
    json.finish()
}
