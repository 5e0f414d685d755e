//! Paths of all vendors, with and without a prefix.

use super::*;

fn check(method: Method, path: &str, expected: Option<Result<RequestLine, &'static str>>) {
    assert_eq!(RequestLine::find(&method, path), expected, "{method} {path}");
}

#[test]
fn a_session_has_its_model_in_the_query() {
    for (target, model) in [
        ("/v1/realtime?model=gpt-realtime", Some("gpt-realtime")),
        ("/openai/v1/realtime?model=a%2Fb", Some("a/b")),
        ("/openai/realtime?api-version=2025-04-01-preview&deployment=voice", Some("voice")),
        ("/v1/realtime?model=&deployment=x", None),
        ("/v1/realtime", None),
    ] {
        let found = RequestLine::find(&Method::GET, target).unwrap().unwrap();
        assert_eq!(found.endpoint, Endpoint::Realtime);
        assert_eq!(found.named.as_ref().map(|named| &*named.model), model, "{target}");
    }
    check(Method::POST, "/v1/realtime?model=m", Some(Err("GET")));
    check(Method::GET, "/realtime?model=m", None);
}

#[test]
fn calls_of_a_provider_are_split_from_its_name() {
    for (target, expected) in [
        ("/passthrough/openai/files/a%2Fb?x=1&y", Some(("openai", "/files/a%2Fb", Some("x=1&y"), None))),
        ("/passthrough/a%20b/x", Some(("a b", "/x", None, None))),
        ("/passthrough/a", Some(("a", "", None, None))),
        ("/passthrough/a//b", Some(("a", "//b", None, None))),
        ("/passthrough/a/x?key=k%31&x", Some(("a", "/x", Some("x"), Some("k1")))),
        ("/passthrough/a/x?%6Bey=k&keys=2", Some(("a", "/x", Some("keys=2"), None))),
        ("/passthrough/a/x?key=k", Some(("a", "/x", None, Some("k")))),
        ("/passthrough//x", None),
        ("/passthrough/", None),
        ("/passthrough", None),
        ("/openai/passthrough/a/x", None),
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let found = RequestLine::find(&method, target).map(Result::unwrap);
            let found = found.as_ref().map(|line| {
                let through = line.through.as_ref().unwrap();
                assert_eq!(through.method, method);
                (&*through.provider, &*through.path, through.query.as_deref(), line.key.as_deref())
            });
            assert_eq!(found, expected, "{target}");
        }
    }
}

#[test]
fn paths_are_found_with_and_without_prefix() {
    let generate = |dialect| Some(Ok(Endpoint::Generate(dialect).into()));
    let chat = || generate(Dialect::OpenAiChat);
    let pass = |operation| Some(Ok(Endpoint::Pass(operation).into()));
    let embed = |api| Some(Ok(Endpoint::Embed(api).into()));
    for (path, expected) in [
        ("/v1/chat/completions", chat()),
        ("/openai/v1/chat/completions", chat()),
        ("/openai/chat/completions", chat()),
        ("/litellm/chat/completions", chat()),
        ("/langchain/v1/chat/completions", chat()),
        ("/v1/responses", generate(Dialect::OpenAiResponses)),
        ("/openai/responses", generate(Dialect::OpenAiResponses)),
        ("/anthropic/v1/messages", generate(Dialect::AnthropicMessages)),
        ("/v1/messages", generate(Dialect::AnthropicMessages)),
        ("/v2/chat", generate(Dialect::CohereChat)),
        ("/cohere/v2/chat", generate(Dialect::CohereChat)),
        ("/v1/embeddings", embed(Api::OpenAi)),
        ("/v1/completions", pass(Operation::Completions)),
        ("/v1/audio/transcriptions", pass(Operation::Transcriptions)),
        ("/openai/audio/translations", pass(Operation::Translations)),
        ("/litellm/v1/images/edits", pass(Operation::ImageEdits)),
        ("/langchain/images/variations", pass(Operation::ImageVariations)),
        ("/v1/rerank", pass(Operation::Rerank)),
        ("/cohere/v2/rerank", pass(Operation::Rerank)),
        ("/cohere/v2/embed", embed(Api::Cohere)),
        ("/v1/messages/count_tokens", pass(Operation::CountTokens)),
        ("/v1/models", Some(Err("GET"))),
        ("/chat/completions", None),
        ("/v1/chat/completions/", None),
        ("/v2/messages", None),
        ("/", None),
        ("/openai", None),
        ("/openaix/v1/messages", None),
    ] {
        check(Method::POST, path, expected);
    }
    let models = |dialect| {
        let form = if dialect == Dialect::Gemini { Form::Array } else { Form::Events };
        Some(Ok(RequestLine { form, ..Endpoint::Models(dialect).into() }))
    };
    check(Method::GET, "/openai/v1/models", models(Dialect::OpenAiChat));
    check(Method::GET, "/v1/models", models(Dialect::OpenAiChat));
    check(Method::GET, "/anthropic/v1/models", models(Dialect::AnthropicMessages));
    check(Method::GET, "/v1beta/models", models(Dialect::Gemini));
    check(Method::GET, "/genai/v1beta/models", models(Dialect::Gemini));
    check(Method::GET, "/models", None);
    check(Method::GET, "/v1/usage", Some(Ok(Endpoint::Usage(Dialect::OpenAiChat).into())));
    check(Method::GET, "/anthropic/usage", Some(Ok(Endpoint::Usage(Dialect::AnthropicMessages).into())));
    check(Method::POST, "/openai/v1/usage", Some(Err("GET")));
    check(Method::GET, "/usage", None);
    for (path, dialect, id) in [
        ("/v1/models/chat", Dialect::OpenAiChat, "chat"),
        ("/v1/models/openai/gpt-4o", Dialect::OpenAiChat, "openai/gpt-4o"),
        ("/anthropic/v1/models/a%2Fb", Dialect::AnthropicMessages, "a/b"),
        ("/openai/models/m", Dialect::OpenAiChat, "m"),
        ("/v1beta/models/gemini-2.5-pro", Dialect::Gemini, "gemini-2.5-pro"),
    ] {
        let named = Some(Named { model: id.into(), stream: None });
        let form = if dialect == Dialect::Gemini { Form::Array } else { Form::Events };
        let line = RequestLine { named, form, ..Endpoint::Models(dialect).into() };
        check(Method::GET, path, Some(Ok(line)));
    }
    check(Method::GET, "/v1/chat/completions", Some(Err("POST")));
    check(Method::GET, "/model/m/converse", Some(Err("POST")));
}

