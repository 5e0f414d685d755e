//! Writes `tools` and `toolConfig`.

use crate::{
    Dialect, Refusal,
    body::Body,
    dropped,
    gemini::{attached, schema},
    ir::{Request, Text, Tool, ToolChoice, ToolKind},
    json::Writer,
};

const SELF: Dialect = Dialect::Gemini;
const CONFIG: &str = "toolConfig";
const CHOICE: &str = "functionCallingConfig";

/// Writes both. All functions go into one element of `tools`, as some models demand.
pub(super) fn write_tools(body: &mut Body<'_>, request: &Request) -> Result<(), Refusal> {
    let is_function = |tool: &&Tool| matches!(tool.kind, ToolKind::Function { .. });
    let has_functions = request.tools.iter().any(|tool| is_function(&tool));
    let mut functions = Writer::with_capacity(1024);
    functions.begin_array();
    for tool in request.tools.iter().filter(is_function) {
        write_function(body, tool, &mut functions);
    }
    functions.end_array();
    if !request.tools.is_empty() && body.member("tools") {
        body.out.begin_array();
        if has_functions {
            body.out.begin_object();
            body.out.key("functionDeclarations");
            body.out.raw(&functions.finish());
            body.out.end_object();
        }
        for (i, tool) in request.tools.iter().enumerate() {
            body.own_tool(&tool.kind, i, SELF)?;
        }
        body.out.end_array();
    }
    if request.parallel_tools == Some(false) && has_functions {
        body.drop("parallel_tool_calls");
    }
    let mut config = Writer::with_capacity(128);
    config.begin_object();
    write_choice(body, request, &mut config);
    attached::write_inside(&request.attachments, CONFIG, &mut config);
    config.end_object();
    let config = config.finish();
    if config != b"{}" && body.member(CONFIG) {
        body.out.raw(&config);
    }
    Ok(())
}

fn write_function(body: &mut Body<'_>, tool: &Tool, out: &mut Writer) {
    let ToolKind::Function { name, description, parameters, strict } = &tool.kind else { return };
    out.begin_object();
    out.key("name");
    out.text(name);
    if let Some(description) = description {
        out.key("description");
        out.text(description);
    }
    if let Some(parameters) = parameters {
        out.key("parametersJsonSchema");
        schema::write(parameters, schema::Place::Parameters, out, &mut body.dropped);
    }
    if *strict == Some(true) {
        body.drop("tools[].strict");
    }
    if tool.cache.is_some() {
        body.drop("tools[].cache_control");
    }
    dropped::attachments(&tool.attachments, SELF, "tools[].", out, &mut body.dropped);
    out.end_object();
}

/// The choice, unless an attachment says it whole.
fn write_choice(body: &mut Body<'_>, request: &Request, out: &mut Writer) {
    let Some(choice) = &request.tool_choice else { return };
    let said = attached::inside(&request.attachments, CONFIG)
        .any(|(name, _)| name == CHOICE.as_bytes() || name == b"function_calling_config");
    if said {
        return;
    }
    let none = Text::default();
    let (mode, name) = match choice {
        // Without a function there is nothing to choose.
        _ if !request.tools.iter().any(|tool| matches!(tool.kind, ToolKind::Function { .. })) => {
            return body.drop("tool_choice");
        }
        ToolChoice::Opaque(..) => return body.drop("tool_choice"),
        ToolChoice::Auto => ("AUTO", &none),
        ToolChoice::None => ("NONE", &none),
        ToolChoice::Required => ("ANY", &none),
        ToolChoice::Named(name) => ("ANY", name),
    };
    out.key(CHOICE);
    out.begin_object();
    out.key("mode");
    out.string(mode);
    if !name.is_empty() {
        out.key("allowedFunctionNames");
        out.begin_array();
        out.text(name);
        out.end_array();
    }
    out.end_object();
}
