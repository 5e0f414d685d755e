//! What members are called in each form, and what all encoders do with those that they cannot express.

use super::{Content, Form, Request, Response};
use crate::{Refusal, body::Body, dropped, json::Writer};
use std::collections::HashSet;

/// The names of members, as a refusal or `x-trestle-dropped` tells them. Empty where the form has none.
pub(super) struct Names {
    pub(super) inputs: &'static str,
    pub(super) kinds: &'static str,
    pub(super) task: &'static str,
    pub(super) title: &'static str,
    pub(super) dimensions: &'static str,
    pub(super) truncation: &'static str,
    /// What stands before the names of members of one input.
    pub(super) each: &'static str,
}

/// Those of a form.
pub(super) const fn names(form: Form) -> &'static Names {
    match form {
        Form::OpenAi => &Names {
            inputs: "input",
            kinds: "encoding_format",
            task: "input_type",
            title: "",
            dimensions: "dimensions",
            truncation: "",
            each: "",
        },
        Form::GeminiBatch => &Names {
            inputs: "requests[].content",
            kinds: "",
            task: "requests[].taskType",
            title: "requests[].title",
            dimensions: "requests[].outputDimensionality",
            truncation: "",
            each: "requests[].",
        },
        Form::Gemini => &Names {
            inputs: "content",
            kinds: "",
            task: "taskType",
            title: "title",
            dimensions: "outputDimensionality",
            truncation: "",
            each: "",
        },
        Form::Cohere | Form::CohereOnBedrock => &Names {
            inputs: "inputs",
            kinds: "embedding_types",
            task: "input_type",
            title: "",
            dimensions: "output_dimension",
            truncation: "truncate",
            each: "",
        },
        Form::Titan => &Names {
            inputs: "inputText",
            kinds: "embeddingTypes",
            task: "",
            title: "",
            dimensions: "dimensions",
            truncation: "",
            each: "",
        },
        Form::Nova => &Names {
            inputs: "singleEmbeddingParams",
            kinds: "",
            task: "singleEmbeddingParams.embeddingPurpose",
            title: "",
            dimensions: "singleEmbeddingParams.embeddingDimension",
            truncation: "singleEmbeddingParams.text.truncationMode",
            each: "",
        },
    }
}

/// Writes the members that are not modelled where they mean the same; names the others.
pub(super) fn attachments(request: &Request, own: Form, body: &mut Body<'_>) {
    for attachment in &request.attachments {
        if own.is_kin(request.form) {
            body.attachment(attachment, attachment.dialect);
        } else {
            body.drop(attachment.name.plain());
        }
    }
    for attachment in request.inputs.iter().flat_map(|input| &input.attachments) {
        if own.words() != request.form.words() || request.form.api() == super::Api::Bedrock {
            body.drop(format!("{}{}", names(request.form).each, attachment.name.plain()));
        }
    }
}

/// Writes the members of an answer that are not modelled, each once, but for those in `own`, which the form writes itself:
/// the models on Bedrock share their words and not their members.
pub(super) fn unmodelled(
    response: &Response,
    (form, own): (Form, &[&str]),
    out: &mut Writer,
    dropped: &mut Vec<String>,
) {
    let mut written = HashSet::new();
    for attachment in &response.attachments {
        if own.iter().any(|name| attachment.name.is(name)) || !written.insert(attachment.name.escaped()) {
            dropped::note(dropped, attachment.name.plain());
        } else {
            dropped::attachments(std::slice::from_ref(attachment), form.words(), "", out, dropped);
        }
    }
}

/// Names the end user, who only OpenAI is told.
pub(super) fn no_user(request: &Request, body: &mut Body<'_>) {
    if request.user.is_some() {
        body.drop("user");
    }
}

/// Names titles where there can be none.
pub(super) fn no_titles(request: &Request, body: &mut Body<'_>) {
    if request.inputs.iter().any(|input| input.title.is_some()) {
        body.drop(names(request.form).title);
    }
}

/// Names what vectors are for where that cannot be told.
pub(super) fn no_task(request: &Request, body: &mut Body<'_>) {
    if request.inputs.iter().any(|input| input.task.is_some()) {
        body.drop(names(request.form).task);
    }
}

/// Names that texts are to be cut.
pub(super) fn no_truncation(request: &Request, body: &mut Body<'_>) {
    if request.truncation.is_some() {
        body.drop(names(request.form).truncation);
    }
}

/// Refuses a request without inputs, and one with several where a call takes one.
pub(super) fn check_count(request: &Request, max: usize) -> Result<(), Refusal> {
    let name = names(request.form).inputs;
    match request.inputs.len() {
        0 => Err(Refusal::invalid(name, format!("`{name}` is empty"))),
        count if count > max => {
            Err(Refusal::invalid(name, format!("`{name}` has {count} inputs, and a call takes {max}")))
        }
        _ => Ok(()),
    }
}

/// The bytes that the inputs take, about.
pub(super) fn bytes(request: &Request) -> usize {
    let size = |content: &Content| match content {
        Content::Text(text) | Content::Picture(text) => text.escaped().len(),
        Content::Tokens(json) | Content::Own(json) => json.bytes().len(),
    };
    256 + request.inputs.iter().map(|input| size(&input.content) + 64).sum::<usize>()
}
