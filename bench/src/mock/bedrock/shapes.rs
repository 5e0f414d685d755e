//! What a Converse request may hold, from the service's model.

use super::super::shape::{Members, NAME, Shape, TEXT};

const fn members(name: &'static str, required: &'static [&'static str], known: Known) -> Members {
    Members { name, required, known, one_of: false }
}

const fn one_of(name: &'static str, known: Known) -> Members {
    Members { name, required: &[], known, one_of: true }
}

type Known = &'static [(&'static str, Shape)];

const LARGE: i64 = i32::MAX as i64;
const NAMED: Shape = Shape::Text(1, 64);

/// The body.
pub(super) static REQUEST: Members = members(
    "ConverseRequest",
    &[],
    &[
        ("messages", Shape::List(&Shape::Members(&MESSAGE))),
        ("system", Shape::List(&Shape::Members(&SYSTEM))),
        ("inferenceConfig", Shape::Members(&INFERENCE)),
        ("toolConfig", Shape::Members(&TOOLS)),
        ("guardrailConfig", Shape::Members(&GUARDRAIL)),
        ("additionalModelRequestFields", Shape::Object),
        ("additionalModelResponseFieldPaths", Shape::List(&Shape::Text(1, 256))),
        ("promptVariables", Shape::Map(&Shape::Members(&VARIABLE))),
        ("requestMetadata", Shape::Map(&Shape::Text(0, 256))),
        ("performanceConfig", Shape::Members(&PERFORMANCE)),
        ("serviceTier", Shape::Members(&TIER)),
        ("outputConfig", Shape::Members(&OUTPUT)),
    ],
);

static MESSAGE: Members = members(
    "Message",
    &["role", "content"],
    &[("role", Shape::Word(&["user", "assistant"])), ("content", Shape::List(&Shape::Members(&CONTENT)))],
);

static CONTENT: Members = one_of(
    "ContentBlock",
    &[
        ("text", TEXT),
        ("image", Shape::Members(&IMAGE)),
        ("document", Shape::Members(&DOCUMENT)),
        ("video", Shape::Members(&VIDEO)),
        ("audio", Shape::Members(&AUDIO)),
        ("toolUse", Shape::Members(&TOOL_USE)),
        ("toolResult", Shape::Members(&TOOL_RESULT)),
        ("guardContent", Shape::Members(&GUARDED)),
        ("cachePoint", Shape::Members(&CACHE_POINT)),
        ("reasoningContent", Shape::Members(&REASONING)),
        ("citationsContent", Shape::Members(&CITED)),
        ("searchResult", Shape::Members(&SEARCH_RESULT)),
    ],
);

static SYSTEM: Members = one_of(
    "SystemContentBlock",
    &[
        ("text", NAME),
        ("guardContent", Shape::Members(&GUARDED)),
        ("cachePoint", Shape::Members(&CACHE_POINT)),
    ],
);

const IMAGE_FORMAT: Shape = Shape::Word(&["png", "jpeg", "gif", "webp"]);

static IMAGE: Members = members(
    "ImageBlock",
    &["format", "source"],
    &[("format", IMAGE_FORMAT), ("source", Shape::Members(&SOURCE))],
);

/// Of pictures, sound and videos.
static SOURCE: Members =
    one_of("Source", &[("bytes", Shape::Bytes), ("s3Location", Shape::Members(&S3_LOCATION))]);

static S3_LOCATION: Members =
    members("S3Location", &["uri"], &[("uri", Shape::Text(1, 1024)), ("bucketOwner", NAME)]);

static DOCUMENT: Members = members(
    "DocumentBlock",
    &["name", "source"],
    &[
        ("format", Shape::Word(&["pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"])),
        ("name", Shape::Text(1, 200)),
        ("source", Shape::Members(&DOCUMENT_SOURCE)),
        ("context", TEXT),
        ("citations", Shape::Members(&CITATIONS)),
    ],
);

static DOCUMENT_SOURCE: Members = one_of(
    "DocumentSource",
    &[
        ("bytes", Shape::Bytes),
        ("s3Location", Shape::Members(&S3_LOCATION)),
        ("text", TEXT),
        ("content", Shape::List(&Shape::Members(&PLAIN_TEXT))),
    ],
);

static PLAIN_TEXT: Members = one_of("DocumentContentBlock", &[("text", TEXT)]);
static CITATIONS: Members = members("CitationsConfig", &["enabled"], &[("enabled", Shape::Truth)]);

static VIDEO: Members = members(
    "VideoBlock",
    &["format", "source"],
    &[
        ("format", Shape::Word(&["mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp"])),
        ("source", Shape::Members(&SOURCE)),
    ],
);

static AUDIO: Members = members(
    "AudioBlock",
    &["format", "source"],
    &[
        (
            "format",
            Shape::Word(&[
                "mp3", "opus", "wav", "aac", "flac", "mp4", "ogg", "mkv", "mka", "x-aac", "m4a", "mpeg",
                "mpga", "pcm", "webm",
            ]),
        ),
        ("source", Shape::Members(&SOURCE)),
    ],
);

static TOOL_USE: Members = members(
    "ToolUseBlock",
    &["toolUseId", "name", "input"],
    &[
        ("toolUseId", NAMED),
        ("name", NAMED),
        ("input", Shape::Object),
        ("type", Shape::Word(&["server_tool_use"])),
    ],
);

