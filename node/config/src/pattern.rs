//! Patterns with `*` for any run of characters.

/// Whether the pattern matches the whole text. Linear for a pattern with one star; at worst the product of both
/// lengths, never more: only the last star is tried again.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where to go on after a mismatch: behind the last star, and the place in the text that it reaches.
    let mut again: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            again = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p) == text.get(t) {
            p += 1;
            t += 1;
        } else if let Some((star, reached)) = again {
            again = Some((star, reached + 1));
            p = star;
            t = reached + 1;
        } else {
            return false;
        }
    }
    pattern.iter().skip(p).all(|b| *b == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_run() {
        let check = |pattern: &str, text: &str, expected: bool| {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        };
        check("openai/gpt-4o", "openai/gpt-4o", true);
        check("openai/gpt-4o", "openai/gpt-4o-mini", false);
        check("openai/*", "openai/gpt-4o", true);
        check("openai/*", "openai/", true);
        check("openai/*", "openrouter/openai/x", false);
        check("*/gpt-*", "openai/gpt-4o", true);
        check("*/gpt-*", "openrouter/openai/gpt-4o", true);
        check("*-mini", "openai/gpt-4o-mini", true);
        check("*-mini", "openai/gpt-4o-mini-2", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-c-b", false);
        check("*", "", true);
        check("**", "x", true);
        check("", "", true);
        check("", "x", false);
        check("*é*", "café/x", true);
        let text = "a".repeat(2_000);
        check(&("a*".repeat(200) + "b"), &text, false);
    }
}
