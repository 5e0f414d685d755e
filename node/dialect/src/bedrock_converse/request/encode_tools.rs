//! Writes `toolConfig`.
//!
//! Converse demands the tools as soon as the conversation holds a call, and knows no choice of none and no switch for
//! parallel calls. Models of Anthropic take both among their own fields; the choice stands there then, and not here.

use super::{
    encode_blocks::write_cache_point, encode_fields::OneAtATime, encode_messages::Conversation,
    reasoning::Asked,
};
use crate::{
    Dialect, Refusal,
    anthropic_messages::write_schema,
    bedrock_converse::family::Family,
    body::Body,
    dropped,
    ir::{Request, Text, Tool, ToolChoice, ToolKind},
};

const SELF: Dialect = Dialect::BedrockConverse;

/// Which tools are on offer, and how.
pub(super) struct Offer<'r> {
    tools: &'r [Tool],
    /// Names of tools that were called where none are on offer any more.
    called: Vec<&'r Text>,
    choice: Choice<'r>,
}

/// Where the choice stands.
enum Choice<'r> {
    Unsaid,
    Here(&'r ToolChoice),
    Claude(&'r ToolChoice, OneAtATime),
}

impl<'r> Offer<'r> {
    /// Decides, and names what cannot be said.
    pub(super) fn of(
        request: &'r Request,
        conversation: &Conversation<'r>,
        asked: &Asked,
        body: &mut Body<'_>,
    ) -> Self {
        let claude = matches!(asked, Asked::Claude(_));
        let mut offer = Self { tools: &request.tools, called: Vec::new(), choice: Choice::Unsaid };
        if request.tools.is_empty() {
            if request.tool_choice.as_ref().is_some_and(|choice| *choice != ToolChoice::None) {
                body.drop("tool_choice");
            }
            offer.called = conversation.called();
            if claude && !offer.called.is_empty() {
                offer.choice = Choice::Claude(&ToolChoice::None, OneAtATime::No);
            }
            return offer;
        }
        let choice = match &request.tool_choice {
            Some(ToolChoice::None) if !claude => {
                if conversation.called().is_empty() {
                    offer.tools = &[];
                } else {
                    body.drop("tool_choice");
                }
                return offer;
            }
            Some(ToolChoice::Opaque(dialect, _)) if *dialect != SELF => {
                body.drop("tool_choice");
                None
            }
            Some(choice) if !asked.allows(choice) => {
                body.drop("tool_choice");
                None
            }
            choice => choice.as_ref(),
        };
        let single = request.parallel_tools == Some(false);
        if single && !claude {
            body.drop("parallel_tool_calls");
        }
        offer.choice = match choice {
            Some(none @ ToolChoice::None) => Choice::Claude(none, OneAtATime::No),
            choice if single && claude => {
                Choice::Claude(choice.unwrap_or(&ToolChoice::Auto), OneAtATime::Yes)
            }
            Some(choice) => Choice::Here(choice),
            None => Choice::Unsaid,
        };
        offer
    }

    /// What stands among the fields of models of Anthropic.
    pub(super) const fn claude_choice(&self) -> Option<(&'r ToolChoice, OneAtATime)> {
        match self.choice {
            Choice::Claude(choice, one_at_a_time) => Some((choice, one_at_a_time)),
            Choice::Here(_) | Choice::Unsaid => None,
        }
    }

    /// Writes the member, if there are tools.
    pub(super) fn write(&self, body: &mut Body<'_>, family: Family) -> Result<(), Refusal> {
        if (self.tools.is_empty() && self.called.is_empty()) || !body.member("toolConfig") {
            return Ok(());
        }
        body.out.begin_object();
        body.out.key("tools");
        body.out.begin_array();
        for (i, tool) in self.tools.iter().enumerate() {
            write_tool(body, tool, i)?;
            match &tool.cache {
                Some(mark) if family.caches_more() => write_cache_point(&mut body.out, mark),
                Some(_) => body.drop("tools[].cache_control"),
                None => {}
            }
        }
        for name in &self.called {
            body.out.begin_object();
            body.out.key("toolSpec");
            body.out.begin_object();
            body.out.key("name");
            body.out.text(name);
            body.out.key("inputSchema");
            body.out.begin_object();
            body.out.key("json");
            write_schema(&mut body.out, None);
            body.out.end_object();
            body.out.end_object();
            body.out.end_object();
        }
        body.out.end_array();
        if let Choice::Here(choice) = self.choice {
            body.out.key("toolChoice");
            write_choice(body, choice);
        }
        body.out.end_object();
        Ok(())
    }
}

fn write_choice(body: &mut Body<'_>, choice: &ToolChoice) {
    match choice {
        ToolChoice::Auto | ToolChoice::None => body.out.raw(br#"{"auto":{}}"#),
        ToolChoice::Required => body.out.raw(br#"{"any":{}}"#),
        ToolChoice::Opaque(_, json) => body.out.json(json),
        ToolChoice::Named(name) => {
            body.out.begin_object();
            body.out.key("tool");
            body.out.begin_object();
            body.out.key("name");
            body.out.text(name);
            body.out.end_object();
            body.out.end_object();
        }
    }
}

fn write_tool(body: &mut Body<'_>, tool: &Tool, index: usize) -> Result<(), Refusal> {
    let ToolKind::Function { name, description, parameters, strict } = &tool.kind else {
        return body.own_tool(&tool.kind, index, SELF);
    };
    let out = &mut body.out;
    out.begin_object();
    out.key("toolSpec");
    out.begin_object();
    out.key("name");
    out.text(name);
    // An empty one is refused.
    if let Some(description) = description.as_ref().filter(|description| !description.is_blank()) {
        out.key("description");
        out.text(description);
    }
    out.key("inputSchema");
    out.begin_object();
    out.key("json");
    write_schema(out, parameters.as_ref());
    out.end_object();
    if let Some(strict) = strict {
        out.key("strict");
        out.bool(*strict);
    }
    dropped::attachments(&tool.attachments, SELF, "tools[].", &mut body.out, &mut body.dropped);
    body.out.end_object();
    body.out.end_object();
    Ok(())
}
