//! Reading requests: where a value stands, what it must be, and the refusal that names it where it is not.

use crate::{
    Dialect, Refusal,
    ir::{Attachment, Json, OutputFormat, Text},
    json::{Kind, Member, Raw, unescape},
};
use bytes::Bytes;
use std::fmt;

/// Where a value stands in the body. Costs nothing until a refusal prints it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The body itself.
    Root,
    /// A member of an object.
    Member(&'a Path<'a>, &'a str),
    /// An element of an array.
    Element(&'a Path<'a>, usize),
}

/// The body itself.
pub(crate) static ROOT: Path<'static> = Path::Root;

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Element(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

impl<'a> Path<'a> {
    /// A member of the object here.
    pub(crate) fn member(&'a self, name: &'a str) -> Path<'a> {
        Path::Member(self, name)
    }

    /// An element of the array here.
    pub(crate) fn element(&'a self, index: usize) -> Path<'a> {
        Path::Element(self, index)
    }

    /// A refusal that names this place.
    pub(crate) fn refuse(&self, what: impl fmt::Display) -> Refusal {
        let path = self.to_string();
        let message = format!("`{path}` {what}");
        Refusal::invalid(path, message)
    }

    /// A string to keep.
    pub(crate) fn text(&self, value: Raw<'_>, owner: &Bytes) -> Result<Text, Refusal> {
        value.text(owner).ok_or_else(|| self.refuse("must be a string"))
    }

    /// The form of an answer as both dialects of OpenAI have it: a schema, its name, and no more than is known.
    pub(crate) fn schema_form(
        &self,
        members: Vec<Member<'_>>,
        owner: &Bytes,
    ) -> Result<OutputFormat, Refusal> {
        let (mut name, mut description, mut schema, mut strict) = (None, None, None, None);
        for member in members {
            let key = unescape(member.key);
            let at = self.member(&key);
            match &*key {
                "name" => name = Some(at.text(member.value, owner)?),
                "description" => description = Some(at.text(member.value, owner)?),
                "schema" => schema = Some(at.object_json(member.value, owner)?),
                "strict" => strict = Some(at.boolean(member.value)?),
                _ => return Err(at.refuse("is not known here")),
            }
        }
        let schema = self.required(schema, "schema")?;
        Ok(OutputFormat::JsonSchema { name, description, schema, strict })
    }

    /// A member that must be there.
    pub(crate) fn required<T>(&self, value: Option<T>, name: &str) -> Result<T, Refusal> {
        value.ok_or_else(|| Path::Member(self, name).refuse("is missing"))
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self, value: Raw<'_>) -> Result<bool, Refusal> {
        value.bool().ok_or_else(|| self.refuse("must be true or false"))
    }

    /// A whole number that is not negative.
    pub(crate) fn whole(&self, value: Raw<'_>) -> Result<u64, Refusal> {
        value.u64().ok_or_else(|| self.refuse("must be a whole number that is not negative"))
    }

    /// A number as it was written.
    pub(crate) fn number(&self, value: Raw<'_>, owner: &Bytes) -> Result<Json, Refusal> {
        match value.kind() {
            Kind::Number => Ok(value.json(owner)),
            _ => Err(self.refuse("must be a number")),
        }
    }

    /// An object of any content, as it was written.
    pub(crate) fn object_json(&self, value: Raw<'_>, owner: &Bytes) -> Result<Json, Refusal> {
        match value.kind() {
            Kind::Object => Ok(value.json(owner)),
            _ => Err(self.refuse("must be an object")),
        }
    }

    /// The members of an object, without those that are `null`: `null` says what absence says.
    pub(crate) fn object<'v>(&self, value: Raw<'v>) -> Result<Vec<Member<'v>>, Refusal> {
        match value.unique_members() {
            Some(Ok(mut members)) => {
                members.retain(|member| !member.value.is_null());
                Ok(members)
            }
            Some(Err(name)) => Err(self.refuse(format_args!("has the member `{name}` twice"))),
            None => Err(self.refuse("must be an object")),
        }
    }

    /// The elements of an array.
    pub(crate) fn array<'v>(&self, value: Raw<'v>) -> Result<impl Iterator<Item = Raw<'v>>, Refusal> {
        match value.kind() {
            Kind::Array => Ok(value.elements()),
            _ => Err(self.refuse("must be an array")),
        }
    }

    /// The `type` of an object, and the object's other members.
    pub(crate) fn typed<'v>(
        &self,
        value: Raw<'v>,
    ) -> Result<(std::borrow::Cow<'v, str>, Vec<Member<'v>>), Refusal> {
        let mut members = self.object(value)?;
        let at = members.iter().position(|member| member.is("type"));
        let at = self.required(at, "type")?;
        let kind = members.remove(at).value.string();
        Ok((kind.ok_or_else(|| self.member("type").refuse("must be a string"))?, members))
    }
}

/// The members of an object that have not been read yet.
pub(crate) struct Fields<'v, 'p> {
    members: Vec<Member<'v>>,
    pub(crate) path: &'p Path<'p>,
    pub(crate) owner: &'p Bytes,
}

impl<'v, 'p> Fields<'v, 'p> {
    /// All members of an object, without those that are `null`.
    pub(crate) fn of(value: Raw<'v>, path: &'p Path<'p>, owner: &'p Bytes) -> Result<Self, Refusal> {
        Ok(Self { members: path.object(value)?, path, owner })
    }

    /// Takes a member out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Raw<'v>> {
        let at = self.members.iter().position(|member| member.is(name))?;
        Some(self.members.remove(at).value)
    }

    /// Takes a string out, if it is there.
    pub(crate) fn optional_text(&mut self, name: &str) -> Result<Option<Text>, Refusal> {
        let value = self.take(name);
        value.map(|value| self.path.member(name).text(value, self.owner)).transpose()
    }

    /// Takes a string out.
    pub(crate) fn text(&mut self, name: &str) -> Result<Text, Refusal> {
        let text = self.optional_text(name)?;
        self.path.required(text, name)
    }

    /// Keeps what is left.
    pub(crate) fn rest(self, dialect: Dialect) -> Vec<Attachment> {
        let mut list = Vec::new();
        for member in &self.members {
            attach(&mut list, dialect, member, self.owner);
        }
        list
    }
}

/// Keeps a member that is not modelled.
pub(crate) fn attach(list: &mut Vec<Attachment>, dialect: Dialect, member: &Member<'_>, owner: &Bytes) {
    let name = Text::from_escaped(Bytes::copy_from_slice(member.key));
    list.push(Attachment { dialect, name, value: member.value.json(owner) });
}

/// Keeps a member of a modelled object inside (`image_url.format`), only to be named.
pub(crate) fn attach_inner(
    list: &mut Vec<Attachment>,
    dialect: Dialect,
    parent: &str,
    member: &Member<'_>,
    owner: &Bytes,
) {
    let name = [parent.as_bytes(), b".", member.key].concat();
    list.push(Attachment { dialect, name: Text::from_escaped(name.into()), value: member.value.json(owner) });
}
