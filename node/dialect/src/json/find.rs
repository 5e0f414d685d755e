//! Members that hold a string, wherever they stand in a text, found without reading the rest.

use memchr::memmem::Finder;

/// Where the strings of members of a name begin, behind their quotes. The needle is the name with its quotes: inside of a
/// string these would be escaped, so nothing else looks like it.
pub(crate) fn string_members(text: &[u8], name: &Finder<'static>) -> impl Iterator<Item = usize> {
    let skip = |from: usize| {
        let rest = text.get(from..)?;
        rest.iter().position(|byte| !byte.is_ascii_whitespace()).map(|spaces| from + spaces)
    };
    name.find_iter(text).filter_map(move |at| {
        let colon = skip(at + name.needle().len()).filter(|at| text.get(*at) == Some(&b':'))?;
        let quote = skip(colon + 1).filter(|at| text.get(*at) == Some(&b'"'))?;
        Some(quote + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_of_that_member_are_found() {
        let text =
            br#"{"a":1,"id":"x","b":{"id" : "y"},"c":"\"id\":\"no\"","d":["id","z"],"id":2,"ids":"n"}"#;
        let found: Vec<_> = string_members(text, &Finder::new("\"id\"")).map(|at| text[at]).collect();
        assert_eq!(found, [b'x', b'y']);
        assert_eq!(string_members(b"\"id\":", &Finder::new("\"id\"")).count(), 0);
    }
}
