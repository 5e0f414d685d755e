//! Nodes that did not answer a question about the cluster: whoever asked is told on stderr.

use serde_json::Value;

/// Nodes that did not answer, by an answer of the API.
pub(super) fn silent_nodes(answer: &Value) -> Vec<String> {
    let named = answer.get("incomplete").and_then(Value::as_array).into_iter().flatten();
    named.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Says on stderr of whom not all is in what is printed.
pub(super) fn tell_silent<'a>(silent: impl IntoIterator<Item = &'a String>) {
    for node in silent {
        eprintln!("not all of it: {node} does not answer");
    }
}
