//! What a request may hold, from the API's definition.

use super::super::shape::{Members, NAME, Shape, TEXT};

const fn members(name: &'static str, required: &'static [&'static str], known: Known) -> Members {
    Members { name, required, known, one_of: false }
}

type Known = &'static [(&'static str, Shape)];

const LARGE: i64 = i32::MAX as i64;
const COUNT: Shape = Shape::Whole(0, i64::MAX);
const TEXTS: Shape = Shape::List(&TEXT);

/// `GenerateContentRequest`.
pub(super) static GENERATE: Members = members(
    "GenerateContentRequest",
    &[],
    &[
        ("model", TEXT),
        ("contents", Shape::List(&Shape::Members(&CONTENT))),
        ("systemInstruction", Shape::Members(&CONTENT)),
        ("tools", Shape::List(&Shape::Members(&TOOL))),
        ("toolConfig", Shape::Members(&TOOL_CONFIG)),
        ("safetySettings", Shape::List(&Shape::Members(&SAFETY))),
        ("generationConfig", Shape::Members(&CONFIG)),
        ("cachedContent", TEXT),
        ("labels", Shape::Map(&TEXT)),
        ("serviceTier", TEXT),
        ("store", Shape::Truth),
    ],
);

/// `CountTokensRequest`.
pub(super) static COUNT_TOKENS: Members = members(
    "CountTokensRequest",
    &[],
    &[
        ("model", TEXT),
        ("contents", Shape::List(&Shape::Members(&CONTENT))),
        ("generateContentRequest", Shape::Members(&GENERATE)),
    ],
);

/// `EmbedContentRequest`.
pub(super) static EMBED: Members = members(
    "EmbedContentRequest",
    &["content"],
    &[
        ("model", TEXT),
        ("content", Shape::Members(&CONTENT)),
        ("taskType", TEXT),
        ("title", TEXT),
        ("outputDimensionality", Shape::Whole(1, 3072)),
    ],
);

/// `BatchEmbedContentsRequest`.
pub(super) static BATCH_EMBED: Members = members(
    "BatchEmbedContentsRequest",
    &["requests"],
    &[("requests", Shape::List(&Shape::Members(&EMBED)))],
);

static CONTENT: Members =
    members("Content", &[], &[("role", TEXT), ("parts", Shape::List(&Shape::Members(&PART)))]);

/// The members of a part of which one must be there.
pub(super) const DATA: [&str; 7] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

static PART: Members = members(
    "Part",
    &[],
    &[
        ("text", TEXT),
        ("inlineData", Shape::Members(&BLOB)),
        ("fileData", Shape::Members(&FILE)),
        ("functionCall", Shape::Members(&CALL)),
        ("functionResponse", Shape::Members(&RESPONSE)),
        ("executableCode", Shape::Object),
        ("codeExecutionResult", Shape::Object),
        ("thought", Shape::Truth),
        ("thoughtSignature", Shape::Bytes),
        ("videoMetadata", Shape::Object),
        ("mediaResolution", Shape::Object),
        ("partMetadata", Shape::Object),
    ],
);

static BLOB: Members = members(
    "Blob",
    &["mimeType", "data"],
    &[("mimeType", NAME), ("data", Shape::Bytes), ("displayName", TEXT)],
);

static FILE: Members =
    members("FileData", &["fileUri"], &[("mimeType", TEXT), ("fileUri", NAME), ("displayName", TEXT)]);

static CALL: Members =
    members("FunctionCall", &["name"], &[("id", TEXT), ("name", NAME), ("args", Shape::Object)]);

static RESPONSE: Members = members(
    "FunctionResponse",
    &["name", "response"],
    &[
        ("id", TEXT),
        ("name", NAME),
        ("response", Shape::Object),
        ("parts", Shape::List(&Shape::Members(&RESPONSE_PART))),
        ("willContinue", Shape::Truth),
        ("scheduling", TEXT),
    ],
);

static RESPONSE_PART: Members =
    members("FunctionResponsePart", &["inlineData"], &[("inlineData", Shape::Members(&BLOB))]);

