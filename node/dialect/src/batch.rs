//! The models that the requests of a batch name, and other names for them; and what its requests used. Each place is read so
//! that no two readers can see different models.

use crate::{
    Dialect, Edits, Envelope, Refusal,
    ir::{Json, Usage},
    json::{Kind, Raw, Writer, offset_in},
    outbound,
};
use bytes::Bytes;

/// Requests of a batch beyond this are refused; the vendors take 50,000 and 100,000.
const REQUESTS_MAX: usize = 100_000;

/// The models that a batch of Anthropic names, one for each of its requests.
pub fn batch_models(envelope: &Envelope) -> Result<Vec<Raw<'_>>, Refusal> {
    let requests = envelope.get("requests").filter(|requests| requests.kind() == Kind::Array);
    let requests =
        requests.ok_or_else(|| Refusal::invalid("requests", "`requests` must be an array of requests"))?;
    let mut models = Vec::new();
    for (index, request) in requests.elements().enumerate() {
        let model = inner_model(request, "params").map_err(|why| {
            Refusal::invalid(format!("requests[{index}].params.model"), format!("requests[{index}]: {why}"))
        });
        add(&mut models, model?, "requests")?;
    }
    Ok(models)
}

/// The models that the lines of a file name, which is the input of a batch of OpenAI; with the number of each line.
pub fn line_models(content: &[u8]) -> Result<Vec<(usize, Raw<'_>)>, Refusal> {
    let mut models = Vec::new();
    for (index, line) in content.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let request = Raw::parse(line).map_err(|error| format!("is not acceptable JSON: {error}"));
        let model = request.and_then(|request| inner_model(request, "body"));
        let model = model.map_err(|why| Refusal::invalid("file", format!("line {}: {why}", index + 1)))?;
        add(&mut models, (index + 1, model), "file")?;
    }
    Ok(models)
}

fn add<T>(models: &mut Vec<T>, model: T, param: &str) -> Result<(), Refusal> {
    if models.len() == REQUESTS_MAX {
        return Err(Refusal::invalid(param, format!("a batch may have {REQUESTS_MAX} requests at most")));
    }
    models.push(model);
    Ok(())
}

/// What one request of a batch used and which model answered it, from its line in the results; `None` where that does not
/// say.
pub fn line_usage(line: &[u8]) -> Option<(String, Usage)> {
    let line = Raw::parse(line).ok()?;
    let of = |dialect, answer: Raw<'_>| {
        let codec = outbound(dialect);
        let usage = codec.usage(answer.get(codec.usage_member())?)?;
        let model = answer.get("model").and_then(Raw::string).unwrap_or_default();
        Some((model.into_owned(), usage))
    };
    if let Some(message) = line.get("result").and_then(|result| result.get("message")) {
        return of(Dialect::AnthropicMessages, message);
    }
    let answer = line.get("response")?.get("body")?;
    of(Dialect::OpenAiChat, answer).or_else(|| of(Dialect::OpenAiResponses, answer))
}

/// Gives these models other names; `None` leaves one as it is. As many as `batch_models` found.
pub fn name_batch_models(envelope: &Envelope, models: &[Raw<'_>], names: &[Option<&str>]) -> Edits {
    let mut edits = Edits::default();
    // All at once: of a hundred thousand single edits each would look at all before it.
    let requests = envelope.get("requests").map(|requests| named(requests.bytes(), models, names));
    if let Some(Some(requests)) = requests {
        edits.set(envelope, "requests", Json::from_valid(requests));
    }
    edits
}

/// Text with other names for these models, which stand in it in this order; `None` where all stay as they are.
pub fn named(text: &[u8], models: &[Raw<'_>], names: &[Option<&str>]) -> Option<Bytes> {
    if names.iter().all(Option::is_none) {
        return None;
    }
    let (mut out, mut kept) = (Vec::with_capacity(text.len()), 0);
    for (model, name) in models.iter().zip(names) {
        let (Some(name), Some(at)) = (name, offset_in(text, model.bytes())) else { continue };
        out.extend_from_slice(text.get(kept..at).unwrap_or_default());
        let mut written = Writer::append_to(out);
        written.string(name);
        out = written.finish();
        kept = at + model.bytes().len();
    }
    out.extend_from_slice(text.get(kept..).unwrap_or_default());
    Some(out.into())
}

/// The model in the member `of` of a request.
fn inner_model<'a>(request: Raw<'a>, of: &str) -> Result<Raw<'a>, String> {
    let inner = only(request, of)?.ok_or_else(|| format!("`{of}` is missing"))?;
    let model = only(inner, "model")?.ok_or_else(|| format!("`{of}.model` is missing"))?;
    let is_name = model.escaped().is_some_and(|name| !name.is_empty());
    if is_name { Ok(model) } else { Err(format!("`{of}.model` must be the name of a model")) }
}

