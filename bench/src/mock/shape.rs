//! The shapes of JSON that vendors define with a schema language of their own, as tables; and what does not fit them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

/// What a value may be.
pub(crate) enum Shape {
    /// A string of so many characters.
    Text(usize, usize),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A whole number from the first to the last.
    Whole(i64, i64),
    /// A number from the first to the last.
    Number(f64, f64),
    Truth,
    /// Bytes, in base64.
    Bytes,
    /// An object of any kind.
    Object,
    Any,
    List(&'static Shape),
    /// An object with any names and values of one shape.
    Map(&'static Shape),
    Members(&'static Members),
}

/// Any string.
pub(crate) const TEXT: Shape = Shape::Text(0, usize::MAX);
/// A string that is not empty.
pub(crate) const NAME: Shape = Shape::Text(1, usize::MAX);

/// An object with these members and no others.
pub(crate) struct Members {
    /// What the vendor calls it.
    pub(crate) name: &'static str,
    pub(crate) required: &'static [&'static str],
    pub(crate) known: &'static [(&'static str, Shape)],
    /// Exactly one of the members is there.
    pub(crate) one_of: bool,
}

/// How a vendor reads JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As it stands.
    Plain,
    /// As protocol buffers: names in camel or snake case, numbers as strings, words in any case, base64 in any form.
    Proto,
}

/// A step on the way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Member(String),
    Element(usize),
}

/// What does not fit, and where.
#[derive(Clone, Debug)]
pub(crate) struct Misfit {
    /// The way to it, from the inside out.
    steps: Vec<Step>,
    pub(crate) what: What,
}

