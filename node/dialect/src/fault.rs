//! Errors of upstreams: any body is acceptable, and becomes a category that routing can act on.

use crate::{
    Category, Fault,
    json::{Kind, Raw},
};
use bytes::Bytes;
use std::borrow::Cow;

/// Longest message kept, in bytes.
const MESSAGE_BYTES_MAX: usize = 2048;

/// Longest excerpt of a body that is not JSON, in bytes.
const EXCERPT_BYTES_MAX: usize = 512;

/// Longest code or parameter kept, in bytes.
const WORD_BYTES_MAX: usize = 128;

/// Reads an error answer of any vendor, or of whatever stands in front of one.
pub(crate) fn decode(status: u16, body: &Bytes) -> Fault {
    match Raw::parse(body) {
        Ok(root) if matches!(root.kind(), Kind::Object | Kind::Array) => {
            // Google wraps errors of its compatible endpoint into an array.
            let root = if root.kind() == Kind::Array { root.elements().next().unwrap_or(root) } else { root };
            from_object(Some(status), root, body.clone())
        }
        _ => {
            let message = excerpt(body);
            let category = classify(status, &Words::default(), &message);
            Fault { status, category, message, code: None, param: None, body: Bytes::new() }
        }
    }
}

impl Fault {
    /// The same error with its type, where that stands only in a header (`x-amzn-errortype`).
    #[must_use]
    pub fn with_type(mut self, header: &str) -> Self {
        if self.code.is_none() {
            let kind = amazon_type(Cow::Borrowed(header));
            self.code = Some(bounded(&kind, WORD_BYTES_MAX));
            let words = Words { kind: Some(kind), ..Words::default() };
            self.category = classify(self.status, &words, &self.message);
        }
        self
    }
}

/// Reads an error event inside of a stream; the status is the one that the vendor gives for the type.
pub(crate) fn decode_event(data: &[u8]) -> Fault {
    match Raw::parse(data) {
        Ok(root) if root.kind() == Kind::Object => from_object(None, root, Bytes::copy_from_slice(data)),
        _ => {
            let (message, category) = (excerpt(data), Category::Api);
            Fault { status: 500, category, message, code: None, param: None, body: Bytes::new() }
        }
    }
}

/// What the error says of itself, besides the message.
#[derive(Debug, Default)]
struct Words<'a> {
    kind: Option<Cow<'a, str>>,
    code: Option<Cow<'a, str>>,
    param: Option<Cow<'a, str>>,
}

impl Words<'_> {
    fn any(&self, words: &[&str]) -> bool {
        [&self.kind, &self.code].into_iter().flatten().any(|own| words.iter().any(|word| own == word))
    }
}

/// `{"error": {"message", "type", "code", "param"}}`, `{"error": "text"}`, `{"message", "type"}`, `{"detail"}`.
fn from_object(status: Option<u16>, root: Raw<'_>, body: Bytes) -> Fault {
    let inner = root.get("error").filter(|error| !error.is_null());
    let holder = inner.filter(|error| error.kind() == Kind::Object).unwrap_or(root);
    let message = holder.get("message").or(inner).or_else(|| root.get("detail"));
    // Amazon's front doors have their own spelling.
    let message = message.or_else(|| root.get("Message")).unwrap_or(holder);
    let message = match message.string() {
        Some(text) => bounded(&text, MESSAGE_BYTES_MAX),
        None => excerpt(message.bytes()),
    };
    let word = |name: &str| {
        holder.get(name).filter(|value| !value.is_null()).map(|value| {
            let plain = value.string();
            plain.unwrap_or_else(|| String::from_utf8_lossy(value.bytes()))
        })
    };
    let kind = word("type").or_else(|| root.get("__type").and_then(Raw::string).map(amazon_type));
    let words = Words { kind, code: word("code"), param: word("param") };
    let status = status.unwrap_or_else(|| status_of(&words));
    let category = classify(status, &words, &message);
    let keep = |word: Option<Cow<'_, str>>| word.map(|word| bounded(&word, WORD_BYTES_MAX));
    Fault {
        status,
        category,
        message,
        code: keep(words.code).or_else(|| keep(words.kind)),
        param: keep(words.param),
        body,
    }
}

