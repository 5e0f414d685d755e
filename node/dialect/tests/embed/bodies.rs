//! Bodies as the vendors' clients send them and as the vendors answer.

use serde_json::{Value, json};
use trestle_dialect::embed::Form;

/// A request.
pub(crate) fn request(form: Form) -> Value {
    match form {
        Form::OpenAi => json!({
            "model": "text-embedding-3-small", "input": ["one", "two"], "encoding_format": "base64", "dimensions": 256,
            "user": "u-1",
        }),
        Form::GeminiBatch => json!({"requests": [
            {"model": "models/gemini-embedding-001", "content": {"parts": [{"text": "one"}]},
             "taskType": "RETRIEVAL_DOCUMENT", "title": "T", "outputDimensionality": 256},
            {"model": "models/gemini-embedding-001", "content": {"role": "user", "parts": [{"text": "two"}, {"text": "three"}]},
             "taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": 256},
        ]}),
        Form::Gemini => json!({
            "model": "models/gemini-embedding-001", "content": {"parts": [{"text": "one"}]}, "task_type": "RETRIEVAL_QUERY",
            "output_dimensionality": 256,
        }),
        Form::Cohere => json!({
            "model": "embed-v4.0", "texts": ["one", "two"], "input_type": "search_query", "embedding_types": ["float"],
            "output_dimension": 256, "truncate": "END",
        }),
        Form::CohereOnBedrock => json!({
            "texts": ["one", "two"], "input_type": "search_document", "embedding_types": ["float"], "truncate": "RIGHT",
            "output_dimension": 256,
        }),
        Form::Titan => {
            json!({"inputText": "one", "dimensions": 256, "normalize": true, "embeddingTypes": ["float"]})
        }
        Form::Nova => json!({
            "schemaVersion": "nova-multimodal-embed-v1", "taskType": "SINGLE_EMBEDDING",
            "singleEmbeddingParams": {
                "embeddingPurpose": "TEXT_RETRIEVAL", "embeddingDimension": 256,
                "text": {"truncationMode": "END", "value": "one"},
            },
        }),
    }
}

/// An answer.
pub(crate) fn answer(form: Form) -> Value {
    match form {
        Form::OpenAi => json!({
            "object": "list", "model": "text-embedding-3-small",
            // Out of order, as the index tells.
            "data": [
                {"object": "embedding", "index": 1, "embedding": [0.5, -0.25]},
                {"object": "embedding", "index": 0, "embedding": [0.125, 1.0]},
            ],
            "usage": {"prompt_tokens": 7, "total_tokens": 7},
        }),
        Form::GeminiBatch => json!({
            "embeddings": [{"values": [0.125, 1.0]}, {"values": [0.5, -0.25]}],
            "usageMetadata": {"promptTokenCount": 7},
        }),
        Form::Gemini => {
            json!({"embedding": {"values": [0.125, 1.0]}, "usageMetadata": {"promptTokenCount": 7}})
        }
        Form::Cohere => json!({
            "id": "da6e531f-54c5-4a73-bf92-f60566d8d753", "texts": ["one", "two"], "response_type": "embeddings_by_type",
            "embeddings": {"float": [[0.125, 1.0], [0.5, -0.25]]},
            "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 7}},
        }),
        Form::CohereOnBedrock => json!({
            "id": "da6e531f", "texts": ["one", "two"], "response_type": "embeddings_floats",
            "embeddings": [[0.125, 1.0], [0.5, -0.25]],
        }),
        Form::Titan => json!({
            "embedding": [0.125, 1.0], "embeddingsByType": {"float": [0.125, 1.0]}, "inputTextTokenCount": 7,
        }),
        Form::Nova => json!({"embeddings": [{"embeddingType": "TEXT", "embedding": [0.125, 1.0]}]}),
    }
}
