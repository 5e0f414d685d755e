//! Embeddings: each feature of requests and answers through each pair of forms.

use crate::drive::{Cell, context};
use std::fmt::Write as _;
use trestle_dialect::{
    Dialect, Envelope, Quirks, Target,
    embed::{Content, Form, Input, Kind, Request, Response, Task, Truncation, Vectors, codec},
    ir::{Attachment, Json, Text, Usage},
};

/// A feature of requests.
struct Asked {
    name: &'static str,
    change: fn(&mut Request),
    probe: fn(&Request) -> String,
    kept: fn(&Request) -> bool,
}

/// A feature of answers.
struct Given {
    name: &'static str,
    kind: Kind,
    probe: fn(&Response) -> String,
}

fn asked(name: &'static str, change: fn(&mut Request), probe: fn(&Request) -> String) -> Asked {
    Asked { name, change, probe, kept: |_| false }
}

impl Asked {
    fn or(self, kept: fn(&Request) -> bool) -> Self {
        Self { kept, ..self }
    }
}

fn text(text: &'static str) -> Content {
    Content::Text(Text::fixed(text))
}

fn contents(request: &Request) -> String {
    format!("{:?}", request.inputs.iter().map(|input| &input.content).collect::<Vec<_>>())
}

fn each(request: &mut Request, change: impl Fn(&mut Input)) {
    request.inputs.iter_mut().for_each(change);
}

fn tasks(request: &Request) -> String {
    format!("{:?}", request.inputs.iter().map(|input| &input.task).collect::<Vec<_>>())
}

fn kinds(request: &Request) -> String {
    format!("{:?}", request.kinds)
}

fn truncation(request: &Request) -> String {
    format!("{:?}", request.truncation)
}

#[rustfmt::skip]
fn requests() -> Vec<Asked> {
    let task = |name, change| asked(name, change, tasks);
    vec![
        asked("one text", |_| {}, contents),
        asked("several texts", |r| r.inputs.push(Input { content: text("two"), ..r.inputs[0].clone() }), contents),
        asked("dimensions", |r| each(r, |input| input.dimensions = Some(256)), |r| format!("{:?}", r.inputs[0].dimensions)),
        // The answer is converted where the provider has none.
        asked("base64", |r| r.kinds = vec![Kind::Base64], kinds).or(|_| true),
        asked("bytes or bits", |r| r.kinds = vec![own_kind(r.form)], kinds),
        asked("several kinds at once", |r| r.kinds = vec![Kind::Float, own_kind(r.form)], kinds),
        task("task: query", |r| each(r, |input| input.task = Some(Task::Query))),
        task("task: document", |r| each(r, |input| input.task = Some(Task::Document))),
        task("task: classification", |r| each(r, |input| input.task = Some(Task::Classification))),
        task("task: clustering", |r| each(r, |input| input.task = Some(Task::Clustering))),
        task("task: similarity", |r| each(r, |input| input.task = Some(Task::Similarity))),
        task("task: question", |r| each(r, |input| input.task = Some(Task::Question))),
        task("task: code", |r| each(r, |input| input.task = Some(Task::CodeQuery))),
        asked("title", |r| each(r, |input| input.title = Some(Text::fixed("T"))), |r| format!("{:?}", r.inputs[0].title)),
        asked("truncation: none", |r| r.truncation = Some(Truncation::Refuse), truncation)
            // These refuse what is too long unasked.
            .or(|r| matches!(r.form, Form::OpenAi | Form::Titan)),
        asked("truncation: start", |r| r.truncation = Some(Truncation::Start), truncation),
        asked("truncation: end", |r| r.truncation = Some(Truncation::End), truncation),
        asked("end user", |r| r.user = Some(Text::fixed("u")), |r| format!("{:?}", r.user)),
        asked("token arrays", |r| r.inputs[0].content = Content::Tokens(Json::fixed("[1,2]")), contents),
        asked("picture", |r| r.inputs[0].content = picture(r.form), contents),
        asked("unknown member", |r| {
            let dialect = if r.form == Form::CohereOnBedrock { Dialect::CohereChat } else { r.form.api().dialect() };
            let attachment = Attachment { dialect, name: Text::fixed("x_extra"), value: Json::fixed("1") };
            match r.form {
                Form::Gemini | Form::GeminiBatch => each(r, |input| input.attachments = vec![attachment.clone()]),
                _ => r.attachments = vec![attachment],
            }
        }, |r| format!("{:?}", r.attachments.iter().chain(&r.inputs[0].attachments).map(|a| &a.name).collect::<Vec<_>>())),
    ]
}