/// The type alone of `com.amazon.coral.validate#ValidationException:http://...`.
fn amazon_type(word: Cow<'_, str>) -> Cow<'_, str> {
    let bare = word.rsplit('#').next().unwrap_or_default();
    let bare = bare.split(':').next().unwrap_or_default();
    if bare.len() == word.len() { word } else { Cow::Owned(bare.to_owned()) }
}

/// A message, as long as one is kept.
pub(crate) fn message(text: &str) -> String {
    bounded(text, MESSAGE_BYTES_MAX)
}

/// A code, as long as one is kept.
pub(crate) fn word(text: &str) -> String {
    bounded(text, WORD_BYTES_MAX)
}

/// The status that the vendors give for a type or code.
fn status_of(words: &Words<'_>) -> u16 {
    let numeric = words.code.as_ref().and_then(|code| code.parse::<u16>().ok());
    if let Some(status @ 400..=599) = numeric {
        return status;
    }
    for word in [&words.code, &words.kind].into_iter().flatten() {
        let status = match &**word {
            "invalid_request_error"
            | "BadRequestError"
            | "context_length_exceeded"
            | "content_filter"
            | "content_policy_violation"
            | "invalid_prompt" => 400,
            "authentication_error" | "invalid_api_key" => 401,
            "billing_error" => 402,
            "permission_error" => 403,
            "not_found_error" | "model_not_found" => 404,
            "request_too_large" => 413,
            "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" | "tokens" | "requests" => 429,
            "timeout_error" => 504,
            "overloaded_error" => 529,
            _ => continue,
        };
        return status;
    }
    500
}

/// What kind of error it is: by what the vendor's words say first, then by the status.
fn classify(status: u16, words: &Words<'_>, message: &str) -> Category {
    let lower = message.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let refused = matches!(status, 400 | 404 | 409 | 413 | 422);
    if words.any(&[
        "insufficient_quota",
        "billing_error",
        "billing_not_active",
        "insufficient_balance",
        "ServiceQuotaExceededException",
    ]) || status == 402
        || (matches!(status, 400 | 403 | 429) && says(QUOTA))
    {
        return Category::Quota;
    }
    if words.any(&["context_length_exceeded", "model_context_window_exceeded"])
        || (refused && says(CONTEXT_TOO_LONG))
    {
        return Category::ContextTooLong;
    }
    if words.any(&["content_policy_violation", "content_filter", "moderation_blocked"])
        || (matches!(status, 400 | 403) && says(CONTENT_POLICY))
    {
        return Category::ContentPolicy;
    }
    if words.any(&["model_not_found", "model_not_active", "model_decommissioned", "not_found_error"])
        || (refused && says(MODEL_GONE))
    {
        return Category::NotFound;
    }
    if words.any(&["unsupported_parameter", "unsupported_value", "unknown_parameter"])
        || (refused && says(UNSUPPORTED_PARAMETER))
    {
        return Category::UnsupportedParameter;
    }
    if words.any(&["overloaded_error", "ModelNotReadyException"]) {
        return Category::Overloaded;
    }
    if words.any(AMAZON_CREDENTIALS) || (status == 403 && says(CREDENTIALS)) {
        return Category::Authentication;
    }
    by_status(status)
}

const fn by_status(status: u16) -> Category {
    match status {
        // The second is Cohere's for a token that is not valid.
        401 | 498 => Category::Authentication,
        402 => Category::Quota,
        403 => Category::Permission,
        404 | 410 => Category::NotFound,
        408 | 504 | 524 => Category::Timeout,
        413 => Category::TooLarge,
        // Amazon's word for a model that failed.
        424 => Category::Api,
        429 => Category::RateLimit,
        503 | 529 => Category::Overloaded,
        // Cohere's for a call that was cancelled, which may be made again.
        499 => Category::Api,
        400..=499 => Category::InvalidRequest,
        _ => Category::Api,
    }
}

/// Come with a 403 or 400.
const AMAZON_CREDENTIALS: &[&str] = &[
    "UnrecognizedClientException",
    "ExpiredTokenException",
    "InvalidSignatureException",
    "IncompleteSignatureException",
    "MissingAuthenticationTokenException",
];

/// What Amazon says with a 403 where a key is at fault, and not what it may do.
const CREDENTIALS: &[&str] =
    &["make sure your api key is valid", "security token included in the request is"];

const QUOTA: &[&str] = &[
    "credit balance is too low",
    "exceeded your current quota",
    "insufficient balance",
    "insufficient credits",
    "insufficient quota",
    "spending limit",
    "api calls / month",
];

const CONTEXT_TOO_LONG: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "maximum prompt length",
    "context length exceeded",
    "context_length_exceeded",
    "context window",
    "exceeds the available context size",
    "exceeds the model's context",
    "exceed context limit",
    "input is too long",
    "input length and `max_tokens` exceed",
    "input token count",
    "longer than the model's context",
    "reduce the length of the messages",
    "too many input tokens",
    "input tokens exceeded",
    "too large for model",
    "tokens in the prompt cannot exceed",
    "too many tokens: size limit exceeded",
];