/// What does not fit.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Unknown(String),
    Missing(&'static str),
    /// The expected type and the value that was found.
    Wrong(&'static str, String),
    /// The limit that is passed, in words.
    Beyond(String),
    /// Not exactly one member: the name of the object, the members that it may have, those that it has.
    NotOne(&'static str, Vec<&'static str>, usize),
}

impl Misfit {
    fn new(what: What) -> Self {
        Self { steps: Vec::new(), what }
    }

    fn at(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// The way to it, from the outside in.
    pub(crate) fn path(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().rev()
    }
}

/// The value as the vendor understands it: without nulls, its names as the vendor writes them.
pub(crate) fn fit(value: &Value, shape: &Shape, reading: Reading) -> Result<Value, Misfit> {
    let wrong = |expected| Misfit::new(What::Wrong(expected, value.to_string()));
    match shape {
        Shape::Text(least, most) => {
            let text = value.as_str().ok_or_else(|| wrong("STRING"))?;
            let length = text.chars().count();
            if !(*least..=*most).contains(&length) {
                let limit = if length < *least {
                    format!("Member must have length greater than or equal to {least}")
                } else {
                    format!("Member must have length less than or equal to {most}")
                };
                return Err(Misfit::new(What::Beyond(limit)));
            }
        }
        Shape::Word(words) => {
            let word = value.as_str().ok_or_else(|| wrong("ENUM"))?;
            let same = |known: &&&str| match reading {
                Reading::Plain => **known == word,
                Reading::Proto => known.eq_ignore_ascii_case(word),
            };
            let known = words.iter().find(same);
            return known.map(|known| Value::from(*known)).ok_or_else(|| wrong("ENUM"));
        }
        Shape::Whole(least, most) => {
            let number = whole(value, reading).ok_or_else(|| wrong("INTEGER"))?;
            between(number as f64, *least as f64, *most as f64)?;
            return Ok(Value::from(number));
        }
        Shape::Number(least, most) => {
            between(value.as_f64().ok_or_else(|| wrong("FLOAT"))?, *least, *most)?;
        }
        Shape::Truth if !value.is_boolean() => return Err(wrong("BOOL")),
        Shape::Bytes => {
            let bytes = value.as_str().and_then(|text| bytes(text, reading)).ok_or_else(|| wrong("BYTES"))?;
            return Ok(Value::from(STANDARD.encode(bytes)));
        }
        Shape::Object if !value.is_object() => return Err(wrong("OBJECT")),
        Shape::Truth | Shape::Object | Shape::Any => {}
        Shape::List(inner) => return list(value, inner, reading),
        Shape::Map(inner) => {
            let members = value.as_object().ok_or_else(|| wrong("OBJECT"))?;
            let fitted = members.iter().map(|(name, value)| {
                let value =
                    fit(value, inner, reading).map_err(|misfit| misfit.at(Step::Member(name.clone())))?;
                Ok((name.clone(), value))
            });
            return fitted.collect::<Result<Map<_, _>, _>>().map(Value::Object);
        }
        Shape::Members(members) => return object(value, members, reading),
    }
    Ok(value.clone())
}

fn between(number: f64, least: f64, most: f64) -> Result<(), Misfit> {
    let limit = if number < least {
        format!("Member must have value greater than or equal to {least}")
    } else if number > most {
        format!("Member must have value less than or equal to {most}")
    } else {
        return Ok(());
    };
    Err(Misfit::new(What::Beyond(limit)))
}

fn whole(value: &Value, reading: Reading) -> Option<i64> {
    match value {
        Value::String(text) if reading == Reading::Proto => text.parse().ok(),
        Value::Number(number) => {
            let integral = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
            number.as_i64().or(integral.map(|number| number as i64))
        }
        _ => None,
    }
}

/// Decodes bytes as a vendor does.
pub(crate) fn bytes(text: &str, reading: Reading) -> Option<Vec<u8>> {
    match reading {
        Reading::Plain => STANDARD.decode(text).ok(),
        Reading::Proto => {
            let bare = text.trim_end_matches('=');
            STANDARD_NO_PAD.decode(bare).or_else(|_| URL_SAFE_NO_PAD.decode(bare)).ok()
        }
    }
}

fn list(value: &Value, inner: &Shape, reading: Reading) -> Result<Value, Misfit> {
    let elements = match value {
        Value::Array(elements) => elements.as_slice(),
        // A lone message is a list of one.
        Value::Object(_) if reading == Reading::Proto => std::slice::from_ref(value),
        _ => return Err(Misfit::new(What::Wrong("LIST", value.to_string()))),
    };
    let fitted = elements.iter().enumerate().map(|(index, element)| {
        fit(element, inner, reading).map_err(|misfit| misfit.at(Step::Element(index)))
    });
    fitted.collect::<Result<Vec<_>, _>>().map(Value::Array)
}

fn object(value: &Value, members: &Members, reading: Reading) -> Result<Value, Misfit> {
    let found = value.as_object().ok_or_else(|| Misfit::new(What::Wrong("OBJECT", value.to_string())))?;
    let mut out = Map::new();
    for (name, value) in found {
        let name = if reading == Reading::Proto { camel(name) } else { name.clone() };
        let known = members.known.iter().find(|(known, _)| *known == name);
        let (_, shape) = known.ok_or_else(|| Misfit::new(What::Unknown(name.clone())))?;
        if !value.is_null() {
            let value = fit(value, shape, reading).map_err(|misfit| misfit.at(Step::Member(name.clone())))?;
            out.insert(name, value);
        }
    }
    if let Some(name) = members.required.iter().find(|name| !out.contains_key(**name)) {
        return Err(Misfit::new(What::Missing(name)));
    }
    if members.one_of && out.len() != 1 {
        let names = members.known.iter().map(|(name, _)| *name).collect();
        return Err(Misfit::new(What::NotOne(members.name, names, out.len())));
    }
    Ok(Value::Object(out))
}

/// `max_output_tokens` as `maxOutputTokens`.
fn camel(name: &str) -> String {
    let (mut out, mut upper) = (String::with_capacity(name.len()), false);
    for letter in name.chars() {
        if letter == '_' && !out.is_empty() {
            upper = true;
        } else if std::mem::take(&mut upper) {
            out.push(letter.to_ascii_uppercase());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    static INNER: Members = Members {
        name: "Inner",
        required: &[],
        one_of: true,
        known: &[("text", NAME), ("data", Shape::Bytes)],
    };
    static OUTER: Members = Members {
        name: "Outer",
        required: &["innerParts"],
        one_of: false,
        known: &[
            ("innerParts", Shape::List(&Shape::Members(&INNER))),
            ("kind", Shape::Word(&["A", "B"])),
            ("count", Shape::Whole(1, 9)),
        ],
    };

    #[test]
    fn values_are_read_as_the_vendor_does() {
        let check = |value: Value, reading, expected: Result<Value, &str>| {
            let found = fit(&value, &Shape::Members(&OUTER), reading);
            let found =
                found.map_err(|misfit| format!("{:?} {:?}", misfit.path().collect::<Vec<_>>(), misfit.what));
            match expected {
                Ok(expected) => assert_eq!(found, Ok(expected), "{value}"),
                Err(part) => assert!(found.clone().unwrap_err().contains(part), "{value}: {found:?}"),
            }
        };
        let loose = json!({"inner_parts": {"data": "_-8"}, "kind": "a", "count": "3"});
        let strict = json!({"innerParts": [{"data": "/+8="}], "kind": "A", "count": 3});
        check(loose, Reading::Proto, Ok(strict.clone()));
        check(json!({"inner_parts": []}), Reading::Plain, Err("Unknown(\"inner_parts\")"));
        check(strict.clone(), Reading::Plain, Ok(strict));
        check(json!({"innerParts": [{}]}), Reading::Plain, Err("Element(0)] NotOne"));
        check(json!({"innerParts": [{"text": ""}]}), Reading::Plain, Err("Member(\"text\")] Beyond"));
        check(json!({"innerParts": null}), Reading::Plain, Err("Missing(\"innerParts\")"));
        check(json!({"innerParts": [], "count": 10}), Reading::Plain, Err("less than or equal to 9"));
        check(json!({"innerParts": [{"data": "*"}]}), Reading::Proto, Err("Wrong(\"BYTES\""));
    }
}
