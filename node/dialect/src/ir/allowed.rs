//! A choice between some of the tools only (OpenAI `allowed_tools`), for dialects that have no such word: there the
//! others are not offered.

use super::{Request, Tool, ToolChoice, ToolKind};
use crate::json::Raw;
use std::borrow::Cow;

impl Request {
    /// The tools on offer and the choice between them, with a choice of some put in effect. Where it names no tool
    /// that is on offer, no tool may be called.
    pub(crate) fn offer(&self) -> (Cow<'_, [Tool]>, Option<ToolChoice>) {
        let allowed = match &self.tool_choice {
            Some(ToolChoice::Opaque(_, json)) => Allowed::read(json.raw()),
            _ => None,
        };
        let Some(allowed) = allowed else { return (Cow::Borrowed(&self.tools), self.tool_choice.clone()) };
        let tools: Vec<Tool> = self.tools.iter().filter(|tool| allowed.names(tool)).cloned().collect();
        match tools.is_empty() {
            true => (Cow::Borrowed(&self.tools), Some(ToolChoice::None)),
            false => (Cow::Owned(tools), Some(allowed.choice())),
        }
    }
}

/// `{type: allowed_tools, mode, tools}`; Chat has mode and tools one level deeper.
struct Allowed<'a> {
    inner: Raw<'a>,
}

impl<'a> Allowed<'a> {
    fn read(choice: Raw<'a>) -> Option<Self> {
        let inner = choice.get("allowed_tools").unwrap_or(choice);
        let known = choice.get("type")?.is_str("allowed_tools") && inner.get("tools").is_some();
        known.then_some(Self { inner })
    }

    fn choice(&self) -> ToolChoice {
        match self.inner.get("mode").is_some_and(|mode| mode.is_str("required")) {
            true => ToolChoice::Required,
            false => ToolChoice::Auto,
        }
    }

    fn names(&self, tool: &Tool) -> bool {
        let ToolKind::Function { name, .. } = &tool.kind else { return false };
        let mut tools = self.inner.get("tools").into_iter().flat_map(Raw::elements);
        tools.any(|tool| {
            let holder = tool.get("function").unwrap_or(tool);
            holder.get("name").and_then(Raw::string).is_some_and(|allowed| name.is(&allowed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Dialect,
        ir::{Json, Text},
    };

    #[test]
    fn only_what_is_allowed_is_offered() {
        let tool = |name| Tool {
            kind: ToolKind::Function {
                name: Text::new(name),
                description: None,
                parameters: None,
                strict: None,
            },
            cache: None,
            attachments: Vec::new(),
        };
        let cases = [
            (
                r#"{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"b"}}]}}"#,
                1,
                ToolChoice::Required,
            ),
            (
                r#"{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"a"},{"type":"function","name":"b"}]}"#,
                2,
                ToolChoice::Auto,
            ),
            (
                r#"{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"z"}]}"#,
                3,
                ToolChoice::None,
            ),
        ];
        for (choice, count, expected) in cases {
            let request = Request {
                tools: vec![tool("a"), tool("b"), tool("c")],
                tool_choice: Some(ToolChoice::Opaque(Dialect::OpenAiChat, Json::parse(choice).unwrap())),
                ..Request::default()
            };
            let (tools, choice) = request.offer();
            assert_eq!((tools.len(), choice), (count, Some(expected)));
        }
        let other = ToolChoice::Opaque(Dialect::OpenAiChat, Json::fixed(r#"{"type":"custom"}"#));
        let request =
            Request { tools: vec![tool("a")], tool_choice: Some(other.clone()), ..Request::default() };
        assert_eq!(request.offer(), (Cow::Borrowed(request.tools.as_slice()), Some(other)));
    }
}
