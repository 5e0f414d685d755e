//! Names of documents: the vendor demands one, takes few characters, and refuses one that comes twice.

use crate::ir::Text;
use std::collections::HashSet;

/// Longest name, in characters.
const CHARS_MAX: usize = 200;

/// The names that a request has used.
#[derive(Debug, Default)]
pub(super) struct DocumentNames {
    used: HashSet<String>,
    unnamed: usize,
}

impl DocumentNames {
    /// A name from a title: what is not accepted becomes a hyphen. Without a title it says nothing.
    pub(super) fn next(&mut self, title: Option<&Text>) -> String {
        let accepted = title.map(|title| accepted(&title.plain()));
        let name = accepted.filter(|name| name.chars().any(char::is_alphanumeric)).unwrap_or_else(|| {
            self.unnamed += 1;
            format!("document-{}", self.unnamed)
        });
        let mut unique = name.clone();
        let mut count = 1_usize;
        while !self.used.insert(unique.clone()) {
            count += 1;
            let number = format!(" ({count})");
            unique = name.chars().take(CHARS_MAX - number.len()).collect::<String>() + &number;
        }
        unique
    }
}

/// Letters, digits, hyphens, parentheses, square brackets, and single spaces between them.
fn accepted(title: &str) -> String {
    let mut name = String::with_capacity(title.len().min(CHARS_MAX));
    for c in title.trim().chars().take(CHARS_MAX) {
        match c {
            c if c.is_whitespace() => {
                if !name.ends_with(' ') {
                    name.push(' ');
                }
            }
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '(' | ')' | '[' | ']' => name.push(c),
            _ => name.push('-'),
        }
    }
    name.truncate(name.trim_end().len());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_accepted_and_differ() {
        let mut names = DocumentNames::default();
        let mut next = |title: &str| names.next(Some(&Text::new(title)));
        assert_eq!(next("Report [final] (2)"), "Report [final] (2)");
        assert_eq!(next("q3_report.pdf"), "q3-report-pdf");
        assert_eq!(next("q3.report.pdf"), "q3-report-pdf (2)");
        assert_eq!(next(" a \t\n b "), "a b");
        assert_eq!(next("\u{65e5}\u{672c}"), "document-1");
        assert_eq!(next(&"x".repeat(300)).len(), CHARS_MAX);
        assert!(next(&"x".repeat(300)).ends_with("x (2)"));
        assert_eq!(names.next(None), "document-2");
    }
}