fn own_kind(form: Form) -> Kind {
    Kind::Own(Text::fixed(if form == Form::Titan { "binary" } else { "int8" }))
}

fn picture(form: Form) -> Content {
    let own = |json| Content::Own(Json::fixed(json));
    match form {
        Form::Gemini | Form::GeminiBatch => {
            own(r#"{"parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}"#)
        }
        Form::Titan => own(r#"{"inputImage":"eA=="}"#),
        Form::Nova => own(r#"{"image":{"format":"png","source":{"bytes":"eA=="}}}"#),
        _ => Content::Picture(Text::fixed("data:image/png;base64,eA==")),
    }
}

fn plain(form: Form) -> Request {
    let mut request = Request { inputs: vec![Input::new(text("one"))], ..Request::new(form) };
    // What these always say.
    if matches!(form, Form::Cohere | Form::CohereOnBedrock | Form::Nova) {
        each(&mut request, |input| input.task = Some(Task::Document));
    }
    if form == Form::Cohere {
        request.kinds = vec![Kind::Float];
    }
    if form == Form::Nova {
        request.truncation = Some(Truncation::Refuse);
    }
    request
}

fn model(form: Form) -> &'static str {
    match form {
        Form::CohereOnBedrock => "cohere.embed-v4:0",
        Form::Titan => "amazon.titan-embed-text-v2:0",
        Form::Nova => "amazon.nova-2-multimodal-embeddings-v1:0",
        _ => "m",
    }
}

/// The request as a provider hears it, what was named, and the calls that it took.
fn heard(to: Form, request: &Request) -> Option<(Request, Vec<String>, usize)> {
    let quirks = Quirks::default();
    let target =
        Target { model: model(to), quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    let (mut whole, mut dropped, mut calls): (Option<Request>, _, _) = (None, Vec::new(), 0);
    for part in request.split(codec(to).inputs_max()) {
        let encoded = codec(to).encode_request(&part, &target).ok()?;
        let body = Envelope::parse(encoded.body.into()).unwrap();
        let one = codec(to).decode_request(&body).unwrap();
        dropped.extend(encoded.dropped);
        calls += 1;
        match &mut whole {
            Some(whole) => whole.inputs.extend(one.inputs),
            None => whole = Some(one),
        }
    }
    Some((whole?, dropped, calls))
}

fn told(feature: &Asked, client: Form, provider: Form) -> Option<Cell> {
    let mut request = plain(client);
    (feature.change)(&mut request);
    let before = (feature.probe)(&request);
    let (spoken, dropped, calls) = heard(client, &request)?;
    if !dropped.is_empty() || calls > 1 || (feature.probe)(&spoken) != before {
        return None;
    }
    if client == provider {
        return Some(Cell::Exact);
    }
    let Some((heard, dropped, calls)) = heard(provider, &spoken) else { return Some(Cell::Refused) };
    let after = (feature.probe)(&heard);
    Some(if before == after {
        if calls > 1 { Cell::Translated } else { Cell::Exact }
    } else if !dropped.is_empty() && !(feature.kept)(&heard) {
        Cell::Dropped
    } else if (feature.kept)(&heard) {
        Cell::Translated
    } else {
        Cell::Lost(format!("{before} became {after}"))
    })
}

fn answers() -> Vec<Given> {
    let vectors: fn(&Response) -> String = |r| format!("{:?}", r.vectors);
    vec![
        Given { name: "vector", kind: Kind::Float, probe: vectors },
        Given { name: "base64", kind: Kind::Base64, probe: vectors },
        Given {
            name: "usage",
            kind: Kind::Float,
            probe: |r| format!("{:?}", r.usage.map(|usage| usage.input)),
        },
    ]
}

/// What a client that wants floats is given.
fn given(feature: &Given, provider: Form, client: Form) -> Option<Cell> {
    // On Bedrock nobody has it.
    if feature.kind == Kind::Base64 && provider == Form::CohereOnBedrock {
        return None;
    }
    let one = if feature.kind == Kind::Base64 { r#""AACAPw==""# } else { "[1.0]" };
    let vectors = vec![Vectors { kind: feature.kind.clone(), list: vec![Json::fixed(one)] }];
    let usage = Some(Usage { input: 7, ..Usage::default() });
    let response = Response { vectors, usage, ..Response::default() };
    let pass = |form: Form, response: &Response, kind: &Kind| {
        let mut request = plain(form);
        request.kinds = vec![kind.clone()];
        let encoded = codec(form).encode_response(&request, response, &context()).ok()?;
        codec(form).decode_response(&encoded.body.into()).ok()
    };
    let spoken = pass(provider, &response, &response.vectors[0].kind)?;
    let before = (feature.probe)(&spoken);
    if before != (feature.probe)(&response) {
        return None;
    }
    if provider == client {
        return Some(Cell::Exact);
    }
    let Some(got) = pass(client, &spoken, &Kind::Float) else {
        return Some(Cell::Lost("no answer".to_owned()));
    };
    let after = (feature.probe)(&got);
    Some(match before == after {
        true => Cell::Exact,
        false if got.vectors[0].list == [Json::fixed("[1.0]")] && feature.name == "base64" => {
            Cell::Translated
        }
        // The gateway tells it in a header, as the vendor does.
        false if client == Form::CohereOnBedrock && feature.name == "usage" => Cell::Translated,
        false => Cell::Lost(format!("{before} became {after}")),
    })
}

type Row<'a> = (&'static str, Box<dyn Fn(Form, Form) -> Option<Cell> + 'a>);

fn table(page: &mut String, lost: &mut Vec<String>, (from, to): (&str, &str), rows: Vec<Row<'_>>) {
    write!(page, "\n| feature | {from} |").unwrap();
    Form::ALL.iter().for_each(|form| write!(page, " {to} {} |", form.name()).unwrap());
    page.push_str("\n|---|---|");
    page.push_str(&"---|".repeat(Form::ALL.len()));
    page.push('\n');
    for (feature, cell) in rows {
        for one in Form::ALL {
            let cells: Vec<_> =
                Form::ALL.iter().filter_map(|other| Some((*other, cell(one, *other)?))).collect();
            if cells.is_empty() {
                continue;
            }
            write!(page, "| {feature} | {} |", one.name()).unwrap();
            for (other, cell) in cells {
                if let Cell::Lost(what) = &cell {
                    lost.push(format!("embeddings: {feature}: {} to {}: {what}", one.name(), other.name()));
                }
                write!(page, " {} |", cell.mark()).unwrap();
            }
            page.push('\n');
        }
    }
}

/// The section of the page.
pub(crate) fn section(page: &mut String, lost: &mut Vec<String>) {
    page.push_str(
        "\n## Embeddings\n\nThe forms of bodies: `gemini` is `embedContent`, `gemini-batch` `batchEmbedContents`, and on Bedrock each family of\n\
         models has its own. Texts that take several calls of a provider are `~`.\n",
    );
    let requests = requests();
    let asked = requests
        .iter()
        .map(|feature| -> Row<'_> { (feature.name, Box::new(|from, to| told(feature, from, to))) });
    table(page, lost, ("client", "to"), asked.collect());
    page.push_str("\nAnswers, for clients that want numbers:\n");
    let answers = answers();
    let told = answers
        .iter()
        .map(|feature| -> Row<'_> { (feature.name, Box::new(|from, to| given(feature, from, to))) });
    table(page, lost, ("provider", "for"), told.collect());
}
