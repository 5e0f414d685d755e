//! Where in a document something is.

use std::fmt;

/// A place in a document, built while walking down and written only when there is something to say of it.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn member(&'a self, name: &'a str) -> Self {
        Self::Member(self, name)
    }

    pub(crate) fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }
}

/// One step of a path that outlives the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Item(usize),
}

impl Path<'_> {
    /// The steps from the root down.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let (parent, step) = match *self {
            Self::Root => return Vec::new(),
            Self::Member(parent, name) => (parent, Step::Member(name.to_owned())),
            Self::Item(parent, index) => (parent, Step::Item(index)),
        };
        let mut steps = parent.steps();
        steps.push(step);
        steps
    }
}

impl fmt::Display for Path<'_> {
    /// `providers.openai.keys[0].name`; names with other characters as `models["gpt-4.1"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("document"),
            Self::Member(parent, name) => {
                let inner = !matches!(parent, Self::Root);
                if inner {
                    parent.fmt(f)?;
                }
                let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
                if name.is_empty() || !name.bytes().all(plain) {
                    write!(f, "[\"{}\"]", name.escape_debug())
                } else {
                    write!(f, "{}{name}", if inner { "." } else { "" })
                }
            }
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_need_it_are_quoted() {
        let root = Path::Root;
        let models = root.member("models");
        let group = models.member("gpt-4.1 \"new\"");
        let targets = group.member("targets");
        assert_eq!(
            targets.item(1).member("model").to_string(),
            r#"models["gpt-4.1 \"new\""].targets[1].model"#
        );
        assert_eq!(root.to_string(), "document");
        assert_eq!(root.member("a b").member("x").to_string(), "[\"a b\"].x");
    }
}
