//! Writes the top level of a request.

use super::{encode_config::write_config, encode_contents::write_contents, encode_tools::write_tools};
use crate::{
    Dialect, Encoded, Refusal, Target,
    body::Body,
    foreign,
    gemini::attached,
    ir::{Features, Request, ToolKind},
};

const SELF: Dialect = Dialect::Gemini;

/// The top-level objects that hold attachments of their own.
const PARENTS: [&str; 2] = ["generationConfig", "toolConfig"];

/// What a request of another dialect cannot have here.
pub(in crate::gemini) const LACKS: Features = Features::CHOICES
    .with(Features::AUDIO_OUTPUT)
    .with(Features::IMAGE_OUTPUT)
    .with(Features::SERVER_TOOLS)
    .with(Features::GUARDRAILS);

/// Writes a request. Model and stream stand in the path.
pub(in crate::gemini) fn encode(request: &Request, target: &Target<'_>) -> Result<Encoded, Refusal> {
    foreign::refuse_state(request, SELF)?;
    refuse_foreign(request)?;
    let mut body = Body::without_model(target, 4096);
    write_contents(&mut body, &request.messages)?;
    write_tools(&mut body, request)?;
    write_config(&mut body, request);
    if request.user.is_some() {
        body.drop("user");
    }
    for attachment in &request.attachments {
        let one = std::slice::from_ref(attachment);
        if !PARENTS.iter().any(|parent| attached::inside(one, parent).next().is_some()) {
            body.attachment(attachment, SELF);
        }
    }
    Ok(body.finish())
}

/// Needs that came with members or tools of another dialect cannot be met here; our own can.
fn refuse_foreign(request: &Request) -> Result<(), Refusal> {
    let lacking = request.needs.and(LACKS);
    let foreign_tool = request.tools.iter().any(|tool| match tool.kind {
        ToolKind::Opaque { dialect, .. } => dialect != SELF,
        ToolKind::Function { .. } => false,
    });
    let foreign = foreign_tool || request.attachments.iter().any(|attachment| attachment.dialect != SELF);
    if lacking.is_empty() || !foreign {
        return Ok(());
    }
    let names = lacking.names().collect::<Vec<_>>().join(", ");
    let what = format!("the request needs what {} lacks: {names}", SELF.name());
    Err(Refusal::new(crate::RefusalKind::InvalidRequest, what))
}
