//! The document as entities and back: two views of the same. An entity holds only what was set, so that it reads as it
//! was written, and what is not set follows later defaults.

use crate::{
    CallerKey, Document, MockFaults, Problem, Problems, ProviderEntry, ProxyUrl, Retries, Settings, Timeouts,
    parse::{self, Read},
    path::Path,
    structure,
};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use trestle_dialect::Quirks;
use trestle_provider::Endpoints;

/// The version that introduced all members there are so far.
const INTRODUCED: u32 = 1;

/// What kinds of entities there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A vendor account.
    Provider,
    /// A name that clients ask for.
    Model,
    /// A customer.
    Customer,
    /// A team.
    Team,
    /// A user.
    User,
    /// A key of a client.
    Key,
    /// What is said of a model.
    Catalog,
    /// What holds for all requests; there is one.
    Settings,
}

impl Kind {
    /// All of them, in the order of the document.
    pub const ALL: [Self; 8] = [
        Self::Provider,
        Self::Model,
        Self::Customer,
        Self::Team,
        Self::User,
        Self::Key,
        Self::Catalog,
        Self::Settings,
    ];
    /// The id of the one that there is of settings.
    pub const ONLY: &'static str = "all";

    /// The member of the document that holds them.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provider => "providers",
            Self::Model => "models",
            Self::Customer => "customers",
            Self::Team => "teams",
            Self::User => "users",
            Self::Key => "keys",
            Self::Catalog => "catalog",
            Self::Settings => "settings",
        }
    }

    /// All names, each between two marks, for messages.
    pub fn names(mark: &str) -> String {
        Self::ALL.map(|kind| format!("{mark}{}{mark}", kind.name())).join(", ")
    }

    /// The kind of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// An entity of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Entity {
    /// Its kind.
    pub kind: Kind,
    /// Its name in the document.
    pub id: String,
    /// The version that introduced the members that it uses.
    pub introduced: u32,
    /// What is set of it: an object.
    pub value: Value,
}

/// What makes one document of another.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// An entity is new, or has another value.
    Set(Entity),
    /// An entity is gone.
    Removed(Kind, String),
}

impl Difference {
    /// The kind of the entity.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Set(entity) => entity.kind,
            Self::Removed(kind, _) => *kind,
        }
    }

    /// The id of the entity.
    pub fn id(&self) -> &str {
        match self {
            Self::Set(entity) => &entity.id,
            Self::Removed(_, id) => id,
        }
    }
}

/// The entities of a document, by kind and id. Settings that are all as they are by default are none.
pub fn split(document: &Document) -> Result<Vec<Entity>, Problems> {
    let mut entities = Vec::new();
    let provider = value(&ProviderEntry::default())?;
    // Not there is not the same as there with nothing set, so these are made lean only within.
    let optional = [
        ("endpoints", value(&Endpoints::default())?),
        ("quirks", value(&Quirks::default())?),
        ("mock", value(&MockFaults::default())?),
    ];
    for (id, entry) in &document.providers {
        let mut entry = lean(value(entry)?, &provider);
        for (name, default) in &optional {
            if let Some(member) = entry.get_mut(name) {
                *member = lean(member.take(), default);
            }
        }
        entities.push(entity(Kind::Provider, id, entry));
    }
    let target = target_defaults()?;
    for (id, group) in &document.models {
        entities.push(entity(Kind::Model, id, lean_group(value(group)?, &target)));
    }
    entities.extend(all_lean(Kind::Customer, &document.customers)?);
    entities.extend(all_lean(Kind::Team, &document.teams)?);
    entities.extend(all_lean(Kind::User, &document.users)?);
    let key = value(&CallerKey::default())?;
    for (id, entry) in &document.keys {
        let mut members = lean(value(entry)?, &key);
        // Even an empty one, so that its problem is told where it is.
        members["value"] = entry.value.as_str().into();
        entities.push(entity(Kind::Key, id, members));
    }
    for (id, entry) in &document.catalog {
        entities.push(entity(Kind::Catalog, id, value(entry)?));
    }
    let settings = lean(value(&document.settings)?, &value(&Settings::default())?);
    if settings.as_object().is_some_and(|members| !members.is_empty()) {
        entities.push(entity(Kind::Settings, Kind::ONLY, settings));
    }
    Ok(entities)
}

