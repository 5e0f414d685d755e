//! What becomes of requests on their way to each form.

use crate::{bodies, decode, encode, encode_for, json, model};
use serde_json::{Value, json};
use std::fmt::Write as _;
use trestle_dialect::embed::{Form, codec};

/// What a request is in each form, call by call.
fn told(from: Form) -> String {
    let request = decode(from, &bodies::request(from));
    let mut page = String::new();
    for to in Form::ALL {
        for part in request.split(codec(to).inputs_max()) {
            match encode(to, &part) {
                Ok(encoded) => {
                    writeln!(page, "{}: {}", to.name(), json(&encoded.body)).unwrap();
                    if !encoded.dropped.is_empty() {
                        writeln!(page, "    dropped: {}", encoded.dropped.join(", ")).unwrap();
                    }
                }
                Err(refusal) => writeln!(page, "{}: {refusal}", to.name()).unwrap(),
            }
        }
    }
    page
}

#[test]
fn all_pairs() {
    for from in Form::ALL {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("request_{}", from.name()), told(from));
        });
    }
}

/// What becomes of these members, and what is dropped.
fn send(from: Form, body: Value, to: Form) -> (Value, Vec<String>) {
    let encoded = encode(to, &decode(from, &body)).unwrap_or_else(|refusal| panic!("{refusal}: {body}"));
    (json(&encoded.body), encoded.dropped)
}

fn refused(from: Form, body: Value, to: Form) -> (Option<String>, String) {
    let part = decode(from, &body).split(codec(to).inputs_max()).next().unwrap();
    let refusal = encode(to, &part).unwrap_err();
    (refusal.param, refusal.message.into_owned())
}

#[test]
fn what_only_one_vendor_has_is_refused_by_the_others() {
    let picture = "data:image/png;base64,iVBORw0KGgo=";
    let cases = [
        (Form::OpenAi, json!({"input": [1, 2, 3]}), "input", "numbers of tokens"),
        (Form::OpenAi, json!({"input": [[1, 2], [3]]}), "input", "numbers of tokens"),
        (Form::Cohere, json!({"images": [picture], "input_type": "image"}), "inputs", "pictures"),
        (
            Form::Cohere,
            json!({"inputs": [{"content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": picture}}]}]}),
            "inputs",
            "more than a text",
        ),
        (
            Form::Cohere,
            json!({"texts": ["a"], "embedding_types": ["float", "int8"]}),
            "embedding_types",
            "several kinds",
        ),
        (
            Form::Cohere,
            json!({"texts": ["a"], "embedding_types": ["ubinary"]}),
            "embedding_types",
            "`ubinary`",
        ),
        (
            Form::Gemini,
            json!({"content": {"parts": [{"inlineData": {"mimeType": "image/png", "data": "eA=="}}]}}),
            "content",
            "more than a text",
        ),
        (Form::Titan, json!({"inputText": "a", "inputImage": "eA=="}), "inputText", "more than a text"),
        (Form::Titan, json!({"inputText": "a", "embeddingTypes": ["binary"]}), "embeddingTypes", "`binary`"),
        (
            Form::Nova,
            json!({"singleEmbeddingParams": {"embeddingPurpose": "GENERIC_INDEX", "image": {"format": "png", "source": {"bytes": "eA=="}}}}),
            "singleEmbeddingParams",
            "more than a text",
        ),
    ];
    for (from, body, param, what) in cases {
        for to in Form::ALL {
            let vendor = |form: Form| match form {
                Form::GeminiBatch => Form::Gemini,
                Form::CohereOnBedrock => Form::Cohere,
                other => other,
            };
            if vendor(from) == vendor(to) {
                send(from, body.clone(), to);
                continue;
            }
            let (named, message) = refused(from, body.clone(), to);
            assert_eq!(named.as_deref(), Some(param), "{to:?} {body}: {message}");
            assert!(message.contains(what), "{to:?} {body}: {message}");
        }
    }
}

#[test]
fn a_call_takes_so_many_inputs() {
    let many = |count: usize| decode(Form::OpenAi, &json!({"input": vec!["a"; count]}));
    for (to, max) in
        [(Form::Cohere, 96), (Form::GeminiBatch, 100), (Form::Titan, 1), (Form::Nova, 1), (Form::Gemini, 1)]
    {
        assert_eq!(codec(to).inputs_max(), max, "{to:?}");
        encode(to, &many(max)).unwrap();
        let refusal = encode(to, &many(max + 1)).unwrap_err();
        assert!(refusal.message.contains(&format!("a call takes {max}")), "{refusal}");
        let parts: Vec<_> = many(max * 2 + 1).split(max).map(|part| part.inputs.len()).collect();
        assert_eq!(parts, [max, max, 1]);
    }
}

