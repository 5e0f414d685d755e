//! The model where a body repeats it: the vendor refuses a request inside of another that names a model which the path
//! does not.

use super::names::camel;
use crate::{
    Edits, Envelope,
    json::{Kind, Member, Raw, Writer},
};

/// The edits that put the model of the target in the place of the client's, wherever one stands: in the body itself,
/// in each of its `requests`, and in its `generateContentRequest`.
pub fn name_model(envelope: &Envelope, model: &str, edits: &mut Edits) {
    let mut name = Writer::with_capacity(model.len() + 16);
    name.string(&format!("models/{model}"));
    let name = bytes::Bytes::from(name.finish());
    let mut replace = |member: Member<'_>| {
        if member.is("model") {
            edits.replace(envelope, member.value, name.clone());
        }
    };
    for member in envelope.members() {
        let holders: Vec<Raw<'_>> = match &*camel(member.key) {
            "requests" if member.value.kind() == Kind::Array => member.value.elements().collect(),
            "generateContentRequest" => vec![member.value],
            _ => {
                replace(member);
                continue;
            }
        };
        holders.into_iter().flat_map(Raw::members).for_each(&mut replace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found() {
        let check = |body: &'static str, expected: &str| {
            let envelope = Envelope::parse(bytes::Bytes::from_static(body.as_bytes())).unwrap();
            let mut edits = Edits::default();
            name_model(&envelope, "m", &mut edits);
            let pieces = edits.apply(&envelope);
            assert_eq!(String::from_utf8_lossy(&pieces.concat()), expected);
        };
        check(
            r#"{"requests":[{"model":"models/a/b","content":{"model":1}},{"content":{}},{"model":"x"}]}"#,
            r#"{"requests":[{"model":"models/m","content":{"model":1}},{"content":{}},{"model":"models/m"}]}"#,
        );
        check(
            r#"{"generate_content_request":{"model":"models/a/b"}}"#,
            r#"{"generate_content_request":{"model":"models/m"}}"#,
        );
        check(r#"{"model":"models/a/b","contents":[]}"#, r#"{"model":"models/m","contents":[]}"#);
        check(r#"{"contents":[],"requests":"x"}"#, r#"{"contents":[],"requests":"x"}"#);
    }
}
