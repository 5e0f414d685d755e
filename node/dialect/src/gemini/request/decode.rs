//! Reads the top level of a request. The path tells the model, and whether the answer is streamed.

use super::{
    config::read_config,
    contents::{read_contents, read_system},
    tools::{read_tool_config, read_tools},
};
use crate::{
    Dialect, Envelope, Refusal,
    gemini::names::camel,
    ir::{Features, Request},
    json::unescape,
    read::{self, ROOT},
};

const SELF: Dialect = Dialect::Gemini;

/// Reads a request.
pub(in crate::gemini) fn decode(envelope: &Envelope) -> Result<Request, Refusal> {
    let owner = envelope.body();
    let mut request = Request::default();
    let (mut system, mut contents) = (None, None);
    for member in envelope.members().filter(|member| !member.value.is_null()) {
        let key = unescape(member.key);
        let path = ROOT.member(&key);
        let value = member.value;
        match &*camel(member.key) {
            "contents" => contents = Some(read_contents(value, &path, owner)?),
            "systemInstruction" => system = Some(read_system(value, &path, owner)?),
            "tools" => read_tools(value, &path, owner, &mut request.tools)?,
            "toolConfig" => read_tool_config(value, &path, owner, &mut request)?,
            "generationConfig" => read_config(value, &path, owner, &mut request)?,
            // The path counts.
            "model" => {}
            // The per-request fallbacks of the gateway: no provider sees them.
            "fallbacks" => {}
            name => {
                // A part of the conversation that only the vendor has: no other may answer without it.
                if name == "cachedContent" {
                    request.needs.add(Features::SERVER_TOOLS);
                }
                read::attach(&mut request.attachments, SELF, &member, owner);
            }
        }
    }
    request.messages = ROOT.required(contents, "contents")?;
    if let Some(system) = system.filter(|system| !system.blocks.is_empty()) {
        request.messages.insert(0, system);
    }
    request.collect_needs();
    Ok(request)
}