#[test]
#[rustfmt::skip]
fn tasks_are_told_in_the_words_of_each_vendor() {
    let gemini = |task: &str| json!({"content": {"parts": [{"text": "a"}]}, "taskType": task});
    for (task, cohere, nova, is_named) in [
        ("RETRIEVAL_QUERY", "search_query", "TEXT_RETRIEVAL", false),
        ("RETRIEVAL_DOCUMENT", "search_document", "GENERIC_INDEX", false),
        ("CLASSIFICATION", "classification", "CLASSIFICATION", false),
        ("CLUSTERING", "clustering", "CLUSTERING", false),
        ("SEMANTIC_SIMILARITY", "clustering", "CLUSTERING", true),
        ("QUESTION_ANSWERING", "search_query", "TEXT_RETRIEVAL", true),
        ("FACT_VERIFICATION", "search_query", "TEXT_RETRIEVAL", true),
        ("CODE_RETRIEVAL_QUERY", "search_query", "TEXT_RETRIEVAL", true),
        ("SOMETHING_NEW", "search_document", "GENERIC_INDEX", true),
        ("TASK_TYPE_UNSPECIFIED", "search_document", "GENERIC_INDEX", false),
    ] {
        let named: &[&str] = if is_named { &["taskType"] } else { &[] };
        let (body, dropped) = send(Form::Gemini, gemini(task), Form::Cohere);
        assert_eq!((body["input_type"].as_str(), &dropped[..]), (Some(cohere), &named.iter().map(|n| n.to_string()).collect::<Vec<_>>()[..]), "{task}");
        let (body, dropped) = send(Form::Gemini, gemini(task), Form::Nova);
        assert_eq!((body["singleEmbeddingParams"]["embeddingPurpose"].as_str(), dropped.len()), (Some(nova), named.len()), "{task}");
    }
    for (word, task) in [("search_query", "RETRIEVAL_QUERY"), ("search_document", "RETRIEVAL_DOCUMENT"), ("classification", "CLASSIFICATION"), ("clustering", "CLUSTERING")] {
        let (body, dropped) = send(Form::Cohere, json!({"texts": ["a"], "input_type": word}), Form::Gemini);
        assert_eq!((&body["taskType"], dropped.len()), (&json!(task), 0));
    }
    // Clients of OpenAI have no word of their own.
    for (word, task, dropped) in [
        (json!("search_query"), Some("RETRIEVAL_QUERY"), ""), (json!("query"), Some("RETRIEVAL_QUERY"), ""),
        (json!("passage"), Some("RETRIEVAL_DOCUMENT"), ""), (json!("CLUSTERING"), Some("CLUSTERING"), ""),
        (json!("poem"), None, "input_type"), (json!(1), None, "input_type"),
    ] {
        let (body, named) = send(Form::OpenAi, json!({"input": "a", "input_type": word}), Form::Gemini);
        assert_eq!((body["taskType"].as_str(), named.join(",")), (task, dropped.to_owned()), "{word}");
    }
    assert_eq!(send(Form::Cohere, json!({"texts": ["a"], "input_type": "search_query"}), Form::OpenAi).1, ["input_type"]);
    assert_eq!(send(Form::Gemini, gemini("CLUSTERING"), Form::Titan).1, ["taskType"]);
}

#[test]
#[rustfmt::skip]
fn truncation_is_told_or_named() {
    let cohere = |word: &str| json!({"texts": ["a"], "input_type": "search_query", "truncate": word});
    for (word, to, expected, dropped) in [
        ("NONE", Form::Nova, json!("NONE"), 0), ("START", Form::Nova, json!("START"), 0), ("END", Form::Nova, json!("END"), 0),
        ("END", Form::CohereOnBedrock, json!("RIGHT"), 0), ("START", Form::CohereOnBedrock, json!("LEFT"), 0), ("NONE", Form::CohereOnBedrock, json!("NONE"), 0),
        // These refuse what is too long.
        ("NONE", Form::OpenAi, json!(null), 0), ("NONE", Form::Titan, json!(null), 0),
        ("END", Form::OpenAi, json!(null), 1), ("START", Form::Titan, json!(null), 1),
        // This cuts it without a word.
        ("NONE", Form::Gemini, json!(null), 1), ("END", Form::Gemini, json!(null), 1),
    ] {
        let (body, named) = send(Form::Cohere, cohere(word), to);
        let told = if to == Form::Nova { &body["singleEmbeddingParams"]["text"]["truncationMode"] } else { &body["truncate"] };
        let named = named.iter().filter(|name| *name == "truncate").count();
        assert_eq!((told, named), (&expected, dropped), "{word} {to:?}");
    }
    let v3 = encode_for("cohere.embed-english-v3", Form::CohereOnBedrock, &decode(Form::Cohere, &cohere("END"))).unwrap();
    assert_eq!(json(&v3.body)["truncate"], "END");
    assert_eq!(send(Form::OpenAi, json!({"input": "a"}), Form::Nova).0["singleEmbeddingParams"]["text"]["truncationMode"], "NONE");
}

