//! The features of requests.

use trestle_dialect::{
    Dialect,
    ir::{
        Attachment, Block, BlockKind, Json, Media, MediaSource, Message, OutputFormat, Reasoning, Request,
        Role, Sealed, Text, Tool, ToolChoice, ToolKind,
    },
};

/// A feature.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    /// The request, as a client of the dialect may ask; `None` where there is no such thing.
    pub(crate) request: fn(Dialect) -> Option<Request>,
    /// What of a request the feature is.
    pub(crate) probe: fn(&Request) -> String,
    /// Whether its meaning is there in other words.
    pub(crate) kept: fn(&Request) -> bool,
}

fn feature(
    name: &'static str,
    request: fn(Dialect) -> Option<Request>,
    probe: fn(&Request) -> String,
) -> Feature {
    Feature { name, request, probe, kept: |_| false }
}

impl Feature {
    fn or(self, kept: fn(&Request) -> bool) -> Self {
        Self { kept, ..self }
    }
}

fn text(text: &str) -> Block {
    BlockKind::Text(Text::new(text)).into()
}

fn message(role: Role, blocks: Vec<Block>) -> Message {
    Message { role, blocks, name: None, attachments: Vec::new() }
}

fn turns(messages: Vec<Message>) -> Request {
    let mut request =
        Request { model: Text::fixed("chat"), messages, max_tokens: Some(100), ..Request::default() };
    request.collect_needs();
    request
}

fn asks(blocks: Vec<Block>) -> Request {
    turns(vec![message(Role::User, blocks)])
}

fn with(change: fn(&mut Request)) -> Option<Request> {
    let mut request = asks(vec![text("Hi")]);
    change(&mut request);
    request.collect_needs();
    Some(request)
}

fn media(source: MediaSource, media_type: &'static str) -> Media {
    Media::new(source, Some(Text::fixed(media_type)))
}

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn png() -> Media {
    media(MediaSource::Base64(Text::fixed(PNG)), "image/png")
}

