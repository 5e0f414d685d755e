//! How the mock behaves for one request: named settings from a header, an API key, a model name or a script.

use std::collections::BTreeMap;

use serde_json::Value;

/// Every setting with what it does. A number follows `=`; without one it is 1. `cause` and `name` take a word.
pub const SETTINGS: &[(&str, &str)] = &[
    ("delay_ms", "wait before the response head"),
    ("first_ms", "wait before the first event or the body"),
    ("gap_ms", "wait between events"),
    ("burst", "events per write"),
    ("tokens", "number of content events"),
    ("bytes", "size of the answer's content"),
    ("cached", "input tokens reported as read from the cache"),
    ("status", "answer with the vendor's error of this status; inside an error event, the embedded status"),
    ("retry_after", "the retry-after header, in seconds"),
    (
        "cause",
        "context_length, content_policy, model_not_found, quota, overloaded, rate_limit or invalid_key",
    ),
    ("name", "no effect: tells two keys apart"),
    ("no_auth", "accept a request without a key"),
    ("malformed_json", "cut the JSON of the answer, or of the second content event"),
    ("html_error", "a 502 page in HTML, as a proxy in front of the vendor gives"),
    ("early", "answer before the body is read; in a key alone"),
    ("silent", "never answer"),
    ("silent_mid", "after N content events send nothing more, keep the connection open"),
    ("reset_mid", "after N content events reset the connection (half-way through a body that is no stream)"),
    ("cut_mid", "the same with a plain close and without the last chunk"),
    ("close_mid", "after N content events end the body cleanly, without the vendor's end mark"),
    ("error_event", "an error event in a 200 stream before any content"),
    ("error_event_mid", "the same after N content events"),
    ("keepalive", "comments or pings for ever, never content"),
    ("gzip", "compress the body"),
    ("br", "encode the body as Brotli (stored blocks)"),
    ("dribble", "one byte per write"),
    ("crlf", "CRLF line ends"),
    ("cr", "CR line ends"),
    ("nospace", "`data:` without a space"),
    ("comment", "a `: processing` comment before every event"),
    ("no_usage", "leave usage out"),
    ("last_chunk_without_delta", "the finish chunk has no `delta`"),
    ("usage_placeholder", "the usage chunk carries a placeholder choice"),
    ("usage_always", "the usage chunk comes although nobody asked for it"),
    ("reasoning", "OpenAI-compatible `reasoning_content` before the content"),
    ("refusal", "the model refuses"),
    ("no_developer", "400 for the developer role, as many compatible providers give"),
    ("string_content", "400 for arrays as content, likewise"),
    ("no_max_completion_tokens", "400 for max_completion_tokens, likewise"),
];

const CAUSES: &[&str] = &[
    "context_length",
    "content_policy",
    "model_not_found",
    "quota",
    "overloaded",
    "rate_limit",
    "invalid_key",
];

/// No setting that multiplies work may go above this.
const NUMBER_MAX: u64 = 100_000_000;

/// The settings of one request. Unknown names are errors, so that a misspelt test fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behaviour(BTreeMap<&'static str, String>);

impl Behaviour {
    /// Reads `name=value` pairs separated by commas or semicolons.
    ///
    /// # Errors
    /// Says which setting is unknown or which value is no number.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut found = Self::default();
        for pair in text.split([',', ';', '+']).map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "1"));
            found.set(name, value)?;
        }
        Ok(found)
    }

    /// Reads a script step: text as for [`Behaviour::parse`], or an object of settings.
    ///
    /// # Errors
    /// As [`Behaviour::parse`].
    pub fn from_json(step: &Value) -> Result<Self, String> {
        if let Some(text) = step.as_str() {
            return Self::parse(text);
        }
        let settings = step.as_object().ok_or("a script step is a string or an object of settings")?;
        let mut found = Self::default();
        for (name, value) in settings {
            match value {
                Value::String(text) => found.set(name, text)?,
                Value::Bool(true) => found.set(name, "1")?,
                other => found.set(name, &other.to_string())?,
            }
        }
        Ok(found)
    }

    /// Settings in an API key such as `mock:status=429;retry_after=2`; other keys set nothing.
    pub(crate) fn from_key(key: &str) -> Result<Self, String> {
        key.strip_prefix("mock:").map_or_else(|| Ok(Self::default()), Self::parse)
    }

    /// Settings in a model name such as `gpt-4o-mini+status=500`.
    pub(crate) fn from_model(model: &str) -> Result<Self, String> {
        model.split_once('+').map_or_else(|| Ok(Self::default()), |(_, settings)| Self::parse(settings))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let Some((known, _)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("trestle-mock: unknown setting `{name}`"));
        };
        let good = match *known {
            "name" => true,
            "cause" => CAUSES.contains(&value),
            _ => value.parse::<u64>().is_ok_and(|number| number <= NUMBER_MAX),
        };
        if !good {
            return Err(format!("trestle-mock: setting `{name}` cannot be `{value}`"));
        }
        self.0.insert(known, value.to_owned());
        Ok(())
    }

    /// Lays other settings over these.
    pub(crate) fn overlay(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether a setting is on.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value != "0")
    }

    /// The number of a setting.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.parse().ok()
    }

    /// The number of a setting as a count.
    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        self.0.get(name)?.parse().ok()
    }

    /// The cause that an error should have.
    pub(crate) fn cause(&self) -> Option<&str> {
        self.0.get("cause").map(String::as_str)
    }

    /// The HTTP status to answer with, where it is an error.
    pub(crate) fn status(&self) -> Option<u16> {
        self.0.get("status")?.parse().ok().filter(|status| (300..=599).contains(status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_from_every_source() {
        let check = |found: Result<Behaviour, String>, name: &str, number: Option<u64>| {
            assert_eq!(found.unwrap().number(name), number);
        };
        check(Behaviour::parse("gap_ms=3, burst=2"), "burst", Some(2));
        check(Behaviour::parse("gzip"), "gzip", Some(1));
        check(Behaviour::from_key("mock:status=429;retry_after=2"), "retry_after", Some(2));
        check(Behaviour::from_key("sk-abc"), "status", None);
        check(Behaviour::from_model("gpt-4o-mini+status=500"), "status", Some(500));
        check(Behaviour::from_model("gpt-4o-mini+tokens=5+gap_ms=7"), "gap_ms", Some(7));
        check(Behaviour::from_json(&serde_json::json!({"tokens": 4, "gzip": true})), "tokens", Some(4));
    }

    #[test]
    fn misspelt_settings_are_errors() {
        for text in ["staus=500", "status=abc", "cause=unknown", "tokens=99999999999"] {
            assert!(Behaviour::parse(text).is_err(), "{text}");
        }
    }
}
