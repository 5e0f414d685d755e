//! Guesses what was meant by a misspelt name.

/// The candidate that a name was most likely meant to be, if any is near.
fn closest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer ones are not names that someone misspelt, and the distance costs their product.
    if name.len() > 64 {
        return None;
    }
    let name = name.to_lowercase();
    let length = name.chars().count();
    let near = if length < 2 { 0 } else { (length / 3).max(1) };
    let measured = candidates.into_iter().filter(|candidate| candidate.len() <= 64);
    let measured =
        measured.map(|candidate| (strsim::osa_distance(&name, &candidate.to_lowercase()), candidate));
    measured.filter(|(distance, _)| *distance <= near).min().map(|(_, candidate)| candidate)
}

/// `; did you mean ...?` or nothing.
pub(crate) fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    closest(name, candidates).map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

/// Names for a sentence, each in backticks.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(closest(name, ["models", "keys", "providers", "settings"]), expected, "{name}");
        };
        check("modles", Some("models"));
        check("Models", Some("models"));
        check("key", Some("keys"));
        check("provider", Some("providers"));
        check("limits", None);
        check("x", None);
        check("", None);
        check(&"x".repeat(100), None);
    }
}
