//! Requests that make no sense name the member at fault, and answers that make none are no answers.

use crate::{bodies, try_decode};
use serde_json::{Value, json};
use trestle_dialect::{
    Envelope,
    embed::{Api, Form, codec},
};

#[test]
#[rustfmt::skip]
fn bad_members_are_named() {
    use Form::*;
    let params = |members: Value| json!({"taskType": "SINGLE_EMBEDDING", "singleEmbeddingParams": members});
    let cases = [
        (OpenAi, json!({"model": "m"}), "input", "is missing"),
        (OpenAi, json!({"input": null}), "input", "is missing"),
        (OpenAi, json!({"input": []}), "input", "is empty"),
        (OpenAi, json!({"input": {}}), "input", "must be a string"),
        (OpenAi, json!({"input": ["a", 1]}), "input", "must be a string"),
        (OpenAi, json!({"input": [[1], "a"]}), "input", "must be a string"),
        (OpenAi, json!({"input": [1, "a"]}), "input[1]", "must be a whole number"),
        (OpenAi, json!({"input": [[1, -1]]}), "input[0][1]", "must be a whole number"),
        (OpenAi, json!({"input": "a", "dimensions": "256"}), "dimensions", "must be a whole number"),
        (OpenAi, json!({"input": "a", "encoding_format": "int8"}), "encoding_format", "must be float or base64"),
        (OpenAi, json!({"input": "a", "user": 1}), "user", "must be a string"),
        (Gemini, json!({"taskType": "CLUSTERING"}), "content", "is missing"),
        (Gemini, json!({"content": "a"}), "content", "must be an object"),
        (Gemini, json!({"content": {"role": "user"}}), "content.parts", "is missing"),
        (Gemini, json!({"content": {"parts": []}}), "content.parts", "is empty"),
        (Gemini, json!({"content": {"parts": ["a"]}}), "content.parts[0]", "must be an object"),
        (Gemini, json!({"content": {"parts": [{"text": 1}]}}), "content.parts[0].text", "must be a string"),
        (Gemini, json!({"content": {"parts": [{"text": "a"}]}, "task_type": 1}), "task_type", "must be a string"),
        (Gemini, json!({"content": {"parts": [{"text": "a"}]}, "embedContentConfig": {"outputDimensionality": "x"}}), "embedContentConfig.outputDimensionality", "must be a whole number"),
        (GeminiBatch, json!({}), "requests", "is missing"),
        (GeminiBatch, json!({"requests": []}), "requests", "is empty"),
        (GeminiBatch, json!({"requests": {}}), "requests", "must be an array"),
        (GeminiBatch, json!({"requests": [{}]}), "requests[0].content", "is missing"),
        (GeminiBatch, json!({"requests": [{"content": {"parts": [{"text": "a"}]}}, {"content": {"parts": [{"text": "a"}]}, "title": []}]}), "requests[1].title", "must be a string"),
        (Cohere, json!({"input_type": "search_query"}), "texts", "is missing"),
        (Cohere, json!({"texts": "a"}), "texts", "must be an array"),
        (Cohere, json!({"texts": ["a", 1]}), "texts[1]", "must be a string"),
        (Cohere, json!({"texts": ["a"], "images": ["data:"]}), "texts", "must be the only one"),
        (Cohere, json!({"inputs": [{}]}), "inputs[0].content", "is missing"),
        (Cohere, json!({"inputs": [{"text": "a"}]}), "inputs[0].content", "is missing"),
        (Cohere, json!({"inputs": [{"content": []}]}), "inputs[0].content", "is empty"),
        (Cohere, json!({"inputs": [{"content": [{"text": "a"}]}]}), "inputs[0].content[0].type", "is missing"),
        (Cohere, json!({"texts": ["a"], "truncate": "MIDDLE"}), "truncate", "must be NONE, START or END"),
        (Cohere, json!({"texts": ["a"], "embedding_types": "float"}), "embedding_types", "must be an array"),
        (CohereOnBedrock, json!({"texts": ["a"], "output_dimension": -1}), "output_dimension", "must be a whole number"),
        (Titan, json!({"dimensions": 256}), "inputText", "is missing"),
        (Titan, json!({"inputText": ["a"]}), "inputText", "must be a string"),
        (Titan, json!({"inputText": "a", "embeddingConfig": {"outputEmbeddingLength": "x"}}), "embeddingConfig.outputEmbeddingLength", "must be a whole number"),
        (Titan, json!({"inputText": "a", "embeddingTypes": [1]}), "embeddingTypes[0]", "must be a string"),
        (Nova, json!({"taskType": "SEGMENTED_EMBEDDING"}), "taskType", "must be SINGLE_EMBEDDING"),
        (Nova, params(json!({})), "singleEmbeddingParams.text", "is missing"),
        (Nova, params(json!({"text": {}})), "singleEmbeddingParams.text.value", "is missing"),
        (Nova, params(json!({"text": {"value": "a"}, "image": {}})), "singleEmbeddingParams.text", "must be the only thing"),
        (Nova, params(json!({"text": {"value": "a", "truncationMode": "X"}})), "singleEmbeddingParams.text.truncationMode", "must be NONE, START or END"),
    ];
    for (form, body, path, what) in cases {
        let refusal = try_decode(form, &body.to_string()).unwrap_err();
        assert_eq!(refusal.param.as_deref(), Some(path), "{body}: {refusal}");
        assert!(refusal.message.contains(what), "{body}: {refusal}");
    }
}