const CONTENT_POLICY: &[&str] = &[
    "content management policy",
    "content filtering policy",
    "content policy",
    "content_policy",
    "rejected as a result of our safety system",
    "safety system",
    "usage policies",
    "flagged by",
    "output blocked by",
    "blocked by our content filters",
];

const MODEL_GONE: &[&str] = &[
    "model not found",
    "model_not_found",
    "no such model",
    "unknown model",
    "is not a valid model",
    "invalid model",
    "model identifier is invalid",
    "from the provided model identifier",
    "on-demand throughput isn",
    "does not exist or you do not have access",
    "has been deprecated",
    "has been decommissioned",
    "was removed on",
];

const UNSUPPORTED_PARAMETER: &[&str] = &[
    "unsupported parameter",
    "unsupported value",
    "unknown parameter",
    "unrecognized request argument",
    "extra inputs are not permitted",
    "is not supported with this model",
    "is not supported by this model",
    "does not support",
    "this model doesn't support",
    "extraneous key",
    "is not a valid field",
];

/// The text of a body that is not the vendor's JSON: marks and runs of white space become one space, and it is cut.
fn excerpt(body: &[u8]) -> String {
    let head = body.get(..body.len().min(8 * MESSAGE_BYTES_MAX)).unwrap_or_default();
    let text = String::from_utf8_lossy(head);
    let is_html = text.trim_start().starts_with('<');
    let (mut out, mut inside, mut space) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            '<' if is_html => (inside, space) = (true, true),
            '>' if inside => inside = false,
            _ if inside => {}
            c if c.is_whitespace() || c.is_control() => space = true,
            c => {
                if space && !out.is_empty() {
                    out.push(' ');
                }
                space = false;
                out.push(c);
            }
        }
        if out.len() >= EXCERPT_BYTES_MAX {
            break;
        }
    }
    bounded(&out, EXCERPT_BYTES_MAX)
}

