//! What is known of models: the catalog that ships with the binary or that of a file, and what the document says over it.

use super::{Secrets, secret::Source};
use crate::{Document, path::Path, problem::Findings};
use std::sync::Arc;
use trestle_catalog::{Catalog, Place};

/// The catalog; that of the binary after a problem.
pub(super) fn compile(document: &Document, secrets: &dyn Secrets, findings: &mut Findings) -> Catalog {
    let root = Path::Root;
    let settings = root.member("settings");
    let at = settings.member("catalog");
    let text = document.settings.catalog.as_ref().and_then(|file| match Source::of(file) {
        Ok(source) if !source.is_literal() => match source.read(secrets) {
            Ok(text) => Some(Arc::from(text)),
            Err(why) => {
                findings.warning(&at, format!("{why}; the catalog of the binary is used"));
                None
            }
        },
        _ => {
            findings.problem(&at, "must be `file:PATH`");
            None
        }
    });
    let overrides = document.catalog.clone();
    let problems = match Catalog::with(text, overrides) {
        Ok(catalog) => return catalog,
        Err(problems) => problems,
    };
    let entries = root.member("catalog");
    for problem in problems.0 {
        let message = match problem.member.as_str() {
            "" => problem.message,
            member => format!("{member}: {}", problem.message),
        };
        match &problem.place {
            Place::Line(number) => findings.problem(&at, format!("line {number}: {message}")),
            Place::Override(id) => findings.problem(&entries.member(id), message),
        }
    }
    Catalog::embedded()
}
