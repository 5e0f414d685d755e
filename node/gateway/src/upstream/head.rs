//! What is read of the head of an answer, whichever way it came.

use super::inflate::Encoding;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::time::{Duration, SystemTime};

/// The head of an answer: only what decides about its body and about the next attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The status.
    pub(crate) status: StatusCode,
    /// Whether the body is a stream of events.
    pub(crate) is_events: bool,
    /// How the body is compressed.
    pub(crate) encoding: Encoding,
    /// The length of the body as it comes, where it is told.
    pub(crate) length: Option<u64>,
    /// What the body is, where it is neither JSON nor a stream.
    pub(crate) media_type: Option<Box<str>>,
    /// The type of an error, where Amazon says it.
    pub(crate) error_type: Option<Box<str>>,
    /// Where a redirect leads.
    pub(crate) location: Option<Box<str>>,
    /// When the upstream asks to come back.
    pub(crate) retry_after: Option<Duration>,
    /// How many tokens went in, where Bedrock tells it beside the body of a model.
    pub(crate) input_tokens: Option<u64>,
    /// All headers, where they are kept.
    pub(crate) all: Option<Box<HeaderMap>>,
}

/// What is kept of the headers of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Keep {
    /// What the pipeline needs: no map is filled.
    #[default]
    Needed,
    /// All of them.
    All,
}

impl Head {
    /// A head without headers.
    pub(crate) fn new(status: StatusCode, keep: Keep) -> Self {
        Self {
            all: (keep == Keep::All).then(Box::default),
            status,
            is_events: false,
            encoding: Encoding::Identity,
            length: None,
            media_type: None,
            error_type: None,
            location: None,
            retry_after: None,
            input_tokens: None,
        }
    }

    /// A head with its headers.
    pub(crate) fn with_headers(status: StatusCode, headers: &HeaderMap, keep: Keep) -> Self {
        let mut head = Self::new(status, keep);
        headers.iter().for_each(|(name, value)| head.read(name.as_str(), value.as_bytes()));
        head
    }

    /// Reads one header.
    pub(crate) fn read(&mut self, name: &str, value: &[u8]) {
        // Most names are none of these, and their length tells.
        match name.len() {
            8 if name.eq_ignore_ascii_case("location") => self.location = text(value),
            11 if name.eq_ignore_ascii_case("retry-after") => {
                // The finer hint wins, in whichever order they come.
                self.retry_after = self.retry_after.or_else(|| retry_after(value));
            }
            12 if name.eq_ignore_ascii_case("content-type") => {
                self.is_events = value.starts_with(b"text/event-stream")
                    || value.starts_with(b"application/vnd.amazon.eventstream");
                if !self.is_events && !value.starts_with(b"application/json") {
                    self.media_type = text(value);
                }
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                self.length = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            }
            14 if name.eq_ignore_ascii_case("retry-after-ms") => {
                let ms = number(value).and_then(|ms| Duration::try_from_secs_f64(ms / 1e3).ok());
                self.retry_after = ms.or(self.retry_after);
            }
            16 if name.eq_ignore_ascii_case("x-amzn-errortype") => self.error_type = text(value),
            16 if name.eq_ignore_ascii_case("content-encoding") => self.encoding = Encoding::of(value),
            32 if name.eq_ignore_ascii_case("x-amzn-bedrock-input-token-count") => {
                self.input_tokens = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            }
            _ => {}
        }
        if let Some(all) = &mut self.all
            && let (Ok(name), Ok(value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value))
        {
            all.append(name, value);
        }
    }
}

fn text(value: &[u8]) -> Option<Box<str>> {
    std::str::from_utf8(value).ok().map(Into::into)
}

fn number(value: &[u8]) -> Option<f64> {
    std::str::from_utf8(value).ok()?.trim().parse().ok().filter(|number: &f64| *number >= 0.0)
}

/// Seconds, or a date.
fn retry_after(value: &[u8]) -> Option<Duration> {
    if let Some(seconds) = number(value) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(headers: &[(&str, &str)]) -> Head {
        let mut head = Head::new(StatusCode::OK, Keep::Needed);
        headers.iter().for_each(|(name, value)| head.read(name, value.as_bytes()));
        head
    }

    #[test]
    fn retry_hints_are_read_in_all_their_forms() {
        for (name, value, expected) in [
            ("retry-after", "2", Some(Duration::from_secs(2))),
            ("Retry-After", "1.5", Some(Duration::from_millis(1500))),
            ("retry-after-ms", "250", Some(Duration::from_millis(250))),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", Some(Duration::ZERO)),
            ("retry-after", "-1", None),
            ("retry-after", "soon", None),
            ("retry-after", "1e300", None),
            ("retry-after-ms", "soon", None),
            ("x-other", "1", None),
        ] {
            assert_eq!(head(&[(name, value)]).retry_after, expected, "{name}: {value}");
        }
    }

    #[test]
    fn the_finer_hint_wins() {
        let (seconds, ms) = (("retry-after", "1"), ("retry-after-ms", "700"));
        for both in [[seconds, ms], [ms, seconds]] {
            assert_eq!(head(&both).retry_after, Some(Duration::from_millis(700)));
        }
    }

    #[test]
    fn what_decides_about_the_body_is_read_in_any_case() {
        let events =
            head(&[("Content-Type", "text/event-stream; charset=utf-8"), ("CONTENT-ENCODING", "gzip")]);
        assert!(events.is_events && events.encoding == Encoding::Gzip && events.length.is_none());
        let json = head(&[("content-type", "application/json"), ("content-length", "17")]);
        assert!(!json.is_events && json.length == Some(17));
        let amazon = head(&[("X-Amzn-ErrorType", "ThrottlingException:http://x")]);
        assert_eq!(amazon.error_type.as_deref(), Some("ThrottlingException:http://x"));
        let bedrock = head(&[("X-Amzn-Bedrock-Input-Token-Count", "12")]);
        assert_eq!((bedrock.input_tokens, json.input_tokens), (Some(12), None));
    }
}