fn bounded(text: &str, bytes_max: usize) -> String {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, body: &str) -> Fault {
        decode(status, &Bytes::copy_from_slice(body.as_bytes()))
    }

    #[test]
    #[rustfmt::skip]
    fn vendors_words_become_categories() {
        use Category::*;
        let cases: &[(u16, &str, Category)] = &[
            (400, r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#, ContextTooLong),
            (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}"#, ContextTooLong),
            (400, r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}"#, ContextTooLong),
            (400, r#"{"error":{"message":"Your request was rejected as a result of our safety system.","type":"invalid_request_error","param":null,"code":"content_policy_violation"}}"#, ContentPolicy),
            (400, r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400}}"#, ContentPolicy),
            (404, r#"{"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#, NotFound),
            (404, r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-1"}}"#, NotFound),
            (429, r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#, Quota),
            (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#, Quota),
            (402, r#"{"error":{"message":"Insufficient Balance"}}"#, Quota),
            (400, r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#, UnsupportedParameter),
            (400, r#"{"error":{"message":"Unrecognized request argument supplied: reasoning_effort","type":"invalid_request_error","param":null,"code":null}}"#, UnsupportedParameter),
            (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, Overloaded),
            (503, "upstream connect error", Overloaded),
            (401, r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#, Authentication),
            (403, r#"{"type":"error","error":{"type":"permission_error","message":"no"}}"#, Permission),
            (429, r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}"#, RateLimit),
            (400, r#"{"error":{"message":"'messages' is a required property"}}"#, InvalidRequest),
            (400, r#"[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]"#, InvalidRequest),
            (422, r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#, InvalidRequest),
            (400, r#"{"id":"a","message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292."}"#, ContextTooLong),
            (400, r#"{"message":"too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192."}"#, InvalidRequest),
            (404, r#"{"id":"a","message":"model 'command-x' not found, make sure the correct model ID was used and that you have access to the model."}"#, NotFound),
            (400, r#"{"message":"model 'command' was removed on September 15, 2025."}"#, NotFound),
            (429, r#"{"message":"You are using a Trial key, which is limited to 1000 API calls / month."}"#, Quota),
            (429, r#"{"message":"You are using a Trial key, which is limited to 20 API calls / minute."}"#, RateLimit),
            (422, r#"{"id":"a","message":"invalid request"}"#, InvalidRequest),
            (422, r#"{"message":"unknown field: parameter 'strict' is not a valid field."}"#, UnsupportedParameter),
            (498, r#"{"message":"invalid token"}"#, Authentication),
            (499, r#"{"message":"request cancelled"}"#, Api),
            (500, r#"{"error":"boom"}"#, Api),
            (400, r#"{"message":"The provided model identifier is invalid.","__type":"ValidationException"}"#, NotFound),
            (400, r#"{"message":"This model doesn't support tool use."}"#, UnsupportedParameter),
            (400, r#"{"message":"Input is too long for requested model."}"#, ContextTooLong),
            (403, r#"{"Message":"no","__type":"com.amazon.coral.service#UnrecognizedClientException"}"#, Authentication),
            (403, r#"{"message":"You don't have access to the model with the specified model ID."}"#, Permission),
            (400, r#"{"message":"Too many tokens per day","__type":"ServiceQuotaExceededException:http://x"}"#, Quota),
            (429, r#"{"message":"The model is loading","__type":"ModelNotReadyException"}"#, Overloaded),
            (424, r#"{"message":"The model failed","__type":"ModelErrorException"}"#, Api),
            (408, r#"{"message":"Model has timed out in processing the request"}"#, Timeout),
            (502, "<html><title>502 Bad Gateway</title></html>", Api),
            (504, "", Timeout),
        ];
        for (status, body, expected) in cases {
            assert_eq!(fault(*status, body).category, *expected, "{status} {body}");
        }
    }

    #[test]
    fn words_are_kept_and_text_is_bounded() {
        let known = fault(400, r#"{"error":{"message":"m","type":"t","param":"max_tokens","code":"c"}}"#);
        assert_eq!((known.message.as_str(), known.code.as_deref()), ("m", Some("c")));
        assert_eq!(known.param.as_deref(), Some("max_tokens"));
        assert!(!known.body.is_empty());

        let amazon =
            fault(403, r#"{"Message":"no","__type":"com.amazon.coral.service#AccessDeniedException"}"#);
        assert_eq!((amazon.message.as_str(), amazon.code.as_deref()), ("no", Some("AccessDeniedException")));

        let html = fault(502, "<html>\n<head><title>502 Bad Gateway</title></head><body>nginx</body></html>");
        assert_eq!(html.message, "502 Bad Gateway nginx");
        assert!(html.body.is_empty() && html.code.is_none());

        let long = fault(500, &"\u{e9}".repeat(9000));
        assert!(long.message.len() <= EXCERPT_BYTES_MAX && long.message.starts_with('\u{e9}'));
        let long = fault(500, &format!(r#"{{"error":{{"message":"{}"}}}}"#, "\u{e9}".repeat(9000)));
        assert!(long.message.len() <= MESSAGE_BYTES_MAX);
        assert_eq!(fault(500, r#"{"error":"boom"}"#).message, "boom");
        let _ = decode(500, &Bytes::from_static(&[0xff, 0xfe, 0]));
    }

    #[test]
    fn types_in_headers_count_where_the_body_has_none() {
        let check = |status, body: &str, header: &str, category, code: &str| {
            let found = fault(status, body).with_type(header);
            assert_eq!((found.category, found.code.as_deref()), (category, Some(code)), "{header}");
        };
        let plain = r#"{"message":"no"}"#;
        check(
            400,
            plain,
            "ServiceQuotaExceededException:http://x",
            Category::Quota,
            "ServiceQuotaExceededException",
        );
        check(429, plain, "ModelNotReadyException", Category::Overloaded, "ModelNotReadyException");
        check(403, plain, "a.b#ExpiredTokenException", Category::Authentication, "ExpiredTokenException");
        check(400, r#"{"message":"no","__type":"A"}"#, "B", Category::InvalidRequest, "A");
        let key = r#"{"message":"Authentication failed: Please make sure your API Key is valid."}"#;
        check(403, key, "AccessDeniedException", Category::Authentication, "AccessDeniedException");
    }

    #[test]
    fn events_get_the_status_of_their_type() {
        let status = |data: &str| decode_event(data.as_bytes()).status;
        assert_eq!(
            status(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            529
        );
        assert_eq!(status(r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#), 429);
        assert_eq!(status(r#"{"error":{"code":502,"message":"Provider returned error"}}"#), 502);
        assert_eq!(status(r#"{"error":{"type":"server_error","message":"x"}}"#), 500);
        assert_eq!(status(r#"{"error":{"type":"invalid_request_error","code":"insufficient_quota"}}"#), 429);
        assert_eq!(status("nonsense"), 500);
    }
}
