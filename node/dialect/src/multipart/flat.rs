//! A JSON value as fields of a form, as SDKs write them: `name`, `name[]` for each element of an array, `name[key]` for
//! each member of an object.

use crate::json::Raw;

/// The fields that a value becomes; none for null.
pub(super) fn flatten(name: &str, value: Raw<'_>, out: &mut Vec<(String, String)>) {
    match value.bytes().first() {
        Some(b'{') => {
            for member in value.members() {
                let key = crate::json::unescape(member.key);
                flatten(&format!("{name}[{key}]"), member.value, out);
            }
        }
        Some(b'[') => value.elements().for_each(|element| flatten(&format!("{name}[]"), element, out)),
        Some(b'n') | None => {}
        _ => {
            let text = value.string().map(|text| text.into_owned());
            let plain = || String::from_utf8_lossy(value.bytes()).into_owned();
            out.push((name.to_owned(), text.unwrap_or_else(plain)));
        }
    }
}
