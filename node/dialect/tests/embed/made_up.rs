//! Requests and answers made up at random, as far as each form can express them.

use crate::strategies::json::{text, word};
use proptest::{collection::vec, option, prelude::*, sample::select};
use trestle_dialect::{
    Dialect,
    embed::{Content, Form, Input, Kind, Request, Response, Task, Truncation, Vectors},
    ir::{Attachment, Json, Text, Usage},
};

const PICTURE: &str = "data:image/png;base64,iVBORw0KGgo=";

/// Whose words the members are.
pub(crate) fn words(form: Form) -> Dialect {
    if form == Form::CohereOnBedrock { Dialect::CohereChat } else { form.api().dialect() }
}

fn attachments(form: Form) -> impl Strategy<Value = Vec<Attachment>> {
    let value = select(vec!["1", "true", r#"{"a": [1]}"#, r#""x""#]).prop_map(Json::fixed);
    let one = ("x_[a-z]{1,4}", value).prop_map(move |(name, value)| Attachment {
        dialect: words(form),
        name: Text::new(&name),
        value,
    });
    option::weighted(0.3, one).prop_map(|one| one.into_iter().collect())
}

fn texts() -> BoxedStrategy<Content> {
    text().prop_map(Content::Text).boxed()
}

fn contents(form: Form) -> BoxedStrategy<Vec<Content>> {
    let own = |json: &'static str| Just(Content::Own(Json::fixed(json)));
    match form {
        Form::OpenAi => {
            let tokens = vec(0_u32..200_000, 1..4);
            let tokens =
                tokens.prop_map(|numbers| Content::Tokens(Json::parse(&format!("{numbers:?}")).unwrap()));
            prop_oneof![vec(texts(), 1..4), vec(tokens, 1..3)].boxed()
        }
        Form::GeminiBatch | Form::Gemini => {
            let own =
                own(r#"{"parts": [{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}"#);
            let one = prop_oneof![4 => texts(), 1 => own];
            let count = if form == Form::Gemini { 1..2 } else { 1..4 };
            vec(one, count).boxed()
        }
        Form::Cohere | Form::CohereOnBedrock => {
            let picture = || Just(Content::Picture(Text::new(PICTURE)));
            let own = own(
                r#"{"content": [{"type":"text","text":"a"},{"type":"image_url","image_url":"data:,x"}]}"#,
            );
            let mixed = prop_oneof![texts(), picture(), own];
            prop_oneof![vec(texts(), 1..4), vec(picture(), 1..3), vec(mixed, 1..4)].boxed()
        }
        Form::Titan => {
            let pair = own(r#"{"inputText":"a","inputImage":"eA=="}"#);
            let alone = own(r#"{"inputImage":"eA=="}"#);
            vec(prop_oneof![4 => texts(), 1 => pair, 1 => alone], 1).boxed()
        }
        Form::Nova => {
            let image = own(r#"{"image":{"format": "png","source":{"bytes":"eA=="}}}"#);
            vec(prop_oneof![4 => texts(), 1 => image], 1).boxed()
        }
    }
}

fn tasks(form: Form) -> BoxedStrategy<Option<Task>> {
    use Task::*;
    let all = |tasks: Vec<Task>| select(tasks).boxed();
    let common = vec![Query, Document, Classification, Clustering];
    let other = || Other(Text::fixed("SOMETHING_NEW"));
    match form {
        Form::OpenAi => option::of(all(common)).boxed(),
        Form::GeminiBatch | Form::Gemini => {
            option::of(all([common, vec![Similarity, Question, Claim, CodeQuery, other()]].concat())).boxed()
        }
        // These must say it.
        Form::Cohere | Form::CohereOnBedrock => {
            all([common, vec![Picture, other()]].concat()).prop_map(Some).boxed()
        }
        Form::Nova => all([common, vec![other()]].concat()).prop_map(Some).boxed(),
        Form::Titan => Just(None).boxed(),
    }
}

fn kinds(form: Form) -> BoxedStrategy<Vec<Kind>> {
    let own = |word: &'static str| Kind::Own(Text::fixed(word));
    let lists = match form {
        Form::OpenAi => vec![vec![], vec![Kind::Float], vec![Kind::Base64]],
        Form::GeminiBatch | Form::Gemini | Form::Nova => vec![vec![]],
        Form::Cohere => vec![vec![Kind::Float], vec![Kind::Base64, own("int8")], vec![own("ubinary")]],
        Form::CohereOnBedrock => vec![vec![], vec![Kind::Float], vec![own("int8"), Kind::Float]],
        Form::Titan => vec![vec![], vec![Kind::Float], vec![own("binary")], vec![Kind::Float, own("binary")]],
    };
    select(lists).boxed()
}

fn truncation(form: Form) -> BoxedStrategy<Option<Truncation>> {
    let any = || select(vec![Truncation::Refuse, Truncation::Start, Truncation::End]);
    match form {
        Form::Cohere | Form::CohereOnBedrock => option::of(any()).boxed(),
        Form::Nova => any().prop_map(Some).boxed(),
        _ => Just(None).boxed(),
    }
}

fn dimensions() -> impl Strategy<Value = Option<u64>> {
    option::of(select(vec![256_u64, 1024, 3072]))
}

/// A request.
pub(crate) fn request(form: Form) -> BoxedStrategy<Request> {
    if form == Form::GeminiBatch || form == Form::Gemini {
        return gemini(form);
    }
    let user = if form == Form::OpenAi { option::of(text()).boxed() } else { Just(None).boxed() };
    (contents(form), tasks(form), kinds(form), truncation(form), dimensions(), user, attachments(form))
        .prop_map(move |(contents, task, kinds, truncation, dimensions, user, attachments)| {
            let is_text = contents.iter().all(|content| matches!(content, Content::Text(_)));
            let input = |content| Input { task: task.clone(), dimensions, ..Input::new(content) };
            let inputs = contents.into_iter().map(input).collect();
            // What Nova embeds beside texts says nothing of truncation.
            let truncation = truncation.filter(|_| is_text || form != Form::Nova);
            Request { form, inputs, kinds, truncation, user, attachments }
        })
        .boxed()
}

fn gemini(form: Form) -> BoxedStrategy<Request> {
    let one = (tasks(form), option::of(text()), dimensions(), attachments(form));
    (contents(form), vec(one, 3), attachments(form))
        .prop_map(move |(contents, settings, attachments)| {
            let input = |(content, (task, title, dimensions, attachments))| Input {
                content,
                task,
                title,
                dimensions,
                attachments,
            };
            let inputs = contents.into_iter().zip(settings).map(input).collect();
            // The members of one request alone all stand beside its content.
            let attachments = if form == Form::GeminiBatch { attachments } else { Vec::new() };
            Request { inputs, attachments, ..Request::new(form) }
        })
        .boxed()
}

fn vector(kind: &Kind) -> BoxedStrategy<Json> {
    let all = match kind {
        Kind::Float => vec!["[0.25,-1.0]", "[ 1e-7 , -0.000, 12345678901234567890 ]", "[1]"],
        Kind::Base64 => vec![r#""AACAPwAAAL8=""#, r#""AACAPw==""#],
        Kind::Own(_) => vec!["[-128, 127]", "[0,1,1]"],
    };
    select(all).prop_map(Json::fixed).boxed()
}

fn vectors(kinds: Vec<Kind>, count: usize) -> BoxedStrategy<Vec<Vectors>> {
    let lists: Vec<_> = kinds.iter().map(|kind| vec(vector(kind), count)).collect();
    let named = move |lists: Vec<Vec<Json>>| {
        kinds.iter().cloned().zip(lists).map(|(kind, list)| Vectors { kind, list }).collect()
    };
    lists.prop_map(named).boxed()
}

/// A request, and an answer to it.
pub(crate) fn exchange(form: Form) -> BoxedStrategy<(Request, Response)> {
    let answer = move |request: Request| {
        let kinds = if request.kinds.is_empty() { vec![Kind::Float] } else { request.kinds.clone() };
        let named = matches!(form, Form::OpenAi | Form::Cohere | Form::CohereOnBedrock);
        let id = if named { word().boxed() } else { Just(Text::default()).boxed() };
        let model = if form == Form::OpenAi { word().boxed() } else { Just(Text::default()).boxed() };
        // Where the count is always there, and where it never is.
        let usage = match form {
            Form::OpenAi | Form::Titan => (0_u64..9999).prop_map(Some).boxed(),
            Form::CohereOnBedrock => Just(None).boxed(),
            _ => option::of(0_u64..9999).boxed(),
        };
        let usage = usage.prop_map(|count| count.map(|input| Usage { input, ..Usage::default() }));
        (vectors(kinds, request.inputs.len()), id, model, usage, attachments(form)).prop_map(
            move |(vectors, id, model, usage, attachments)| {
                (request.clone(), Response { id, model, vectors, usage, attachments })
            },
        )
    };
    request(form).prop_flat_map(answer).boxed()
}
