//! What the dashboards ask, with their variables filled in.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What Grafana fills in: the time of a rate, which it takes from the interval of the scrapes, and the time that is shown.
const FILLED: [(&str, &str); 2] = [("$__rate_interval", "15s"), ("$__range", "1m")];

/// A query, and where it is asked.
pub(crate) struct Query {
    pub(crate) panel: String,
    pub(crate) text: String,
}

/// Where the values that can be chosen come from.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) label: String,
    pub(crate) of: String,
}

/// The folder of the chart.
pub(crate) fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/trestle")
}

/// The dashboards.
fn boards() -> Vec<Value> {
    let files = fs::read_dir(chart().join("dashboards")).expect("the dashboards").flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).expect("a dashboard"));
    texts.map(|text| serde_json::from_str(&text).expect("JSON")).collect()
}

/// A query with everything chosen.
fn filled(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, value) in FILLED {
        text = text.replace(name, value);
    }
    while let Some(at) = text.find('$') {
        let length = text[at + 1..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').count();
        text.replace_range(at..=at + length, ".*");
    }
    text
}

/// The queries of all panels and annotations.
pub(crate) fn queries() -> Vec<Query> {
    let mut found = Vec::new();
    for board in boards() {
        let mut add = |name: &Value, text: &Value| {
            let panel = format!("{} / {}", board["title"].as_str().unwrap(), name.as_str().unwrap());
            found.push(Query { panel, text: filled(text.as_str().unwrap()) });
        };
        for panel in board["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().into_iter().flatten() {
                add(&panel["title"], &target["expr"]);
            }
        }
        for annotation in board["annotations"]["list"].as_array().unwrap() {
            add(&annotation["name"], &annotation["expr"]);
        }
    }
    found
}

/// The variables whose values come from Prometheus.
pub(crate) fn variables() -> Vec<Variable> {
    let mut found = Vec::new();
    for board in boards() {
        for variable in board["templating"]["list"].as_array().unwrap() {
            let Some(text) = variable["query"]["query"].as_str() else { continue };
            let inner = text.strip_prefix("label_values(").and_then(|text| text.strip_suffix(')')).unwrap();
            let (of, label) = inner.rsplit_once(", ").unwrap();
            found.push(Variable { label: label.to_owned(), of: filled(of) });
        }
    }
    found
}
