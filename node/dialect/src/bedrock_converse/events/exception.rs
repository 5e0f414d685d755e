//! Errors inside of a stream: exceptions of the service, and errors of the connection.

use crate::{
    Fault, fault,
    json::{Kind, Raw},
};
use bytes::Bytes;

/// What a message of this type reports; `None` if it is no error.
pub(super) fn read(name: &[u8], data: &[u8]) -> Option<Fault> {
    let name = std::str::from_utf8(name).ok()?;
    let is_error = ["exception", "error", "failure"].iter().any(|end| {
        let at = name.len().checked_sub(end.len());
        at.and_then(|at| name.get(at..)).is_some_and(|tail| tail.eq_ignore_ascii_case(end))
    });
    if !is_error {
        return None;
    }
    let root = Raw::parse(data).ok().filter(|root| root.kind() == Kind::Object);
    let original = root.and_then(|root| root.get("originalStatusCode")?.u64());
    let original = original.and_then(|status| u16::try_from(status).ok());
    let status = match name {
        "validationException" => 400,
        "modelTimeoutException" => 408,
        "throttlingException" => 429,
        "serviceUnavailableException" => 503,
        "modelStreamErrorException" => original.filter(|status| (400..600).contains(status)).unwrap_or(424),
        _ => 500,
    };
    let mut fault = fault::decode(status, &Bytes::copy_from_slice(data));
    if root.is_some_and(|root| root.get("message").is_none())
        && let Some(message) = root.and_then(|root| root.get("originalMessage")?.string())
    {
        fault.message = fault::message(&message);
    }
    fault.code.get_or_insert_with(|| fault::word(name));
    Some(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Category;

    #[test]
    fn exceptions_have_their_status() {
        let cases = [
            ("throttlingException", r#"{"message":"Too many requests"}"#, 429, Category::RateLimit),
            (
                "serviceUnavailableException",
                r#"{"message":"Bedrock is unable to process"}"#,
                503,
                Category::Overloaded,
            ),
            ("internalServerException", "{}", 500, Category::Api),
            (
                "validationException",
                r#"{"message":"Input is too long for requested model."}"#,
                400,
                Category::ContextTooLong,
            ),
            ("modelStreamErrorException", r#"{"message":"broke"}"#, 424, Category::Api),
            (
                "modelStreamErrorException",
                r#"{"originalStatusCode":429,"originalMessage":"slow"}"#,
                429,
                Category::RateLimit,
            ),
            ("modelStreamErrorException", r#"{"originalStatusCode":7}"#, 424, Category::Api),
            ("InternalFailure", "", 500, Category::Api),
        ];
        for (name, data, status, category) in cases {
            let fault = read(name.as_bytes(), data.as_bytes()).unwrap();
            assert_eq!((fault.status, fault.category), (status, category), "{name} {data}");
            assert_eq!(fault.code.as_deref(), Some(name));
        }
        let original = read(b"modelStreamErrorException", br#"{"originalMessage":"slow"}"#).unwrap();
        assert_eq!(original.message, "slow");
        for name in ["messageStart", "", "error\u{e9}", "\u{e9}rror"] {
            assert!(read(name.as_bytes(), b"{}").is_none(), "{name}");
        }
    }
}
