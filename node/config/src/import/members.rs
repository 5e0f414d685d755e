//! An object that is read member by member: what nobody takes is noted, so that nothing is lost.

use super::report::{Place, Report};
use serde_json::{Map, Value};

/// What is said of members that have no equivalent: their name, and what to do.
pub(super) type Remarks<'a> = &'a [(&'a str, &'a str)];

/// The members of an object that were not taken yet.
pub(super) struct Members {
    pub(super) place: Place,
    left: Map<String, Value>,
}

impl Members {
    /// `None` after a problem, or where nothing is set.
    pub(super) fn new(value: Value, place: Place, report: &mut Report) -> Option<Self> {
        match value {
            Value::Object(left) => Some(Self { place, left }),
            Value::Null => None,
            other => {
                report.problem(&place, format!("must be an object, and is {}", kind(&other)));
                None
            }
        }
    }

    pub(super) fn at(&self, name: &str) -> Place {
        self.place.member(name)
    }

    /// A member, whatever it is; `null` is as if it were not there, in both formats.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.left.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn is_text(&self, name: &str) -> bool {
        self.left.get(name).is_some_and(Value::is_string)
    }

    /// Sets what is not set.
    pub(super) fn fill(&mut self, values: &Map<String, Value>) {
        for (name, value) in values {
            self.left.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }

    pub(super) fn text(&mut self, name: &str, report: &mut Report) -> Option<String> {
        let value = self.take(name)?;
        text(value, &self.at(name), report)
    }

    pub(super) fn flag(&mut self, name: &str, report: &mut Report) -> Option<bool> {
        match self.take(name)? {
            Value::Bool(flag) => Some(flag),
            // Both formats take them so too.
            Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
            other => self.wrong(name, "true or false", &other, report),
        }
    }

    /// A number that is not negative.
    pub(super) fn number(&mut self, name: &str, report: &mut Report) -> Option<f64> {
        let value = self.take(name)?;
        match value.as_f64().filter(|number| *number >= 0.0) {
            Some(number) => Some(number),
            None => self.wrong(name, "a number from 0", &value, report),
        }
    }

    /// A whole number that is not negative, no larger than `most`; a larger one is noted.
    pub(super) fn count(&mut self, name: &str, most: u32, report: &mut Report) -> Option<u32> {
        let value = self.take(name)?;
        let Some(count) = value.as_u64() else {
            return self.wrong(name, "a whole number from 0", &value, report);
        };
        let held = u32::try_from(count).unwrap_or(u32::MAX).min(most);
        if u64::from(held) != count {
            report.note(&self.at(name), format!("is more than the most there is here; {most} is set"));
        }
        Some(held)
    }

    /// A whole number that is not negative.
    pub(super) fn whole(&mut self, name: &str, report: &mut Report) -> Option<u64> {
        let value = self.take(name)?;
        // Both formats are written by programs that have floating numbers only.
        let whole = value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0 && *number < 1e18);
        match value.as_u64().or(whole.map(|number| number as u64)) {
            Some(whole) => Some(whole),
            None => self.wrong(name, "a whole number from 0", &value, report),
        }
    }

    pub(super) fn object(&mut self, name: &str, report: &mut Report) -> Option<Self> {
        let value = self.take(name)?;
        Self::new(value, self.at(name), report)
    }

    /// The items of a list, each with its place; nothing if it is not there.
    pub(super) fn list(&mut self, name: &str, report: &mut Report) -> Option<Vec<(Place, Value)>> {
        let place = self.at(name);
        match self.take(name)? {
            Value::Array(items) => {
                Some(items.into_iter().enumerate().map(|(i, item)| (place.item(i), item)).collect())
            }
            other => self.wrong(name, "a list", &other, report),
        }
    }

    pub(super) fn texts(&mut self, name: &str, report: &mut Report) -> Option<Vec<String>> {
        let items = self.list(name, report)?;
        Some(items.into_iter().filter_map(|(place, item)| text(item, &place, report)).collect())
    }

    /// All that is left, each with its place.
    pub(super) fn entries(self) -> impl Iterator<Item = (String, Place, Value)> {
        let place = self.place;
        self.left.into_iter().map(move |(name, value)| {
            let at = place.member(&name);
            (name, at, value)
        })
    }

    /// Notes all that is left.
    pub(super) fn rest(self, remarks: Remarks<'_>, report: &mut Report) {
        for (name, place, value) in self.entries() {
            if value.is_null() {
                continue;
            }
            let remark = remarks.iter().find(|(known, _)| *known == name);
            let message = remark.map_or(
                "is not known here and not carried over; see whether it is still needed",
                |(_, message)| message,
            );
            report.note(&place, message);
        }
    }

    fn wrong<T>(&self, name: &str, expected: &str, value: &Value, report: &mut Report) -> Option<T> {
        report.problem(&self.at(name), format!("must be {expected}, and is {}", kind(value)));
        None
    }
}

/// A text; numbers are taken too, for YAML makes them of names such as `4`.
pub(super) fn text(value: Value, place: &Place, report: &mut Report) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        other => {
            report.problem(place, format!("must be text, and is {}", kind(&other)));
            None
        }
    }
}

/// What a value is, without what it says: it may be a secret.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "another number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
