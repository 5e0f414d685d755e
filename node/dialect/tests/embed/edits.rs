//! What is passed on in its own form.

use serde_json::{Value, json};
use trestle_dialect::{
    Envelope, Quirks, Target,
    embed::{Form, edit},
    ir::Json,
};

fn passed_on(form: Form, body: &str, params: &[(String, Json)]) -> Option<String> {
    let envelope = Envelope::parse(body.to_owned().into()).unwrap();
    let quirks = Quirks::default();
    let target = Target { model: "real", quirks: &quirks, params, wants_max_completion_tokens: false };
    let pieces = edit(form, &envelope, &target)?.apply(&envelope);
    Some(String::from_utf8(pieces.concat()).unwrap())
}

#[test]
fn only_the_model_changes() {
    for (form, body, expected) in [
        (
            Form::OpenAi,
            r#"{"input": [ 1 ],"model":"m", "x":1.0}"#,
            r#"{"input": [ 1 ],"model":"real", "x":1.0}"#,
        ),
        (Form::Cohere, r#"{"texts":["a"]}"#, r#"{"texts":["a"],"model":"real"}"#),
        (Form::Gemini, r#"{"content": {"parts":[]}}"#, r#"{"content": {"parts":[]}}"#),
        (Form::Gemini, r#"{"model":"models/m","content":1}"#, r#"{"model":"models/real","content":1}"#),
        (
            Form::GeminiBatch,
            r#"{"requests":[{"model":"models/m","a": 1},{"b":2},{"c":3, "model": "m"}]}"#,
            r#"{"requests":[{"model":"models/real","a": 1},{"b":2},{"c":3, "model": "models/real"}]}"#,
        ),
        (Form::Titan, r#"{"inputText":"a","fallbacks":[]}"#, r#"{"inputText":"a"}"#),
        (Form::Nova, r#"{ "singleEmbeddingParams":{}}"#, r#"{ "singleEmbeddingParams":{}}"#),
        (Form::CohereOnBedrock, r#"{"texts":["a"]}"#, r#"{"texts":["a"]}"#),
    ] {
        assert_eq!(passed_on(form, body, &[]).as_deref(), Some(expected), "{form:?}");
    }
}

#[test]
fn parameters_of_a_target_stand_where_the_vendor_looks_for_them() {
    let params = [("outputDimensionality".to_owned(), Json::fixed("256"))];
    let one = passed_on(Form::Gemini, r#"{"content":{}}"#, &params);
    assert_eq!(one.as_deref(), Some(r#"{"content":{},"outputDimensionality":256}"#));
    assert_eq!(passed_on(Form::GeminiBatch, r#"{"requests":[]}"#, &params), None);
    let request = crate::decode(Form::OpenAi, &json!({"input": ["a", "b"], "dimensions": 9}));
    let quirks = Quirks::default();
    let target =
        Target { model: "real", quirks: &quirks, params: &params, wants_max_completion_tokens: false };
    let encoded = trestle_dialect::embed::codec(Form::GeminiBatch).encode_request(&request, &target).unwrap();
    let body: Value = crate::json(&encoded.body);
    assert_eq!(
        body["requests"][0],
        json!({"model": "models/real", "content": {"parts": [{"text": "a"}]}, "outputDimensionality": 256})
    );
    assert_eq!(body["requests"][1]["outputDimensionality"], 256);
    assert_eq!(body.as_object().unwrap().len(), 1);
}
