//! What becomes of answers on their way to clients of each form.

use crate::{answer, bodies, context, decode, json};
use serde_json::{Value, json};
use std::fmt::Write as _;
use trestle_dialect::embed::{Form, Request, codec};

/// A client's request for as many inputs as the provider's answer has vectors.
fn asked(client: Form, vectors: usize) -> Request {
    let mut request = decode(client, &bodies::request(client));
    let last = request.inputs[0].clone();
    request.inputs.resize(vectors, last);
    request
}

fn given(provider: Form, body: &Value, request: &Request) -> Value {
    let encoded = codec(request.form).encode_response(request, &answer(provider, body), &context()).unwrap();
    assert!(encoded.dropped.is_empty(), "{:?}", encoded.dropped);
    json(&encoded.body)
}

#[test]
fn all_pairs() {
    for provider in Form::ALL {
        let body = bodies::answer(provider);
        let vectors = answer(provider, &body).vectors[0].list.len();
        let mut page = String::new();
        for client in Form::ALL {
            writeln!(page, "{}: {}", client.name(), given(provider, &body, &asked(client, vectors))).unwrap();
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("answer_{}", provider.name()), page);
        });
    }
}

#[test]
fn numbers_pass_as_they_were_written() {
    let numbers = "[ 0.10, -1E-7,\n 1e0, 12345678901234567890.0 ]";
    for (provider, body) in [
        (Form::OpenAi, format!(r#"{{"data":[{{"index":0,"embedding":{numbers}}}]}}"#)),
        (Form::Gemini, format!(r#"{{"embedding":{{"values":{numbers}}}}}"#)),
        (Form::GeminiBatch, format!(r#"{{"embeddings":[{{"values":{numbers}}}]}}"#)),
        (Form::Cohere, format!(r#"{{"embeddings":{{"float":[{numbers}]}}}}"#)),
        (Form::CohereOnBedrock, format!(r#"{{"embeddings":[{numbers}]}}"#)),
        (Form::Titan, format!(r#"{{"embedding":{numbers}}}"#)),
        (Form::Nova, format!(r#"{{"embeddings":[{{"embedding":{numbers}}}]}}"#)),
    ] {
        let response = codec(provider).decode_response(&body.into()).unwrap();
        for client in Form::ALL {
            let mut request = asked(client, 1);
            request.kinds.clear();
            let encoded = codec(client).encode_response(&request, &response, &context()).unwrap();
            let text = String::from_utf8(encoded.body).unwrap();
            assert!(text.contains(numbers), "{provider:?} {client:?}: {text}");
        }
    }
}

#[test]
fn base64_is_made_and_read_where_the_two_sides_differ() {
    let (numbers, packed) = (json!([1.0, -0.5]), json!("AACAPwAAAL8="));
    let floats = json!({"embeddings": [{"values": numbers}]});
    let wants_base64 = decode(Form::OpenAi, &json!({"input": "a", "encoding_format": "base64"}));
    assert_eq!(given(Form::GeminiBatch, &floats, &wants_base64)["data"][0]["embedding"], packed);
    let cohere =
        json!({"texts": ["a"], "input_type": "search_query", "embedding_types": ["base64", "float"]});
    let both = given(Form::GeminiBatch, &floats, &decode(Form::Cohere, &cohere));
    assert_eq!(both["embeddings"], json!({"base64": [packed], "float": [numbers]}));
    // A server may answer with base64 though nobody asked for it.
    let base64 = json!({"data": [{"index": 0, "embedding": packed}], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}});
    for client in Form::ALL {
        let mut request = asked(client, 1);
        request.kinds.clear();
        let body = given(Form::OpenAi, &base64, &request).to_string();
        assert!(body.contains("[1.0,-0.5]"), "{client:?}: {body}");
    }
}

#[test]
fn vectors_that_cannot_be_converted_are_no_answer() {
    let odd = json!({"data": [{"index": 0, "embedding": "AAAA"}]});
    let bits = json!({"embeddings": {"int8": [[1, 2]]}});
    for (provider, body) in [(Form::OpenAi, odd), (Form::Cohere, bits)] {
        let wants_floats = decode(Form::Gemini, &bodies::request(Form::Gemini));
        let response = answer(provider, &body);
        assert!(
            codec(Form::Gemini).encode_response(&wants_floats, &response, &context()).is_err(),
            "{provider:?}"
        );
    }
}

#[test]
#[rustfmt::skip]
fn usage_is_read_wherever_it_stands() {
    for (form, body, expected) in [
        (Form::OpenAi, json!({"usage": {"total_tokens": 3}}), Some(3)),
        (Form::OpenAi, json!({"usage": {"prompt_tokens": 2, "total_tokens": 3}}), Some(2)),
        (Form::Gemini, json!({"usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 4}}), Some(4)),
        (Form::GeminiBatch, json!({"usageMetadata": {}}), None),
        (Form::Cohere, json!({"meta": {"billed_units": {"input_tokens": 5}}}), Some(5)),
        (Form::Cohere, json!({"meta": {"billed_units": {"input_tokens": 5, "image_tokens": 7}}}), Some(7)),
        (Form::Cohere, json!({"meta": {"billed_units": {"image_tokens": 7, "text_tokens": 2}}}), Some(9)),
        (Form::Cohere, json!({"meta": {"tokens": {"input_tokens": 6}}}), Some(6)),
        (Form::Cohere, json!({"meta": {"api_version": {"version": "2"}}}), None),
        (Form::Titan, json!({"inputTextTokenCount": 8}), Some(8)),
        (Form::Nova, json!({}), None),
    ] {
        let usage = codec(form).usage_in_tail(body.to_string().as_bytes());
        assert_eq!(usage.map(|usage| usage.input), expected, "{form:?} {body}");
    }
    let vertex = json!({"embeddings": [{"values": [1], "statistics": {"tokenCount": 3}}, {"values": [1], "statistics": {"tokenCount": 4}}]});
    assert_eq!(answer(Form::GeminiBatch, &vertex).usage.map(|usage| usage.input), Some(7));
}

#[test]
fn answers_of_several_calls_are_one() {
    let mut whole = answer(Form::Titan, &bodies::answer(Form::Titan));
    whole.append(answer(Form::Titan, &json!({"embedding": [2.0], "inputTextTokenCount": 5})));
    assert!(whole.has(2) && !whole.has(1));
    assert_eq!(whole.usage.map(|usage| usage.input), Some(12));
    let client = decode(Form::OpenAi, &json!({"input": ["a", "b"]}));
    let encoded = codec(Form::OpenAi).encode_response(&client, &whole, &context()).unwrap();
    assert_eq!(
        json(&encoded.body)["data"][1],
        json!({"object": "embedding", "index": 1, "embedding": [2.0]})
    );
}

#[test]
fn what_a_provider_says_beside_the_vectors_is_named() {
    let mut body = bodies::answer(Form::Cohere);
    body["meta"]["warnings"] = json!(["deprecated"]);
    body["x_extra"] = json!(1);
    let request = asked(Form::OpenAi, 2);
    let encoded =
        codec(Form::OpenAi).encode_response(&request, &answer(Form::Cohere, &body), &context()).unwrap();
    assert_eq!(encoded.dropped, ["meta.warnings", "x_extra"]);
}