#[test]
#[rustfmt::skip]
fn titan_models_take_dimensions_each_in_its_way() {
    let sized = |size: u64| decode(Form::OpenAi, &json!({"input": "a", "dimensions": size}));
    let body = |model, size| encode_for(model, Form::Titan, &sized(size)).map(|encoded| json(&encoded.body));
    assert_eq!(body("amazon.titan-embed-text-v2:0", 256).unwrap(), json!({"inputText": "a", "dimensions": 256}));
    assert_eq!(body("amazon.titan-embed-image-v1", 256).unwrap(), json!({"inputText": "a", "embeddingConfig": {"outputEmbeddingLength": 256}}));
    assert_eq!(body("amazon.titan-embed-text-v1", 1536).unwrap(), json!({"inputText": "a"}));
    let refusal = body("amazon.titan-embed-text-v1", 256).unwrap_err();
    assert_eq!((refusal.param.as_deref(), refusal.message.contains("must be 1536")), (Some("dimensions"), true));
}

#[test]
fn a_batch_that_is_told_different_things_goes_to_gemini_alone() {
    let batch = |name: &str, one: Value, two: Value| {
        let request = |value| {
            let mut request = json!({"model": "models/m", "content": {"parts": [{"text": "a"}]}});
            request[name] = value;
            request
        };
        json!({"requests": [request(one), request(two)]})
    };
    let tasks = batch("taskType", json!("CLUSTERING"), json!("RETRIEVAL_QUERY"));
    let (param, message) = refused(Form::GeminiBatch, tasks.clone(), Form::Cohere);
    assert_eq!(param.as_deref(), Some("requests[].taskType"));
    assert!(message.contains("differs between the requests"), "{message}");
    send(Form::GeminiBatch, tasks, Form::GeminiBatch);
    let sizes = batch("outputDimensionality", json!(256), json!(null));
    assert_eq!(
        refused(Form::GeminiBatch, sizes, Form::OpenAi).0.as_deref(),
        Some("requests[].outputDimensionality")
    );
    // Titles are of use to Gemini alone.
    let titles = batch("title", json!("A"), json!("B"));
    assert_eq!(send(Form::GeminiBatch, titles, Form::OpenAi).1, ["requests[].title"]);
}

#[test]
fn kinds_are_asked_for_where_the_vendor_has_them() {
    let base64 = json!({"input": "a", "encoding_format": "base64"});
    let (body, dropped) = send(Form::OpenAi, base64.clone(), Form::Cohere);
    assert_eq!((&body["embedding_types"], dropped.len()), (&json!(["base64"]), 0));
    // The answer is converted.
    for to in [Form::CohereOnBedrock, Form::Titan, Form::Nova, Form::Gemini] {
        let (body, dropped) = send(Form::OpenAi, base64.clone(), to);
        assert!(!body.to_string().contains("base64") && dropped.is_empty(), "{body} {dropped:?}");
    }
    let both =
        json!({"texts": ["a"], "input_type": "search_query", "embedding_types": ["base64", "int8", "float"]});
    assert_eq!(
        send(Form::Cohere, both, Form::CohereOnBedrock).0["embedding_types"],
        json!(["float", "int8"])
    );
    let one = json!({"texts": ["a"], "input_type": "search_query", "embedding_types": ["base64"]});
    assert_eq!(send(Form::Cohere, one, Form::OpenAi).0["encoding_format"], "base64");
}

#[test]
fn members_that_nobody_else_has_are_named() {
    let extra = |from: Form| {
        let mut body = bodies::request(from);
        body["x_extra"] = json!({"a": 1});
        body
    };
    for from in Form::ALL {
        for to in Form::ALL {
            let request = decode(from, &extra(from));
            let part = request.split(codec(to).inputs_max()).next().unwrap();
            let encoded = encode_for(model(to), to, &part).unwrap();
            let body = json(&encoded.body);
            let kept = body.get("x_extra").is_some() || body.pointer("/requests/0/x_extra").is_some();
            let named = encoded.dropped.iter().any(|name| name == "x_extra");
            let alike = from == to
                || matches!(
                    (from, to),
                    (Form::Cohere, Form::CohereOnBedrock)
                        | (Form::CohereOnBedrock, Form::Cohere)
                        | (Form::Gemini, Form::GeminiBatch)
                );
            assert_eq!((kept, named), (alike, !alike), "{from:?} {to:?} {body}");
        }
    }
}