/// A document as a value that holds only what is set, of such entities; nothing is checked.
pub fn gather<'e>(entities: impl IntoIterator<Item = (Kind, &'e str, Value)>) -> Value {
    let mut document = Map::new();
    for (kind, id, value) in entities {
        if kind == Kind::Settings {
            document.insert(kind.name().to_owned(), value);
            continue;
        }
        let of_kind = document.entry(kind.name()).or_insert_with(|| Value::Object(Map::new()));
        if let Some(of_kind) = of_kind.as_object_mut() {
            of_kind.insert(id.to_owned(), value);
        }
    }
    Value::Object(document)
}

/// The document of these entities; problems of form are told by their paths in it. A later entity of the same name takes
/// the place of an earlier one.
pub fn join<'e>(entities: impl IntoIterator<Item = (Kind, &'e str, Value)>) -> Result<Document, Problems> {
    let read = collect(entities);
    if read.faults.is_empty() {
        return parse::document(read.value);
    }
    Err(Problems(read.faults.into_iter().map(|fault| fault.problem).collect()))
}

pub(crate) fn collect<'e>(entities: impl IntoIterator<Item = (Kind, &'e str, Value)>) -> Read {
    let value = gather(entities);
    let faults = structure::check(parse::document_schema(), &value);
    Read { value, faults }
}

/// What has to change to make `after` of `before`; both as `split` gives them.
pub fn differences(before: &[Entity], after: &[Entity]) -> Vec<Difference> {
    let by_name = |entities| {
        let names = |entity: &'_ Entity| (entity.kind, entity.id.clone());
        let entities: &[Entity] = entities;
        entities.iter().map(|entity| (names(entity), entity.clone())).collect::<BTreeMap<_, _>>()
    };
    let (mut old, new) = (by_name(before), by_name(after));
    let mut differences = Vec::new();
    for (name, entity) in new {
        if old.remove(&name).is_none_or(|was| was.value != entity.value) {
            differences.push(Difference::Set(entity));
        }
    }
    differences.extend(old.into_keys().map(|(kind, id)| Difference::Removed(kind, id)));
    differences
}

/// The document as a value that holds only what is set, to be written out.
pub fn dump(document: &Document) -> Result<Value, Problems> {
    let entities = split(document)?;
    Ok(collect(entities.iter().map(|entity| (entity.kind, entity.id.as_str(), entity.value.clone()))).value)
}

/// Where a key of a provider holds secrets.
const KEY_SECRETS: [&[&str]; 5] = [
    &["value"],
    &["aws", "secret_access_key"],
    &["aws", "session_token"],
    &["google", "credentials"],
    &["entra", "client_secret"],
];

