//! From where a key may be used, with which headers, and at which providers.

use super::names::Names;
use crate::{
    Access, CallerKey, Network, RequiredHeader, path::Path, problem::Findings, suggest::did_you_mean,
};
use http::{HeaderName, HeaderValue};

/// Most networks, and most headers, of one key: each request is held against all.
const NETWORKS_MAX: usize = 256;
const HEADERS_MAX: usize = 32;

/// `path` is that of the key.
pub(super) fn compile(
    key: &CallerKey,
    names: &Names<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Access {
    let providers = path.member("providers");
    for (index, name) in key.providers.iter().enumerate() {
        if !names.providers.contains(name.as_str()) {
            let meant = did_you_mean(name, names.providers.iter().copied());
            findings.warning(&providers.item(index), format!("`{name}` is not in `providers`{meant}"));
        }
    }
    Access {
        providers: key.providers.iter().map(|name| name.as_str().into()).collect(),
        networks: networks(&key.ip_allow, &path.member("ip_allow"), findings).into(),
        headers: headers(key, &path.member("required_headers"), findings).into(),
    }
}

/// Addresses and networks, as they are written.
pub(super) fn networks(texts: &[String], path: &Path<'_>, findings: &mut Findings) -> Vec<Network> {
    if texts.len() > NETWORKS_MAX {
        findings.problem(path, format!("are more than {NETWORKS_MAX}; write networks such as `10.0.0.0/8`"));
    }
    let mut made = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        match Network::parse(text) {
            Ok(network) => made.push(network),
            Err(why) => findings.problem(&path.item(index), why),
        }
    }
    made
}

fn headers(key: &CallerKey, path: &Path<'_>, findings: &mut Findings) -> Vec<RequiredHeader> {
    if key.required_headers.len() > HEADERS_MAX {
        findings.problem(path, format!("are more than {HEADERS_MAX}; remove some"));
    }
    let mut made: Vec<RequiredHeader> = Vec::new();
    for (name, value) in &key.required_headers {
        let path = path.member(name);
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            findings.problem(&path, "is no name of a header");
            continue;
        };
        if made.iter().any(|header| header.name == name) {
            findings.problem(&path, "is there twice, for case does not count; remove one");
        }
        let wanted = match value.as_str() {
            "*" => None,
            text => match HeaderValue::from_str(text) {
                Ok(wanted) if !text.is_empty() && text.trim() == text => Some(wanted),
                _ => {
                    findings
                        .problem(&path, "must be text without white space around it, or `*` for any value");
                    continue;
                }
            },
        };
        made.push(RequiredHeader { name, value: wanted });
    }
    made
}
