//! The body of a translated request: members by name, under the quirks and parameters of the target.

use crate::{Dialect, Encoded, Target, dropped, ir::Attachment, json::Writer};

/// A request that is being written: the top-level object is open until `finish`.
pub(crate) struct Body<'a> {
    pub(crate) out: Writer,
    pub(crate) target: &'a Target<'a>,
    pub(crate) dropped: Vec<String>,
}

impl<'a> Body<'a> {
    /// Opens the object and writes the model, where it belongs into a body.
    pub(crate) fn new(target: &'a Target<'a>, bytes: usize) -> Self {
        let mut body = Self { out: Writer::with_capacity(bytes), target, dropped: Vec::new() };
        body.out.begin_object();
        if !target.quirks.model_in_path && body.member("model") {
            body.out.string(target.model);
        }
        body
    }

    /// Writes the name of a top-level member, in the provider's word. False where no value may follow: the provider
    /// refuses the member (it is named), or a parameter of the target takes its place.
    pub(crate) fn member(&mut self, name: &str) -> bool {
        let quirks = self.target.quirks;
        let name = quirks.rename.get(name).map_or(name, String::as_str);
        if self.target.params.iter().any(|(param, _)| param == name) {
            return false;
        }
        if quirks.drop.iter().any(|refused| refused == name) {
            self.drop(name);
            return false;
        }
        self.out.key(name);
        true
    }

    /// Names a path that cannot be expressed.
    pub(crate) fn drop(&mut self, path: impl AsRef<str>) {
        dropped::note(&mut self.dropped, path);
    }

    /// Writes a top-level attachment of this dialect; names those of others.
    pub(crate) fn attachment(&mut self, attachment: &Attachment, dialect: Dialect) {
        let name = attachment.name.plain();
        if attachment.dialect != dialect || name.contains('.') {
            self.drop(name);
        } else if self.member(&name) {
            self.out.json(&attachment.value);
        }
    }

    /// Writes the target's parameters and closes the object.
    pub(crate) fn finish(mut self) -> Encoded {
        for (name, value) in self.target.params {
            self.out.key(name);
            self.out.json(value);
        }
        self.out.end_object();
        Encoded { body: self.out.finish(), dropped: self.dropped }
    }
}