static TOOL: Members = members(
    "Tool",
    &[],
    &[
        ("functionDeclarations", Shape::List(&Shape::Members(&FUNCTION))),
        ("googleSearch", Shape::Object),
        ("googleSearchRetrieval", Shape::Object),
        ("codeExecution", Shape::Object),
        ("urlContext", Shape::Object),
        ("computerUse", Shape::Object),
        ("fileSearch", Shape::Object),
        ("googleMaps", Shape::Object),
    ],
);

static FUNCTION: Members = members(
    "FunctionDeclaration",
    &["name"],
    &[
        ("name", NAME),
        ("description", TEXT),
        ("behavior", TEXT),
        ("parameters", Shape::Members(&SCHEMA)),
        ("parametersJsonSchema", Shape::Object),
        ("response", Shape::Members(&SCHEMA)),
        ("responseJsonSchema", Shape::Object),
    ],
);

/// The vendor's own form of a schema: a part of OpenAPI.
static SCHEMA: Members = members(
    "Schema",
    &[],
    &[
        (
            "type",
            Shape::Word(&[
                "TYPE_UNSPECIFIED",
                "STRING",
                "NUMBER",
                "INTEGER",
                "BOOLEAN",
                "ARRAY",
                "OBJECT",
                "NULL",
            ]),
        ),
        ("format", TEXT),
        ("title", TEXT),
        ("description", TEXT),
        ("nullable", Shape::Truth),
        ("enum", TEXTS),
        ("items", Shape::Members(&SCHEMA)),
        ("properties", Shape::Map(&Shape::Members(&SCHEMA))),
        ("required", TEXTS),
        ("propertyOrdering", TEXTS),
        ("anyOf", Shape::List(&Shape::Members(&SCHEMA))),
        ("minItems", COUNT),
        ("maxItems", COUNT),
        ("minProperties", COUNT),
        ("maxProperties", COUNT),
        ("minLength", COUNT),
        ("maxLength", COUNT),
        ("pattern", TEXT),
        ("minimum", Shape::Number(f64::MIN, f64::MAX)),
        ("maximum", Shape::Number(f64::MIN, f64::MAX)),
        ("example", Shape::Any),
        ("default", Shape::Any),
    ],
);

static TOOL_CONFIG: Members = members(
    "ToolConfig",
    &[],
    &[
        ("functionCallingConfig", Shape::Members(&CALLING)),
        ("retrievalConfig", Shape::Object),
        ("includeServerSideToolInvocations", Shape::Truth),
    ],
);

static CALLING: Members = members(
    "FunctionCallingConfig",
    &[],
    &[
        ("mode", Shape::Word(&["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"])),
        ("allowedFunctionNames", TEXTS),
    ],
);

static SAFETY: Members =
    members("SafetySetting", &["category", "threshold"], &[("category", NAME), ("threshold", NAME)]);

static CONFIG: Members = members(
    "GenerationConfig",
    &[],
    &[
        ("temperature", Shape::Number(0.0, 2.0)),
        ("topP", Shape::Number(0.0, 1.0)),
        ("topK", Shape::Whole(1, LARGE)),
        ("candidateCount", Shape::Whole(1, 8)),
        ("maxOutputTokens", Shape::Whole(1, LARGE)),
        ("stopSequences", TEXTS),
        ("responseLogprobs", Shape::Truth),
        ("logprobs", Shape::Whole(0, 20)),
        ("presencePenalty", Shape::Number(-2.0, 2.0)),
        ("frequencyPenalty", Shape::Number(-2.0, 2.0)),
        ("seed", Shape::Whole(i32::MIN as i64, LARGE)),
        ("responseMimeType", Shape::Word(&["text/plain", "application/json", "text/x.enum"])),
        ("responseSchema", Shape::Members(&SCHEMA)),
        ("responseJsonSchema", Shape::Object),
        ("responseModalities", Shape::List(&Shape::Word(&["TEXT", "IMAGE", "AUDIO"]))),
        ("mediaResolution", TEXT),
        ("speechConfig", Shape::Object),
        ("thinkingConfig", Shape::Members(&THINKING)),
        ("imageConfig", Shape::Object),
        ("enableEnhancedCivicAnswers", Shape::Truth),
    ],
);

static THINKING: Members = members(
    "ThinkingConfig",
    &[],
    &[
        ("includeThoughts", Shape::Truth),
        ("thinkingBudget", Shape::Whole(-1, LARGE)),
        ("thinkingLevel", Shape::Word(&["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH"])),
    ],
);
