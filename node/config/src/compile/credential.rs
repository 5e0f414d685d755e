//! The keys of a provider: what requests present, or how it is fetched.

use super::{
    Secrets, check_name,
    cloud::{self, Reader},
    secret::Source,
};
use crate::{Credential, ProviderEntry, ProviderKey, hash, path::Path, problem::Findings};
use std::{collections::HashSet, sync::Arc};
use trestle_provider::{Auth, Cloud, Provider, Proxy, Row, credential::Spec};

/// The keys of a provider, and what they are compiled with.
pub(super) struct Keys<'a> {
    pub(super) provider: &'a str,
    pub(super) entry: &'a ProviderEntry,
    pub(super) row: &'a Row,
    pub(super) vendor: &'a dyn Provider,
    pub(super) secrets: &'a dyn Secrets,
    /// The proxy of the provider.
    pub(super) proxy: Option<&'a Proxy>,
}

impl Keys<'_> {
    /// Those that can be used; one that presents nothing where there are none.
    pub(super) fn compile(&self, path: &Path<'_>, findings: &mut Findings) -> Vec<Arc<Credential>> {
        let keys = &self.entry.keys;
        let path = path.member("keys");
        if keys.is_empty() {
            self.nothing(&path, findings);
            return vec![Arc::new(no_key(self.provider))];
        }
        if self.row.auth == Auth::None {
            findings.problem(
                &path,
                "would never be sent, for `auth` is `none`; set `auth: bearer` or remove them",
            );
        }
        if keys.iter().all(|key| key.weight == 0) {
            findings.problem(&path, "have no weight above 0; give one of them a share");
        }
        let (mut names, mut made) = (HashSet::new(), Vec::new());
        for (index, key) in keys.iter().enumerate() {
            let path = path.item(index);
            check_name(&key.name, &path.member("name"), findings);
            if !names.insert(&key.name) {
                findings.problem(&path.member("name"), format!("`{}` is there twice; rename one", key.name));
            }
            made.extend(self.key(key, &path, findings).map(Arc::new));
        }
        made
    }

    fn nothing(&self, path: &Path<'_>, findings: &mut Findings) {
        let member = match (self.row.env.first(), self.row.cloud) {
            _ if self.row.auth == Auth::None => return,
            (Some(variable), _) => format!("value: env:{variable}"),
            (None, Some(cloud)) => format!("{}: {{}}", cloud.name()),
            (None, None) => return,
        };
        let message = format!("is empty; write `keys: [{{ name: main, {member} }}]` (or `auth: none`)");
        findings.problem(path, message);
    }

    fn key(&self, key: &ProviderKey, path: &Path<'_>, findings: &mut Findings) -> Option<Credential> {
        let members = [key.value.is_some(), key.aws.is_some(), key.google.is_some(), key.entra.is_some()];
        if members.into_iter().filter(|is| *is).count() != 1 {
            findings.problem(path, "needs exactly one of `value`, `aws`, `google` and `entra`");
            return None;
        }
        if let Some(value) = &key.value {
            return self.value((key, value), &path.member("value"), findings);
        }
        let region = self.row.variables.get("region").map(String::as_str);
        let mut reader = Reader { secrets: self.secrets, findings };
        let (cloud, origins) = if let Some(aws) = &key.aws {
            (Cloud::Aws, cloud::aws(aws, region, &path.member("aws"), &mut reader))
        } else if let Some(google) = &key.google {
            (Cloud::Google, cloud::google(google, &path.member("google"), &mut reader))
        } else {
            let entra = key.entra.as_ref()?;
            (Cloud::Entra, cloud::entra(entra, &path.member("entra"), &mut reader))
        };
        self.suits(cloud, &path.member(cloud.name()), findings)?;
        let spec = Spec { origins: origins?, proxy: self.proxy.cloned() };
        // As it is written: what a file or variable holds may change, and it is the same key.
        let written = serde_json::to_string(key).unwrap_or_default();
        Some(Credential {
            name: key.name.as_str().into(),
            weight: key.weight,
            header: None,
            spec: Some(Arc::new(spec)),
            fingerprint: hash::fingerprint([self.provider, &key.name, &written]),
        })
    }

    /// Tokens go to those they are for: the vendors of a row, or an address that the operator wrote.
    fn suits(&self, cloud: Cloud, path: &Path<'_>, findings: &mut Findings) -> Option<()> {
        let bearer = cloud != Cloud::Aws && self.row.cloud != Some(Cloud::Aws);
        if self.row.cloud == Some(cloud) || (bearer && self.entry.base_url.is_some()) {
            return Some(());
        }
        let takes = match self.row.cloud {
            Some(other) => format!("`value` or `{}`", other.name()),
            None => "`value`".to_owned(),
        };
        findings.problem(path, format!("is not for this vendor; it takes {takes}"));
        None
    }

    fn value(
        &self,
        (key, value): (&ProviderKey, &str),
        path: &Path<'_>,
        findings: &mut Findings,
    ) -> Option<Credential> {
        let source = Source::of(value).map_err(|why| findings.problem(path, why)).ok()?;
        let read = source.read(self.secrets);
        let secret =
            read.map_err(|why| findings.warning(path, format!("{why}; this key is left out"))).ok()?;
        match self.vendor.credential(&secret) {
            Ok(header) => Some(Credential {
                name: key.name.as_str().into(),
                weight: key.weight,
                header,
                spec: None,
                fingerprint: hash::fingerprint([self.provider, &key.name, &secret]),
            }),
            Err(why) => {
                match source.is_literal() {
                    true => findings.problem(path, why),
                    false => findings.warning(path, format!("the key {why}; it is left out")),
                }
                None
            }
        }
    }
}

/// Presents nothing.
pub(super) fn no_key(provider: &str) -> Credential {
    Credential {
        name: "none".into(),
        weight: 1,
        header: None,
        spec: None,
        fingerprint: hash::fingerprint([provider, "none", ""]),
    }
}