/// The values of an entity that stand for secrets of others, each with its path: references, sealed, or in clear.
pub fn secret_values(entity: &mut Entity) -> Vec<(String, &mut String)> {
    let mut found = Vec::new();
    if entity.kind != Kind::Provider {
        return found;
    }
    let root = Path::Root;
    let path = root.member(entity.kind.name());
    let path = path.member(&entity.id);
    for (name, member) in entity.value.as_object_mut().into_iter().flatten() {
        let path = path.member(name);
        match member {
            Value::String(url) if name == "proxy" && ProxyUrl::is_secret(url) => {
                found.push((path.to_string(), url))
            }
            Value::Array(keys) if name == "keys" => {
                for (index, key) in keys.iter_mut().enumerate() {
                    secrets_of(key, &path.item(index), &KEY_SECRETS, &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

/// The texts at these places, each walked to alone, as all of them are handed out at once.
fn secrets_of<'v>(
    value: &'v mut Value,
    path: &Path<'_>,
    places: &[&[&str]],
    found: &mut Vec<(String, &'v mut String)>,
) {
    match value {
        Value::String(text) if places.iter().any(|place| place.is_empty()) => {
            found.push((path.to_string(), text))
        }
        Value::Object(members) => {
            for (name, member) in members {
                let inner: Vec<&[&str]> = places
                    .iter()
                    .filter_map(|place| {
                        place.split_first().filter(|(first, _)| *first == name).map(|(_, rest)| rest)
                    })
                    .collect();
                if !inner.is_empty() {
                    secrets_of(member, &path.member(name), &inner, found);
                }
            }
        }
        _ => {}
    }
}

impl Entity {
    /// An entity with the members of this version.
    pub fn new(kind: Kind, id: &str, value: Value) -> Self {
        entity(kind, id, value)
    }
}

fn entity(kind: Kind, id: &str, value: Value) -> Entity {
    Entity { kind, id: id.to_owned(), introduced: INTRODUCED, value }
}

fn value(of: &impl Serialize) -> Result<Value, Problems> {
    // Our types have text for keys and finite numbers, so that they always are values.
    serde_json::to_value(of).map_err(|error| {
        Problems(vec![Problem {
            path: Path::Root.to_string(),
            message: format!("cannot be written: {error}"),
        }])
    })
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect())
}

/// What a target has where nothing is said.
fn target_defaults() -> Result<Value, Problems> {
    Ok(object([
        ("weight", 1.into()),
        ("params", object([])),
        ("timeouts", value(&Timeouts::default())?),
        ("retries", value(&Retries::default())?),
    ]))
}

/// Without the members that are as they are by default.
fn lean(mut value: Value, default: &Value) -> Value {
    if let (Some(members), Some(defaults)) = (value.as_object_mut(), default.as_object()) {
        members.retain(|name, member| defaults.get(name) != Some(member));
        for (name, member) in members {
            // Members of a map have no defaults, those of a struct have all of them.
            if let Some(default) = defaults.get(name).filter(|default| default.is_object()) {
                *member = lean(member.take(), default);
            }
        }
    }
    value
}

/// Entities whose members are all optional, each without those that are as they are by default.
fn all_lean<T: Serialize + Default>(
    kind: Kind,
    entries: &BTreeMap<String, T>,
) -> Result<Vec<Entity>, Problems> {
    let default = value(&T::default())?;
    entries.iter().map(|(id, entry)| Ok(entity(kind, id, lean(value(entry)?, &default)))).collect()
}

fn lean_group(group: Value, target: &Value) -> Value {
    let none = || Value::Array(Vec::new());
    let default = object([
        ("strategy", "weighted".into()),
        ("fallbacks", none()),
        ("limits", none()),
        ("budgets", none()),
    ]);
    let mut group = lean(group, &default);
    for list in ["targets", "fallbacks"] {
        for entry in group.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            *entry = lean(entry.take(), target);
        }
    }
    group
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    const TEXT: &str = r#"
providers:
  openai: { keys: [{ name: main, value: "env:OPENAI_API_KEY" }, { name: spare, value: "env:SPARE", weight: 3 }] }
  vllm:
    base_url: "http://vllm:8000/v1"
    dialects: [openai-chat]
    headers: { x-team: "" }
    timeouts: { idle_ms: 5000 }
    tls: { server_name: vllm.example }
    concurrency: 8
  mock: { mock: { delay_ms: 5 } }
  plain: { mock: {}, quirks: {}, endpoints: {} }
models:
  fast:
    strategy: ordered
    targets:
      - { model: openai/gpt-4o-mini, params: { temperature: 0, stop: null, extra: {}, list: [] } }
      - { model: vllm/qwen, weight: 7, retries: { max: 0 } }
    fallbacks: [slow, { model: mock/echo, timeouts: { total_ms: 9 } }]
  slow: { targets: [{ model: vllm/large }], limits: [{ concurrent: 3 }] }
customers: { acme: { tags: [a] } }
teams: { growth: { customer: acme, budgets: [{ usd: 0.1, per: month }, { usd: "0.10", per: day }] }, plain: {} }
users: { ada: { team: growth, limits: [{ requests: 5, per: 1m, at_limit: { downgrade: slow }, warn_at: [80] }] } }
keys:
  mine: { value: "env:MINE", user: ada, provider_limits: { openai: { limits: [{ concurrent: 1, at_limit: refuse }] } } }
  app: { value: "sha256:0000000000000000000000000000000000000000000000000000000000000000", models: ["openai/*"] }
  old: { value: "env:OLD", disabled: true }
settings: { attempts_max: 3, timeouts: { total_ms: 1000 } }
"#;

    fn joined(entities: &[Entity]) -> Result<Document, Problems> {
        join(entities.iter().map(|entity| (entity.kind, entity.id.as_str(), entity.value.clone())))
    }

    #[test]
    fn nothing_is_lost_on_the_way_and_back() {
        for text in [TEXT, "{}", "settings: { require_keys: false }", "models: { m: { targets: [] } }"] {
            let document = parse(text).unwrap();
            let entities = split(&document).unwrap();
            assert_eq!(joined(&entities).unwrap(), document, "{text}");
            assert_eq!(split(&joined(&entities).unwrap()).unwrap(), entities, "{text}");
            let dumped = dump(&document).unwrap().to_string();
            assert_eq!(parse(&dumped).unwrap(), document, "{dumped}");
        }
    }

    #[test]
    fn an_entity_holds_only_what_was_set() {
        let entities = split(&parse(TEXT).unwrap()).unwrap();
        let find = |kind, id: &str| {
            let entity = entities.iter().find(|entity| entity.kind == kind && entity.id == id);
            entity.unwrap().value.to_string()
        };
        assert_eq!(find(Kind::Provider, "mock"), r#"{"mock":{"delay_ms":5}}"#);
        assert_eq!(find(Kind::Settings, "all"), r#"{"attempts_max":3,"timeouts":{"total_ms":1000}}"#);
        assert_eq!(find(Kind::Key, "old"), r#"{"disabled":true,"value":"env:OLD"}"#);
        assert_eq!(find(Kind::Team, "plain"), "{}");
        // As it was written, so that it is the same money.
        assert_eq!(
            find(Kind::Team, "growth"),
            r#"{"budgets":[{"per":"month","usd":0.1},{"per":"day","usd":"0.10"}],"customer":"acme"}"#
        );
        assert_eq!(
            find(Kind::Key, "mine"),
            r#"{"provider_limits":{"openai":{"limits":[{"at_limit":"refuse","concurrent":1}]}},"user":"ada","value":"env:MINE"}"#
        );
        // What is sent to a provider is nobody's default.
        assert_eq!(
            find(Kind::Model, "fast"),
            r#"{"fallbacks":["slow",{"model":"mock/echo","timeouts":{"total_ms":9}}],"strategy":"ordered","targets":[{"model":"openai/gpt-4o-mini","params":{"extra":{},"list":[],"stop":null,"temperature":0}},{"model":"vllm/qwen","retries":{"max":0},"weight":7}]}"#
        );
        assert!(split(&Document::default()).unwrap().is_empty());
    }

    #[test]
    fn differences_make_one_document_of_another() {
        let before = split(&parse(TEXT).unwrap()).unwrap();
        let mut other = parse(TEXT).unwrap();
        other.keys.remove("old");
        other.keys.get_mut("app").unwrap().disabled = true;
        other.settings = Settings::default();
        other.models.insert("new".into(), other.models["slow"].clone());
        let after = split(&other).unwrap();
        let found = differences(&before, &after);
        let names: Vec<_> = found
            .iter()
            .map(|difference| match difference {
                Difference::Set(entity) => format!("set {}/{}", entity.kind.name(), entity.id),
                Difference::Removed(kind, id) => format!("removed {}/{id}", kind.name()),
            })
            .collect();
        assert_eq!(names, ["set models/new", "set keys/app", "removed keys/old", "removed settings/all"]);
        assert!(differences(&after, &after).is_empty());
    }

    #[test]
    fn problems_of_form_have_their_paths() {
        let value = |text: &str| serde_json::from_str(text).unwrap();
        let wrong = join([
            (Kind::Key, "k", value(r#"{"valu":"x"}"#)),
            (Kind::Settings, "all", value(r#"{"attempts_max":"many"}"#)),
        ]);
        let paths: Vec<_> = wrong.unwrap_err().0.into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["keys.k.valu", "keys.k.value", "settings.attempts_max"]);
    }

    #[test]
    fn kinds_are_found_by_their_names() {
        for kind in Kind::ALL {
            assert_eq!(Kind::find(kind.name()), Some(kind));
        }
        assert_eq!(Kind::find("projects"), None);
    }
}