/// The member of that name in an object that has no name twice.
fn only<'a>(object: Raw<'a>, name: &str) -> Result<Option<Raw<'a>>, String> {
    let members = object.unique_members().ok_or("is no object")?;
    let members = members.map_err(|twice| format!("`{twice}` is there twice"))?;
    Ok(members.into_iter().find(|member| member.is(name)).map(|member| member.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &'static str, expected: Result<&[&str], &str>) {
        let envelope = Envelope::parse(body.into()).unwrap();
        let found = batch_models(&envelope);
        let found = found
            .map(|models| models.into_iter().map(|model| model.string().unwrap().into_owned()).collect());
        let found: Result<Vec<String>, String> = found.map_err(|refusal| refusal.message.into_owned());
        let expected = expected.map(|names| names.iter().map(ToString::to_string).collect());
        assert_eq!(found, expected.map_err(str::to_owned), "{body}");
    }

    #[test]
    fn models_of_a_batch_are_found() {
        check(
            r#"{"requests":[{"custom_id":"1","params":{"model":"a"}},{"params":{"max_tokens":1,"model":"b"}}]}"#,
            Ok(&["a", "b"]),
        );
        check(r#"{"requests":[]}"#, Ok(&[]));
        check(r#"{"requests":{}}"#, Err("`requests` must be an array of requests"));
        for (request, why) in [
            ("1", "is no object"),
            ("{}", "`params` is missing"),
            (r#"{"params":{}}"#, "`params.model` is missing"),
            (r#"{"params":{"model":1}}"#, "`params.model` must be the name of a model"),
            (r#"{"params":{"model":"a","mo\u0064el":"b"}}"#, "`model` is there twice"),
            (r#"{"params":{"model":"a"},"params":{"model":"b"}}"#, "`params` is there twice"),
        ] {
            let body = format!(r#"{{"requests":[{{"params":{{"model":"a"}}}},{request}]}}"#);
            let expected = format!("requests[1]: {why}");
            check(String::leak(body), Err(&expected));
        }
    }

    #[test]
    fn models_get_other_names() {
        let body = r#"{"x":1,"requests":[ {"params":{"model":"p/a","n":1}}, {"params":{"model":"b"}},{"params":{"model":"p/c"}}]}"#;
        let envelope = Envelope::parse(body.into()).unwrap();
        let models = batch_models(&envelope).unwrap();
        let named = |names: &[Option<&str>]| {
            let sent = name_batch_models(&envelope, &models, names).apply(&envelope).concat();
            String::from_utf8(sent).unwrap()
        };
        assert_eq!(named(&[None, None, None]), body);
        let expected = body.replace("p/a", "a\\\"").replace("p/c", "c");
        assert_eq!(named(&[Some("a\""), None, Some("c")]), expected);
    }

    #[test]
    fn models_of_lines_are_found_and_named() {
        let text = "{\"body\":{\"model\":\"p/a\"}}\r\n\n {\"body\":{\"model\":\"b\"}}\n{\"body\":{\"model\":\"p/a\"}}";
        let found = line_models(text.as_bytes()).unwrap();
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 4]);
        let models: Vec<_> = found.iter().map(|(_, model)| *model).collect();
        let renamed = named(text.as_bytes(), &models, &[Some("a"), None, Some("a")]).unwrap();
        assert_eq!(renamed, text.replace("p/a", "a"));
        assert_eq!(named(text.as_bytes(), &models, &[None; 3]), None);
        let good = "{\"body\":{\"model\":\"a\"}}\n";
        for (line, why) in [
            ("{", "line 2: is not acceptable JSON: "),
            (
                "{\"body\":{\"model\":\"a\"}}\r{\"body\":{\"model\":\"b\"}}",
                "line 2: is not acceptable JSON: ",
            ),
            ("{\"body\":{\"model\":\"a\",\"model\":\"b\"}}", "line 2: `model` is there twice"),
            ("{\"body\":{}}", "line 2: `body.model` is missing"),
            ("[]", "line 2: is no object"),
        ] {
            let refused = line_models([good, line].concat().as_bytes()).unwrap_err();
            assert!(refused.message.starts_with(why), "{line}: {}", refused.message);
        }
    }
}
