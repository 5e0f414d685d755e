//! The description of the admin API: OpenAPI 3.1 from the handlers and the document's types, and a page that shows it
//! without scripts or anything from elsewhere.

use super::api;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Map, Value, json};
use std::{fmt::Write as _, sync::LazyLock};
use utoipa::openapi::OpenApi;

/// The description, as JSON and as a page; made when somebody asks for it.
struct Description {
    json: String,
    page: String,
}

static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| Description::new(&api::described()));

/// What the handlers do not say of themselves.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Trestle admin API",
        description = "What operators set and ask. Every request but those for this description needs an admin token: \
                       `authorization: Bearer TOKEN`."
    ),
    security(("admin-token" = [])),
    components(schemas(super::Problem))
)]
pub(super) struct Base;

impl Description {
    /// From what the handlers say.
    fn new(api: &OpenApi) -> Self {
        let mut described = serde_json::to_value(api).unwrap_or_default();
        described["components"]["securitySchemes"] =
            json!({"admin-token": {"type": "http", "scheme": "bearer"}});
        for (path, item) in members_mut(&mut described["paths"]) {
            for (method, operation) in members_mut(item) {
                complete(operation, &format!("{method}{path}"));
            }
        }
        let schemas = &mut described["components"]["schemas"];
        for (name, schema) in document_schemas() {
            schemas[name] = schema;
        }
        Self { page: page(&described), json: format!("{described:#}") }
    }
}

/// Gives an operation an id that no other has, and each response the description that it must have.
fn complete(operation: &mut Value, name: &str) {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    operation["operationId"] = words.collect::<Vec<_>>().join("_").into();
    for (status, response) in members_mut(&mut operation["responses"]) {
        if response.get("description").is_none() {
            let status = StatusCode::from_bytes(status.as_bytes()).ok();
            response["description"] = status.and_then(|status| status.canonical_reason()).into();
        }
    }
}

/// The schemas of the document's types, which refer to each other where OpenAPI keeps schemas.
fn document_schemas() -> Map<String, Value> {
    let text = trestle_config::schema().replace("#/$defs/", "#/components/schemas/");
    let mut document: Value = serde_json::from_str(&text).unwrap_or_default();
    let definitions = document.as_object_mut().and_then(|document| document.remove("$defs"));
    let mut schemas = match definitions {
        Some(Value::Object(schemas)) => schemas,
        _ => Map::new(),
    };
    schemas.insert("Document".to_owned(), document);
    schemas
}

/// `GET /api/openapi.json`.
pub(super) async fn json() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], &*DESCRIPTION.json).into_response()
}

/// `GET /api/docs`.
pub(super) async fn docs() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
    ];
    (headers, &*DESCRIPTION.page).into_response()
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
code,pre{font:13px/1.4 ui-monospace,monospace;background:#f4f4f2;border-radius:3px}code{padding:1px 4px}pre{padding:.6rem;\
overflow:auto}table{border-collapse:collapse;margin:.4rem 0}td,th{text-align:left;vertical-align:top;padding:.15rem .8rem \
.15rem 0;border-top:1px solid #ddd}section{margin:1.2rem 0;border-top:1px solid #bbb}b.method{display:inline-block;\
min-width:4.2rem}@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}code,pre{background:#262626}}";

fn page(described: &Value) -> String {
    let mut out = String::new();
    let title = text(&described["info"]["title"]);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<!doctype html><meta charset=utf-8><title>{title}</title><style>{STYLE}</style><h1>{title}</h1>\
         <p>{}</p><p><a href=/api/openapi.json>OpenAPI 3.1</a></p>",
        text(&described["info"]["description"])
    );
    let mut operations: Vec<_> = members(&described["paths"])
        .flat_map(|(path, item)| members(item).map(move |(method, operation)| (path, method, operation)))
        .collect();
    operations.sort_by_key(|(path, _, operation)| (text(&operation["tags"][0]), path.len()));
    let mut tag = String::new();
    for (path, method, operation) in operations {
        let its = text(&operation["tags"][0]);
        if its != tag {
            let _ = write!(out, "<h2>{its}</h2>");
            tag = its;
        }
        show_operation(&mut out, (path, method), operation);
    }
    out.push_str("<h2>Schemas</h2>");
    for (name, schema) in members(&described["components"]["schemas"]) {
        let _ = write!(out, "<section id=\"{0}\"><h3>{0}</h3>", escaped(name));
        show_schema(&mut out, schema);
        out.push_str("</section>");
    }
    out
}

fn show_operation(out: &mut String, (path, method): (&str, &str), operation: &Value) {
    let summary = [&operation["summary"], &operation["description"]].map(text).join(" ");
    let _ = write!(
        out,
        "<section><h3><b class=method>{}</b> <code>{}</code></h3><p>{summary}</p>",
        method.to_uppercase(),
        escaped(path)
    );
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !parameters.is_empty() {
        out.push_str("<table><tr><th>parameter<th>in<th>what");
        for parameter in parameters {
            let [name, place, what] = ["name", "in", "description"].map(|member| text(&parameter[member]));
            let _ = write!(out, "<tr><td><code>{name}</code><td>{place}<td>{what}");
        }
        out.push_str("</table>");
    }
    for (kind, content) in members(&operation["requestBody"]["content"]) {
        let what = text(&operation["requestBody"]["description"]);
        let _ =
            write!(out, "<p>Body: <code>{}</code> {} {what}</p>", escaped(kind), link(&content["schema"]));
    }
    for (status, response) in members(&operation["responses"]) {
        let schema = members(&response["content"]).map(|(_, content)| link(&content["schema"])).next();
        let what = text(&response["description"]);
        let _ = write!(out, "<p>{}: {} {what}</p>", escaped(status), schema.unwrap_or_default());
    }
    out.push_str("</section>");
}

fn show_schema(out: &mut String, schema: &Value) {
    let _ = write!(out, "<p>{}</p>", text(&schema["description"]));
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let all = std::iter::once(schema).chain(parts);
    let mut rows = String::new();
    for (name, member) in all.clone().flat_map(|schema| members(&schema["properties"])) {
        let what = text(&member["description"]);
        let _ = write!(rows, "<tr><td><code>{}</code><td>{}<td>{what}", escaped(name), link(member));
    }
    if !rows.is_empty() {
        let _ = write!(out, "<table><tr><th>member<th>type<th>what{rows}</table>");
    }
    for part in all.skip(1).filter(|part| part.get("$ref").is_some()) {
        let _ = write!(out, "<p>and all of {}</p>", link(part));
    }
}

/// The type of a schema, with a link to where it is described.
fn link(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        return format!("<a href=\"#{0}\">{0}</a>", escaped(name));
    }
    let several = ["oneOf", "anyOf"].iter().find_map(|member| schema[*member].as_array());
    if let Some(several) = several {
        return several.iter().map(link).collect::<Vec<_>>().join(" or ");
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", link(&schema["items"])),
        Value::String(kind) => escaped(kind),
        Value::Array(kinds) => kinds.iter().map(text).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn members_mut(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