static TOOL_RESULT: Members = members(
    "ToolResultBlock",
    &["toolUseId", "content"],
    &[
        ("toolUseId", NAMED),
        ("content", Shape::List(&Shape::Members(&RESULT_CONTENT))),
        ("status", Shape::Word(&["success", "error"])),
        ("type", TEXT),
    ],
);

static RESULT_CONTENT: Members = one_of(
    "ToolResultContentBlock",
    &[
        ("json", Shape::Object),
        ("text", TEXT),
        ("image", Shape::Members(&IMAGE)),
        ("document", Shape::Members(&DOCUMENT)),
        ("video", Shape::Members(&VIDEO)),
        ("searchResult", Shape::Members(&SEARCH_RESULT)),
    ],
);

static SEARCH_RESULT: Members = members(
    "SearchResultBlock",
    &["source", "title", "content"],
    &[
        ("source", TEXT),
        ("title", TEXT),
        ("content", Shape::List(&Shape::Members(&PLAIN_TEXT))),
        ("citations", Shape::Members(&CITATIONS)),
    ],
);

static GUARDED: Members =
    one_of("GuardrailConverseContentBlock", &[("text", Shape::Object), ("image", Shape::Object)]);

static CACHE_POINT: Members = members(
    "CachePointBlock",
    &["type"],
    &[("type", Shape::Word(&["default"])), ("ttl", Shape::Word(&["5m", "1h"]))],
);

static REASONING: Members = one_of(
    "ReasoningContentBlock",
    &[("reasoningText", Shape::Members(&REASONING_TEXT)), ("redactedContent", Shape::Bytes)],
);

static REASONING_TEXT: Members =
    members("ReasoningTextBlock", &["text"], &[("text", TEXT), ("signature", TEXT)]);

static CITED: Members = members(
    "CitationsContentBlock",
    &[],
    &[("content", Shape::List(&Shape::Members(&PLAIN_TEXT))), ("citations", Shape::List(&Shape::Object))],
);

static INFERENCE: Members = members(
    "InferenceConfiguration",
    &[],
    &[
        ("maxTokens", Shape::Whole(1, LARGE)),
        ("temperature", Shape::Number(0.0, 1.0)),
        ("topP", Shape::Number(0.0, 1.0)),
        ("stopSequences", Shape::List(&NAME)),
    ],
);

static TOOLS: Members = members(
    "ToolConfiguration",
    &["tools"],
    &[("tools", Shape::List(&Shape::Members(&TOOL))), ("toolChoice", Shape::Members(&CHOICE))],
);

static TOOL: Members = one_of(
    "Tool",
    &[
        ("toolSpec", Shape::Members(&TOOL_SPEC)),
        ("systemTool", Shape::Members(&NAMED_TOOL)),
        ("cachePoint", Shape::Members(&CACHE_POINT)),
    ],
);

static TOOL_SPEC: Members = members(
    "ToolSpecification",
    &["name", "inputSchema"],
    &[
        ("name", NAMED),
        ("description", NAME),
        ("inputSchema", Shape::Members(&TOOL_SCHEMA)),
        ("strict", Shape::Truth),
    ],
);

static TOOL_SCHEMA: Members = one_of("ToolInputSchema", &[("json", Shape::Object)]);
static NAMED_TOOL: Members = members("SystemTool", &["name"], &[("name", NAMED)]);

static CHOICE: Members = one_of(
    "ToolChoice",
    &[
        ("auto", Shape::Members(&NOTHING)),
        ("any", Shape::Members(&NOTHING)),
        ("tool", Shape::Members(&NAMED_TOOL)),
    ],
);

static NOTHING: Members = members("AutoToolChoice", &[], &[]);

static GUARDRAIL: Members = members(
    "GuardrailConfiguration",
    &[],
    &[
        ("guardrailIdentifier", TEXT),
        ("guardrailVersion", TEXT),
        ("trace", Shape::Word(&["enabled", "disabled", "enabled_full"])),
        ("streamProcessingMode", Shape::Word(&["sync", "async"])),
    ],
);

static VARIABLE: Members = one_of("PromptVariableValues", &[("text", TEXT)]);

static PERFORMANCE: Members =
    members("PerformanceConfiguration", &[], &[("latency", Shape::Word(&["standard", "optimized"]))]);

static TIER: Members =
    members("ServiceTier", &["type"], &[("type", Shape::Word(&["priority", "default", "flex", "reserved"]))]);

static OUTPUT: Members =
    members("OutputConfig", &[], &[("textFormat", Shape::Members(&FORMAT)), ("effort", Shape::Text(0, 16))]);

static FORMAT: Members = members(
    "OutputFormat",
    &["type", "structure"],
    &[("type", Shape::Word(&["json_schema"])), ("structure", Shape::Members(&STRUCTURE))],
);

static STRUCTURE: Members = one_of("OutputFormatStructure", &[("jsonSchema", Shape::Members(&JSON_SCHEMA))]);

static JSON_SCHEMA: Members =
    members("JsonSchemaDefinition", &["schema"], &[("schema", NAME), ("name", TEXT), ("description", TEXT)]);
