//! The keywords of JSON Schema that Gemini takes, and what becomes of the others. From the reference of
//! `responseJsonSchema` and of `Schema`; one that is not known here is left out and named, so that it can never make
//! the vendor refuse all tools.

/// Where a schema stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gemini) enum Place {
    /// Of a tool: must be an object.
    Parameters,
    /// Of the answer.
    Output,
}

impl Place {
    /// Begins the paths of what is left out.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Parameters => "tools[].parameters.",
            Self::Output => "response_format.json_schema.schema.",
        }
    }
}

/// What a keyword holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    /// A type or several.
    Type,
    /// A string.
    Text,
    /// The form of a string or number.
    Format,
    /// A number.
    Number,
    /// A bound that is itself not allowed.
    Beyond,
    /// Any value.
    Any,
    /// Allowed values.
    Enum,
    /// The one allowed value.
    Const,
    /// A schema for each name.
    Properties,
    /// Names.
    Names,
    /// A schema, or a boolean.
    Schema,
    /// Schemas.
    List,
    /// Whether null is allowed as well (OpenAPI).
    Nullable,
    /// Read with the schema itself: references and what they are combined with.
    Resolved,
    /// Says nothing about values.
    Silent,
    /// Not taken.
    Unknown,
}

impl Keyword {
    /// By its name, and the keyword that it becomes.
    pub(super) fn of(name: &str, place: Place) -> (Self, &'static str) {
        let known = KEYWORDS.iter().find(|(known, ..)| *known == name);
        match known {
            // Gemini 2.5 Flash writes malformed calls where parameters have titles.
            Some((_, _, "title")) if place == Place::Parameters => (Self::Unknown, ""),
            Some((_, keyword, becomes)) => (*keyword, becomes),
            None => (Self::Unknown, ""),
        }
    }
}

const KEYWORDS: [(&str, Keyword, &str); 37] = [
    ("type", Keyword::Type, "type"),
    ("nullable", Keyword::Nullable, "type"),
    ("title", Keyword::Text, "title"),
    ("description", Keyword::Text, "description"),
    ("pattern", Keyword::Text, "pattern"),
    ("format", Keyword::Format, "format"),
    ("minimum", Keyword::Number, "minimum"),
    ("maximum", Keyword::Number, "maximum"),
    ("minItems", Keyword::Number, "minItems"),
    ("maxItems", Keyword::Number, "maxItems"),
    ("minLength", Keyword::Number, "minLength"),
    ("maxLength", Keyword::Number, "maxLength"),
    ("minProperties", Keyword::Number, "minProperties"),
    ("maxProperties", Keyword::Number, "maxProperties"),
    ("exclusiveMinimum", Keyword::Beyond, "minimum"),
    ("exclusiveMaximum", Keyword::Beyond, "maximum"),
    ("default", Keyword::Any, "default"),
    ("enum", Keyword::Enum, "enum"),
    ("const", Keyword::Const, "enum"),
    ("properties", Keyword::Properties, "properties"),
    ("required", Keyword::Names, "required"),
    ("propertyOrdering", Keyword::Names, "propertyOrdering"),
    ("items", Keyword::Schema, "items"),
    ("additionalProperties", Keyword::Schema, "additionalProperties"),
    ("prefixItems", Keyword::List, "prefixItems"),
    ("anyOf", Keyword::List, "anyOf"),
    ("oneOf", Keyword::List, "anyOf"),
    ("$ref", Keyword::Resolved, ""),
    ("allOf", Keyword::Resolved, ""),
    ("$defs", Keyword::Silent, ""),
    ("definitions", Keyword::Silent, ""),
    ("$schema", Keyword::Silent, ""),
    ("$id", Keyword::Silent, ""),
    ("id", Keyword::Silent, ""),
    ("$anchor", Keyword::Silent, ""),
    ("$comment", Keyword::Silent, ""),
    ("$vocabulary", Keyword::Silent, ""),
];

/// The forms that are taken as such; others are told in the description.
pub(super) const FORMATS: [&str; 8] =
    ["date-time", "date", "time", "enum", "int32", "int64", "float", "double"];
