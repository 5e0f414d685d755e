//! The body of a translated request: members by name, under the quirks and parameters of the target.

use crate::{
    Dialect, Encoded, Refusal, Target, dropped, foreign,
    ir::{Attachment, Request, Text, ToolChoice, ToolKind},
    json::Writer,
};

/// A request that is being written: the top-level object is open until `finish`.
pub(crate) struct Body<'a> {
    pub(crate) out: Writer,
    pub(crate) target: &'a Target<'a>,
    pub(crate) dropped: Vec<String>,
    /// The names of the members that there are.
    names: Vec<String>,
}

impl<'a> Body<'a> {
    /// Opens the object of a dialect that has the model in the path.
    pub(crate) fn without_model(target: &'a Target<'a>, bytes: usize) -> Self {
        let mut body =
            Self { out: Writer::with_capacity(bytes), target, dropped: Vec::new(), names: Vec::new() };
        body.out.begin_object();
        body
    }

    /// Opens the object and writes the model, where it belongs into a body.
    pub(crate) fn new(target: &'a Target<'a>, bytes: usize) -> Self {
        let mut body = Self::without_model(target, bytes);
        if !target.quirks.model_in_path && body.member("model") {
            body.out.string(target.model);
        }
        body
    }

    /// Writes the name of a top-level member, in the provider's word. False where no value may follow: the provider
    /// refuses the member (it is named), a parameter of the target takes its place, or there is one of that name: a
    /// client may have sent one by the word that the provider has for another.
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
        if self.names.iter().any(|known| known == name) {
            self.drop(name);
            return false;
        }
        self.names.push(name.to_owned());
        self.out.key(name);
        true
    }

    /// Names a path that cannot be expressed.
    pub(crate) fn drop(&mut self, path: impl AsRef<str>) {
        dropped::note(&mut self.dropped, path);
    }

    /// As many of the texts that end an answer as the vendor takes; that there are more is named.
    pub(crate) fn stops<'t>(&mut self, texts: impl Iterator<Item = &'t Text>, most: usize) -> Vec<&'t Text> {
        let mut texts: Vec<_> = texts.collect();
        if texts.len() > most {
            texts.truncate(most);
            self.drop("stop");
        }
        texts
    }

    /// Writes a top-level attachment of this dialect, or one that means the same in it; names the others.
    pub(crate) fn attachment(&mut self, attachment: &Attachment, dialect: Dialect) {
        match foreign::name_in(attachment, dialect).filter(|name| !name.contains('.')) {
            Some(name) if self.member(&name) => self.out.json(&attachment.value),
            Some(_) => {}
            None => self.drop(attachment.name.plain()),
        }
    }

    /// Writes which tool to use, and whether several at once, as both dialects of OpenAI do; `named` writes how one is named.
    pub(crate) fn openai_choice(&mut self, request: &Request, own: Dialect, named: fn(&mut Writer, &Text)) {
        match &request.tool_choice {
            None => {}
            Some(ToolChoice::Opaque(dialect, _)) if *dialect != own => self.drop("tool_choice"),
            Some(choice) if self.member("tool_choice") => match choice {
                ToolChoice::Auto => self.out.string("auto"),
                ToolChoice::None => self.out.string("none"),
                ToolChoice::Required => self.out.string("required"),
                ToolChoice::Named(name) => {
                    self.out.begin_object();
                    self.out.key("type");
                    self.out.string("function");
                    named(&mut self.out, name);
                    self.out.end_object();
                }
                ToolChoice::Opaque(_, json) => self.out.json(json),
            },
            Some(_) => {}
        }
        if let Some(parallel) = request.parallel_tools
            && self.member("parallel_tool_calls")
        {
            self.out.bool(parallel);
        }
    }

    /// Writes a tool that is not a function as it came, where it is of this dialect; refuses it elsewhere.
    pub(crate) fn own_tool(&mut self, kind: &ToolKind, index: usize, own: Dialect) -> Result<(), Refusal> {
        let ToolKind::Opaque { dialect, json } = kind else { return Ok(()) };
        if *dialect != own {
            let what = format!("a tool of this type exists only in {}", dialect.name());
            return Err(Refusal::invalid(format!("tools[{index}]"), what));
        }
        self.out.json(json);
        Ok(())
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