#[test]
fn bodies_on_bedrock_tell_their_form() {
    let form = |body: &Value| Api::Bedrock.form_of(&Envelope::parse(body.to_string().into()).unwrap());
    for own in [Form::CohereOnBedrock, Form::Titan, Form::Nova] {
        assert_eq!(form(&bodies::request(own)).unwrap(), own);
    }
    assert_eq!(form(&json!({"inputImage": "eA=="})).unwrap(), Form::Titan);
    let refusal = form(&json!({"anthropic_version": "bedrock-2023-05-31", "messages": []})).unwrap_err();
    assert!(refusal.message.contains("none of a model for embeddings"), "{refusal}");
}

#[test]
fn names_of_models_on_bedrock_tell_their_form() {
    for (model, form) in [
        ("amazon.titan-embed-text-v1", Some(Form::Titan)),
        ("amazon.titan-embed-text-v2:0", Some(Form::Titan)),
        ("amazon.titan-embed-image-v1", Some(Form::Titan)),
        ("us.cohere.embed-v4:0", Some(Form::CohereOnBedrock)),
        ("cohere.embed-multilingual-v3", Some(Form::CohereOnBedrock)),
        ("amazon.nova-2-multimodal-embeddings-v1:0", Some(Form::Nova)),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", None),
        ("amazon.nova-pro-v1:0", None),
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", None),
    ] {
        assert_eq!(Api::Bedrock.form_for(model), form, "{model}");
    }
}

#[test]
#[rustfmt::skip]
fn bad_answers_are_none() {
    use Form::*;
    for (form, body, what) in [
        (OpenAi, r#"{"object":"list"}"#, "without `data`"),
        (OpenAi, r#"{"data":[{"index":0}]}"#, "without numbers"),
        (OpenAi, r#"{"data":[{"embedding":[1]},{"embedding":"AACAPw=="}]}"#, "neither numbers nor base64"),
        (OpenAi, r#"{"data":[{"embedding":{}}]}"#, "neither numbers nor base64"),
        (OpenAi, "<html>", "not JSON"),
        (Gemini, "{}", "without embeddings"),
        (Gemini, r#"{"embedding":{}}"#, "without values"),
        (GeminiBatch, r#"{"embeddings":[{"values":[1]},{}]}"#, "without values"),
        (Cohere, r#"{"id":"a"}"#, "without embeddings"),
        (Cohere, r#"{"embeddings":{}}"#, "without embeddings"),
        (Cohere, r#"{"embeddings":{"float":[1]}}"#, "no vectors"),
        (Cohere, r#"{"embeddings":{"base64":[[1]]}}"#, "no vectors"),
        (CohereOnBedrock, r#"{"embeddings":"x"}"#, "without embeddings"),
        (Titan, r#"{"inputTextTokenCount":1}"#, "without an embedding"),
        (Titan, r#"{"embedding":null,"message":"too long"}"#, "too long"),
        (Titan, r#"{"embedding":"x"}"#, "no vector"),
        (Nova, r#"{"embeddings":[]}"#, "without embeddings"),
        (Nova, r#"{"embeddings":[{"embeddingType":"TEXT"}]}"#, "no vector"),
    ] {
        let error = codec(form).decode_response(&body.to_owned().into()).unwrap_err();
        assert!(error.contains(what), "{form:?} {body}: {error}");
    }
}