fn function(name: &'static str) -> Tool {
    let parameters =
        Some(Json::fixed(r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#));
    let kind = ToolKind::Function {
        name: Text::fixed(name),
        description: Some(Text::fixed("Tells it.")),
        parameters,
        strict: None,
    };
    Tool { kind, cache: None, attachments: Vec::new() }
}

fn call(id: &'static str, input: &str) -> Block {
    BlockKind::ToolUse { id: Text::fixed(id), name: Text::fixed("weather"), input: Text::new(input) }.into()
}

fn result(id: &'static str, content: Vec<Block>) -> Block {
    BlockKind::ToolResult { id: Text::fixed(id), content, is_error: false }.into()
}

fn called(calls: Vec<Block>, results: Vec<Block>) -> Option<Request> {
    let mut request = turns(vec![
        message(Role::User, vec![text("Weather?")]),
        message(Role::Assistant, calls),
        message(Role::User, results),
    ]);
    request.tools = vec![function("weather")];
    request.collect_needs();
    Some(request)
}

fn thought(blocks: Vec<Block>) -> Option<Request> {
    let mut said = blocks;
    said.push(text("Answer"));
    Some(turns(vec![
        message(Role::User, vec![text("Think.")]),
        message(Role::Assistant, said),
        message(Role::User, vec![text("Go on.")]),
    ]))
}

fn sealed(dialect: Dialect) -> Sealed {
    // The Responses API needs the id of the item back with what it encrypted.
    let data = if dialect == Dialect::OpenAiResponses { "rs_1:c2VhbGVk" } else { "c2VhbGVk" };
    Sealed { dialect, data: Text::fixed(data) }
}

/// Blocks of all messages that `pick` shows something of.
fn blocks(request: &Request, pick: fn(&Block) -> Option<String>) -> String {
    let all = request.messages.iter().flat_map(|message| &message.blocks);
    format!("{:?}", all.filter_map(pick).collect::<Vec<_>>())
}

fn any(request: &Request, is: fn(&Block) -> bool) -> bool {
    request.messages.iter().flat_map(|message| &message.blocks).any(|block| match &block.kind {
        BlockKind::ToolResult { content, .. } => is(block) || content.iter().any(is),
        _ => is(block),
    })
}

fn source(media: &Media) -> String {
    format!("{:?} {:?}", media.source, media.media_type_or_guess())
}

fn words(request: &Request) -> String {
    let turn = |message: &Message| {
        let text = message.blocks.iter().filter_map(|block| match &block.kind {
            BlockKind::Text(text) => Some(text.plain().into_owned()),
            _ => None,
        });
        format!("{:?}: {}", message.role, text.collect::<Vec<_>>().join("|"))
    };
    request.messages.iter().map(turn).collect::<Vec<_>>().join("\n")
}

fn says(request: &Request, text: &str) -> bool {
    words(request).contains(text)
}

fn choice(request: &Request) -> String {
    format!("{:?}", request.tool_choice)
}

fn chosen(choice: ToolChoice) -> Option<Request> {
    let mut request = asks(vec![text("Hi")]);
    request.tools = vec![function("weather"), function("time")];
    request.tool_choice = Some(choice);
    request.collect_needs();
    Some(request)
}

fn results(request: &Request) -> String {
    blocks(request, |block| match &block.kind {
        BlockKind::ToolUse { id, name, input } => Some(format!("{id:?} {name:?} {}", input.plain())),
        BlockKind::ToolResult { id, content, is_error } => {
            let texts = content.iter().filter_map(|inner| match &inner.kind {
                BlockKind::Text(text) => Some(text.plain()),
                _ => None,
            });
            Some(format!("{id:?} {is_error} {:?}", texts.collect::<Vec<_>>()))
        }
        _ => None,
    })
}

fn server_tool(dialect: Dialect) -> Option<Request> {
    let json = match dialect {
        Dialect::OpenAiChat => return None,
        Dialect::OpenAiResponses => r#"{"type":"web_search"}"#,
        Dialect::AnthropicMessages => r#"{"type":"web_search_20250305","name":"web_search"}"#,
        Dialect::Gemini => r#"{"googleSearch":{}}"#,
        Dialect::BedrockConverse => r#"{"systemTool":{"name":"nova_grounding"}}"#,
        Dialect::CohereChat => return None,
    };
    let mut request = asks(vec![text("Hi")]);
    let kind = ToolKind::Opaque { dialect, json: Json::fixed(json) };
    request.tools = vec![Tool { kind, cache: None, attachments: Vec::new() }];
    request.collect_needs();
    Some(request)
}

fn own_member(dialect: Dialect) -> Option<Request> {
    let mut request = asks(vec![text("Hi")]);
    let (name, value) = (Text::fixed("newMember"), Json::fixed("1"));
    request.attachments = vec![Attachment { dialect, name, value }];
    Some(request)
}

fn schema(request: &Request) -> String {
    match &request.output {
        Some(OutputFormat::JsonSchema { schema, .. }) => format!("{schema:?}"),
        other => format!("{other:?}"),
    }
}

fn reasoning(request: &Request) -> String {
    format!("{:?}", request.reasoning.as_ref().map(|r| (r.enabled, &r.effort, r.budget_tokens)))
}

fn thinks(request: &Request) -> bool {
    request.reasoning.as_ref().is_some_and(|reasoning| reasoning.enabled)
}

fn thinking(request: &Request) -> String {
    blocks(request, |block| match &block.kind {
        BlockKind::Thinking(text) => {
            Some(format!("{:?} {:?}", text.plain(), block.signature.as_ref().map(|sealed| &sealed.data)))
        }
        // Models of Anthropic sign alike wherever they run: whose it is called does not matter.
        BlockKind::RedactedThinking(sealed) => Some(format!("{:?}", sealed.data)),
        _ => None,
    })
}

fn marks(request: &Request) -> String {
    let tools: Vec<_> = request.tools.iter().map(|tool| &tool.cache).collect();
    format!("{} {tools:?}", blocks(request, |block| block.cache.as_ref().map(|mark| format!("{mark:?}"))))
}

fn marked(mark: &'static str) -> Option<Request> {
    let block = Block { cache: Some(Json::fixed(mark)), ..text("Long") };
    Some(asks(vec![block, text("Hi")]))
}

/// All of them, in the order of the page.
pub(crate) fn features() -> Vec<Feature> {
    [said(), seen(), heard(), tools(), called_back(), shaped()].into_iter().flatten().collect()
}

fn said() -> Vec<Feature> {
    vec![
        feature("text", |_| Some(asks(vec![text("Grüße \"x\" \u{1F600}\n")])), words),
        feature("several texts", |_| Some(asks(vec![text("One"), text("Two")])), words)
            .or(|r| says(r, "One") && says(r, "Two")),
        feature(
            "earlier turns",
            |_| {
                Some(turns(vec![
                    message(Role::User, vec![text("Hi")]),
                    message(Role::Assistant, vec![text("Hello")]),
                    message(Role::User, vec![text("Again")]),
                ]))
            },
            words,
        ),
        feature(
            "system prompt",
            |_| {
                Some(turns(vec![
                    message(Role::System, vec![text("Be brief.")]),
                    message(Role::User, vec![text("Hi")]),
                ]))
            },
            words,
        )
        .or(|request| says(request, "Be brief.")),
        feature(
            "developer prompt",
            |_| {
                Some(turns(vec![
                    message(Role::Developer, vec![text("Be brief.")]),
                    message(Role::User, vec![text("Hi")]),
                ]))
            },
            words,
        )
        .or(|request| says(request, "Be brief.")),
        feature("unknown member", own_member, |request| format!("{:?}", request.attachments)),
        feature("end user", |_| with(|r| r.user = Some(Text::fixed("user-1"))), |r| format!("{:?}", r.user)),
        feature("cache mark", |_| marked(r#"{"type":"ephemeral"}"#), marks),
        feature("cache mark of an hour", |_| marked(r#"{"type":"ephemeral","ttl":"1h"}"#), marks),
        feature(
            "cache mark on a tool",
            |_| {
                let mut request = asks(vec![text("Hi")]);
                request.tools =
                    vec![Tool { cache: Some(Json::fixed(r#"{"type":"ephemeral"}"#)), ..function("weather") }];
                request.collect_needs();
                Some(request)
            },
            marks,
        ),
    ]
}

fn image(request: &Request) -> String {
    blocks(request, |block| match &block.kind {
        BlockKind::Image(media) => Some(source(media)),
        _ => None,
    })
}

fn document(request: &Request) -> String {
    blocks(request, |block| match &block.kind {
        BlockKind::Document(media) => Some(source(media)),
        _ => None,
    })
}

fn seen() -> Vec<Feature> {
    vec![
        feature("image, inline", |_| Some(asks(vec![BlockKind::Image(png()).into(), text("What?")])), image),
        feature(
            "image by URL",
            |_| {
                let url = MediaSource::Url(Text::fixed("https://example.com/a.png"));
                Some(asks(vec![BlockKind::Image(Media::new(url, None)).into(), text("What?")]))
            },
            |request| {
                blocks(request, |block| match &block.kind {
                    BlockKind::Image(media) => Some(format!("{:?}", media.source)),
                    _ => None,
                })
            },
        ),
        feature(
            "image detail",
            |_| {
                Some(asks(vec![
                    BlockKind::Image(Media { detail: Some(Text::fixed("low")), ..png() }).into(),
                    text("What?"),
                ]))
            },
            |request| {
                blocks(request, |block| match &block.kind {
                    BlockKind::Image(media) => Some(format!("{:?}", media.detail)),
                    _ => None,
                })
            },
        ),
        feature(
            "document, inline",
            |_| {
                let pdf = media(MediaSource::Base64(Text::fixed("JVBERi0xLjQ=")), "application/pdf");
                let pdf = Media { title: Some(Text::fixed("a.pdf")), ..pdf };
                Some(asks(vec![BlockKind::Document(pdf).into(), text("Sum up.")]))
            },
            document,
        ),
        feature(
            "document, plain text",
            |_| {
                let plain = media(MediaSource::Plain(Text::fixed("Plain.")), "text/plain");
                Some(asks(vec![BlockKind::Document(plain).into(), text("Sum up.")]))
            },
            document,
        )
        .or(|request| {
            format!("{request:?}").contains("Plain.")
                || any(request, |b| matches!(b.kind, BlockKind::Document(_)))
        }),
        feature(
            "document by URL",
            |_| {
                let url = MediaSource::Url(Text::fixed("https://example.com/a.pdf"));
                Some(asks(vec![BlockKind::Document(Media::new(url, None)).into(), text("Sum up.")]))
            },
            |request| {
                blocks(request, |block| match &block.kind {
                    BlockKind::Document(media) => Some(format!("{:?}", media.source)),
                    _ => None,
                })
            },
        ),
    ]
}

fn heard() -> Vec<Feature> {
    vec![
        feature(
            "audio, inline",
            |_| {
                let wav = media(MediaSource::Base64(Text::fixed("UklGRiQAAABXQVZF")), "audio/wav");
                Some(asks(vec![BlockKind::Audio(wav).into(), text("What?")]))
            },
            |request| {
                blocks(request, |block| match &block.kind {
                    BlockKind::Audio(media) => Some(source(media)),
                    _ => None,
                })
            },
        ),
        feature(
            "video, inline",
            |_| {
                let film = media(MediaSource::Base64(Text::fixed("AAAAIGZ0eXBpc29t")), "video/mp4");
                Some(asks(vec![BlockKind::Video(film).into(), text("What?")]))
            },
            |request| {
                blocks(request, |block| match &block.kind {
                    BlockKind::Video(media) => Some(source(media)),
                    _ => None,
                })
            },
        ),
    ]
}

fn tools() -> Vec<Feature> {
    vec![
        feature(
            "function tool",
            |_| with(|request| request.tools = vec![function("weather")]),
            |request| {
                let tool = |tool: &Tool| match &tool.kind {
                    ToolKind::Function { name, description, parameters, .. } => {
                        format!("{name:?} {description:?} {parameters:?}")
                    }
                    other @ ToolKind::Opaque { .. } => format!("{other:?}"),
                };
                format!("{:?}", request.tools.iter().map(tool).collect::<Vec<_>>())
            },
        ),
        feature(
            "strict function",
            |_| {
                with(|request| {
                    let mut tool = function("weather");
                    if let ToolKind::Function { strict, .. } = &mut tool.kind {
                        *strict = Some(true);
                    }
                    request.tools = vec![tool];
                })
            },
            |request| {
                let strict =
                    |tool: &Tool| matches!(&tool.kind, ToolKind::Function { strict: Some(true), .. });
                format!("{:?}", request.tools.iter().map(strict).collect::<Vec<_>>())
            },
        ),
        feature("tool choice: auto", |_| chosen(ToolChoice::Auto), choice).or(|r| r.tool_choice.is_none()),
        feature("tool choice: none", |_| chosen(ToolChoice::None), choice).or(|r| r.tools.is_empty()),
        feature("tool choice: any", |_| chosen(ToolChoice::Required), choice),
        feature("tool choice: one", |_| chosen(ToolChoice::Named(Text::fixed("time"))), choice)
            .or(|r| r.tool_choice == Some(ToolChoice::Required) && r.tools.len() == 1),
        feature(
            "one call at a time",
            |_| {
                with(|request| {
                    request.tools = vec![function("weather")];
                    request.parallel_tools = Some(false);
                })
            },
            |request| format!("{:?}", request.parallel_tools),
        ),
    ]
}

fn called_back() -> Vec<Feature> {
    vec![
        feature(
            "call and result",
            |_| {
                called(vec![call("call_1", r#"{"city":"Oslo"}"#)], vec![result("call_1", vec![text("Rain")])])
            },
            results,
        )
        .or(|request| results(request).contains("Oslo") && results(request).contains("Rain")),
        feature(
            "parallel calls",
            |_| {
                called(
                    vec![call("call_1", r#"{"city":"Oslo"}"#), call("call_2", "{}")],
                    vec![result("call_1", vec![text("Rain")]), result("call_2", vec![text("Sun")])],
                )
            },
            results,
        )
        .or(|request| results(request).contains("Rain") && results(request).contains("Sun")),
        feature(
            "malformed arguments",
            |_| called(vec![call("call_1", r#"{"city":"#)], vec![result("call_1", vec![text("Rain")])]),
            results,
        ),
        feature(
            "failed tool",
            |_| {
                let failed = BlockKind::ToolResult {
                    id: Text::fixed("call_1"),
                    content: vec![text("No such city")],
                    is_error: true,
                };
                called(vec![call("call_1", "{}")], vec![failed.into()])
            },
            |request| {
                blocks(request, |block| match &block.kind {
                    BlockKind::ToolResult { is_error, .. } => Some(is_error.to_string()),
                    _ => None,
                })
            },
        ),
        feature(
            "image in a result",
            |_| {
                called(
                    vec![call("call_1", "{}")],
                    vec![result("call_1", vec![text("Look"), BlockKind::Image(png()).into()])],
                )
            },
            |request| {
                blocks(request, |block| match &block.kind {
                    BlockKind::ToolResult { content, .. } => {
                        let images = content.iter().filter(|inner| matches!(inner.kind, BlockKind::Image(_)));
                        Some(images.count().to_string())
                    }
                    _ => None,
                })
            },
        )
        .or(|request| any(request, |block| matches!(block.kind, BlockKind::Image(_)))),
        feature("tool of the vendor", server_tool, |request| format!("{:?}", request.tools)),
    ]
}

fn shaped() -> Vec<Feature> {
    vec![
        feature("output limit", |_| with(|r| r.max_tokens = Some(77)), |r| format!("{:?}", r.max_tokens)),
        feature("temperature", |_| with(|r| r.sampling.temperature = Some(Json::fixed("0.5"))), |r| format!("{:?}", r.sampling.temperature)),
        feature("top_p", |_| with(|r| r.sampling.top_p = Some(Json::fixed("0.9"))), |r| format!("{:?}", r.sampling.top_p)),
        feature("top_k", |_| with(|r| r.sampling.top_k = Some(Json::fixed("40"))), |r| format!("{:?}", r.sampling.top_k)),
        feature("frequency penalty", |_| with(|r| r.sampling.frequency_penalty = Some(Json::fixed("0.3"))), |r| {
            format!("{:?}", r.sampling.frequency_penalty)
        }),
        feature("presence penalty", |_| with(|r| r.sampling.presence_penalty = Some(Json::fixed("0.3"))), |r| {
            format!("{:?}", r.sampling.presence_penalty)
        }),
        feature("seed", |_| with(|r| r.sampling.seed = Some(Json::fixed("7"))), |r| format!("{:?}", r.sampling.seed)),
        feature("stop texts", |_| with(|r| r.stop = vec![Text::fixed("END")]), |r| format!("{:?}", r.stop)),
        feature("log probabilities", |_| with(|r| r.logprobs = Some(3)), |r| format!("{:?}", r.logprobs))
            .or(|r| r.logprobs.is_some()),
        feature(
            "JSON schema",
            |_| {
                with(|request| {
                    let schema = Json::fixed(r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#);
                    let name = Some(Text::fixed("answer"));
                    request.output = Some(OutputFormat::JsonSchema { name, description: None, schema, strict: Some(true) });
                })
            },
            schema,
        )
        .or(|request| matches!(request.output, Some(OutputFormat::JsonSchema { .. }))),
        feature("any JSON", |_| with(|r| r.output = Some(OutputFormat::JsonObject)), schema),
        feature(
            "reasoning effort",
            |_| with(|r| r.reasoning = Some(Reasoning { enabled: true, effort: Some(Text::fixed("low")), ..Reasoning::default() })),
            reasoning,
        )
        .or(thinks),
        feature(
            "reasoning budget",
            |_| {
                with(|r| {
                    r.max_tokens = Some(10_000);
                    r.reasoning = Some(Reasoning { enabled: true, budget_tokens: Some(2048), ..Reasoning::default() });
                })
            },
            reasoning,
        )
        .or(thinks),
        feature("reasoning off", |_| with(|r| r.reasoning = Some(Reasoning::default())), reasoning).or(|r| !thinks(r)),
        feature(
            "signed reasoning",
            |dialect| thought(vec![Block { signature: Some(sealed(dialect)), ..BlockKind::Thinking(Text::fixed("Hm")).into() }]),
            thinking,
        ),
        feature("sealed reasoning", |dialect| thought(vec![BlockKind::RedactedThinking(sealed(dialect)).into()]), thinking),
        feature("unsigned reasoning", |_| thought(vec![BlockKind::Thinking(Text::fixed("Hm")).into()]), thinking),
        feature("streaming", |_| with(|r| r.stream = true), |r| r.stream.to_string()),
    ]
}
