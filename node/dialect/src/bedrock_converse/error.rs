//! Errors as clients of Bedrock know them.

use crate::{
    Category, Failure,
    event_stream::{self, Kind},
    json::Writer,
};
use std::borrow::Cow;

/// What clients look for to shorten a conversation that has become too long.
const TOO_LONG: &str = "Input is too long for requested model";

/// The type of a failure, for the header `x-amzn-errortype`, by which Amazon's clients choose their exception.
pub const fn error_type(category: Category) -> &'static str {
    match category {
        Category::InvalidRequest
        | Category::ContextTooLong
        | Category::ContentPolicy
        | Category::UnsupportedParameter
        | Category::TooLarge => "ValidationException",
        Category::Authentication | Category::Permission => "AccessDeniedException",
        Category::NotFound => "ResourceNotFoundException",
        Category::RateLimit => "ThrottlingException",
        Category::Quota => "ServiceQuotaExceededException",
        Category::Overloaded => "ServiceUnavailableException",
        Category::Timeout => "ModelTimeoutException",
        Category::Api => "InternalServerException",
    }
}

/// The exceptions that a stream may end with are fewer.
const fn exception(category: Category) -> &'static str {
    match category {
        Category::InvalidRequest
        | Category::ContextTooLong
        | Category::ContentPolicy
        | Category::UnsupportedParameter
        | Category::TooLarge
        | Category::Authentication
        | Category::Permission
        | Category::NotFound => "validationException",
        Category::RateLimit | Category::Quota => "throttlingException",
        Category::Overloaded => "serviceUnavailableException",
        Category::Timeout => "modelStreamErrorException",
        Category::Api => "internalServerException",
    }
}

/// The body: `{"message", "__type", ...}`; clients find the type here or in the header.
pub(super) fn encode(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Writer::with_capacity(256);
    out.begin_object();
    out.key("message");
    out.string(&message(failure));
    out.key("__type");
    out.string(error_type(failure.category));
    for (name, word) in [("param", failure.param), ("code", failure.code)] {
        if let Some(word) = word {
            out.key(name);
            out.string(word);
        }
    }
    out.key("request_id");
    out.string(failure.request_id);
    crate::failure::write_attempts(failure.attempts, &mut out);
    out.end_object();
    out.finish()
}

/// The error as an exception. Nothing follows: the stream did not end properly.
pub(super) fn encode_event(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    event_stream::write(Kind::Exception, exception(failure.category), encode(failure), &mut out);
    out
}

fn message<'f>(failure: &Failure<'f>) -> Cow<'f, str> {
    match failure.category {
        Category::ContextTooLong if !failure.message.contains(TOO_LONG) => {
            format!("{TOO_LONG}: {}", failure.message).into()
        }
        _ => failure.message.into(),
    }
}