#[test]
fn what_is_kept_is_found_with_and_without_prefix() {
    for (path, prefix) in [("/v1/files/f%2F1?a=b", ""), ("/openai/files/f%2F1?a=b", "/openai")] {
        let item = Item { id: Some("f/1".into()), query: "a=b".into() };
        let line = Endpoint::Stored(Stored::File, Act::Delete).into();
        let line = RequestLine { item: Some(Box::new(item)), ..line };
        check(Method::DELETE, path, Some(Ok(line)));
        check(Method::PUT, &format!("{prefix}/v1/batches/b"), Some(Err("GET")));
    }
    check(
        Method::POST,
        "/v1/responses/input_tokens",
        Some(Ok(Endpoint::Pass(Operation::ResponseTokens).into())),
    );
    check(Method::GET, "/v1/responses/input_tokens", Some(Err("POST")));
    check(Method::GET, "/anthropic/v1/files/f", None);
    check(Method::GET, "/files/f", None);
}

#[test]
fn queries_of_gemini_are_read() {
    let found = |target: &str| match RequestLine::find(&Method::POST, target) {
        Some(Ok(line)) => (line.form, line.key),
        other => panic!("{target}: {other:?}"),
    };
    let path = "/v1beta/models/m:streamGenerateContent";
    assert_eq!(found(&format!("{path}?alt=sse")), (Form::Events, None));
    assert_eq!(found(&format!("{path}?key=a%2Bb&alt=sse")), (Form::Events, Some("a+b".into())));
    assert_eq!(found(&format!("{path}?key=ab")), (Form::Array, Some("ab".into())));
    assert_eq!(found(path), (Form::Array, None));
    assert_eq!(found("/v1/messages?beta=true&key=x"), (Form::Events, None));
}

#[test]
fn ids_in_paths_are_opaque() {
    let found = |path: &str| match RequestLine::find(&Method::POST, path) {
        Some(Ok(RequestLine { endpoint, named: Some(named), .. })) => {
            Some((endpoint.name(), named.model.into_string(), named.stream))
        }
        _ => None,
    };
    let arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.x-v1:0";
    for (path, expected) in [
        (
            "/model/anthropic.claude-v1:0/converse",
            Some(("bedrock-converse", "anthropic.claude-v1:0", Some(false))),
        ),
        ("/bedrock/model/a%2Fb/converse-stream", Some(("bedrock-converse", "a/b", Some(true)))),
        (
            "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.x-v1%3A0/converse",
            Some(("bedrock-converse", arn, Some(false))),
        ),
        ("/v1beta/models/gemini-2.5-pro:generateContent", Some(("gemini", "gemini-2.5-pro", Some(false)))),
        ("/genai/v1beta/models/a/b:c:streamGenerateContent", Some(("gemini", "a/b:c", Some(true)))),
        ("/v1/models/chat:generateContent", Some(("gemini", "chat", Some(false)))),
        ("/openai/deployments/gpt%204/chat/completions", Some(("openai-chat", "gpt 4", None))),
        ("/openai/deployments/e/embeddings", Some(("embeddings", "e", None))),
        ("/openai/deployments/whisper/audio/transcriptions", Some(("transcriptions", "whisper", None))),
        ("/openai/deployments/gpt-image-1/images/edits", Some(("image_edits", "gpt-image-1", None))),
        ("/model//converse", None),
        ("/model/%ff/converse", None),
        (
            "/bedrock/model/amazon.titan-embed-text-v2%3A0/invoke",
            Some(("invoke", "amazon.titan-embed-text-v2:0", Some(false))),
        ),
        ("/model/m/invoke-with-response-stream", None),
        ("/v1beta/models/m:embedContent", Some(("embed_content", "m", Some(false)))),
        ("/v1beta/models/m:batchEmbedContents", Some(("batch_embed_contents", "m", Some(false)))),
        ("/v1beta/models/m:countTokens", Some(("gemini_count_tokens", "m", Some(false)))),
        ("/v1beta/models/m:predict", None),
        ("/v1beta/models/:generateContent", None),
    ] {
        let expected = expected.map(|(name, model, stream)| (name, model.to_owned(), stream));
        assert_eq!(found(path), expected, "{path}");
    }
}
