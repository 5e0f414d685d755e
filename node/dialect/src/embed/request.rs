//! A request for embeddings.

use super::{Form, Task, members::names};
use crate::{
    Refusal,
    ir::{Attachment, Json, Text},
};

/// What a client asks for. The model is not part of it: who reads a body knows it by other ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The form in which it came: names of members in refusals, and what the answer looks like, follow it.
    pub form: Form,
    /// What is to be embedded, in order.
    pub inputs: Vec<Input>,
    /// The kinds of vectors; none is the vendor's default, floats.
    pub kinds: Vec<Kind>,
    /// What becomes of texts that are too long.
    pub truncation: Option<Truncation>,
    /// The end user, for abuse detection.
    pub user: Option<Text>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
}

/// One thing to be embedded. Most vendors are told the rest once for all; Gemini for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The thing.
    pub content: Content,
    /// What the vector is for.
    pub task: Option<Task>,
    /// The title of a document.
    pub title: Option<Text>,
    /// The length of the vector.
    pub dimensions: Option<u64>,
    /// Members that are not modelled.
    pub attachments: Vec<Attachment>,
}

/// What is to be embedded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(Text),
    /// The numbers of tokens, which only the vendor knows (OpenAI).
    Tokens(Json),
    /// A picture, as the URL of its data (Cohere).
    Picture(Text),
    /// Something else in the words of the client's form: several parts, or what is no text.
    Own(Json),
}

/// A kind of vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Float,
    /// The same as 32-bit floats, the lowest byte first, in base64.
    Base64,
    /// Whole numbers or bits, as the vendor of the client's form packs them.
    Own(Text),
}

/// What becomes of a text that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncation {
    /// It is refused.
    Refuse,
    /// Its start is cut off.
    Start,
    /// Its end is cut off.
    End,
}

impl Input {
    /// Something with nothing else said about it.
    pub const fn new(content: Content) -> Self {
        Self { content, task: None, title: None, dimensions: None, attachments: Vec::new() }
    }
}

impl Request {
    /// A request with nothing in it yet.
    pub const fn new(form: Form) -> Self {
        Self {
            form,
            inputs: Vec::new(),
            kinds: Vec::new(),
            truncation: None,
            user: None,
            attachments: Vec::new(),
        }
    }

    /// The member that holds the inputs, for refusals.
    pub const fn inputs_member(&self) -> &'static str {
        names(self.form).inputs
    }

    /// Requests with at most so many inputs each, in order.
    pub fn split(&self, inputs_max: usize) -> impl Iterator<Item = Self> {
        let part = |inputs: &[Input]| Self { inputs: inputs.to_vec(), ..self.bare() };
        self.inputs.chunks(inputs_max.max(1)).map(part)
    }

    fn bare(&self) -> Self {
        Self {
            form: self.form,
            inputs: Vec::new(),
            kinds: self.kinds.clone(),
            truncation: self.truncation,
            user: self.user.clone(),
            attachments: self.attachments.clone(),
        }
    }

    /// The kinds of vectors that the client is given.
    pub(super) fn wanted(&self) -> &[Kind] {
        if self.kinds.is_empty() { &[Kind::Float] } else { &self.kinds }
    }

    /// The kind, where it is one that can be made of any other vendor's answer.
    pub(super) fn plain_kind(&self) -> Result<&Kind, Refusal> {
        let refuse = |what: String| {
            let name = names(self.form).kinds;
            Err(Refusal::invalid(name, format!("`{name}` {what}")))
        };
        match self.wanted() {
            [kind @ (Kind::Float | Kind::Base64)] => Ok(kind),
            [Kind::Own(word)] => refuse(format!("asks for `{}`, which only its vendor has", word.plain())),
            _ => refuse("asks for several kinds of vectors at once, which only its vendor has".to_owned()),
        }
    }

    /// What the vectors are for, if it is one thing.
    pub(super) fn task(&self) -> Result<Option<&Task>, Refusal> {
        self.shared(|input| input.task.as_ref(), names(self.form).task)
    }

    /// The length of the vectors, if it is one.
    pub(super) fn dimensions(&self) -> Result<Option<u64>, Refusal> {
        self.shared(|input| input.dimensions, names(self.form).dimensions)
    }

    fn shared<'a, T: PartialEq>(
        &'a self,
        pick: impl Fn(&'a Input) -> Option<T>,
        name: &'static str,
    ) -> Result<Option<T>, Refusal> {
        let mut all = self.inputs.iter().map(pick);
        let first = all.next().flatten();
        if all.all(|other| other == first) {
            return Ok(first);
        }
        Err(Refusal::invalid(name, format!("`{name}` differs between the requests, which only Gemini takes")))
    }

    /// The text of an input, where it is one.
    pub(super) fn text<'a>(&self, input: &'a Input) -> Result<&'a Text, Refusal> {
        let what = match &input.content {
            Content::Text(text) => return Ok(text),
            Content::Tokens(_) => "holds numbers of tokens, which only their vendor knows: send texts",
            Content::Picture(_) => "holds pictures, which this provider is not sent",
            Content::Own(_) => "holds more than a text, which only its vendor takes",
        };
        let name = names(self.form).inputs;
        Err(Refusal::invalid(name, format!("`{name}` {what}")))
    }
}
