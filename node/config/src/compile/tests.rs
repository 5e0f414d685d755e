//! Compiling: what is refused with which words, and what is made.

use super::*;
use crate::parse;

mod clouds;
mod limits;
mod made;
mod owners;
mod refused;

/// An environment of two keys and a file.
struct Fixed;

impl Secrets for Fixed {
    fn env(&self, name: &str) -> Result<String, String> {
        match name {
            "KEY" | "OPENAI_API_KEY" | "ANTHROPIC_API_KEY" => Ok("sk-fromenv".to_owned()),
            "BATCH_KEY" => Ok("batch-secret\n".to_owned()),
            "EMPTY" => Ok(" ".to_owned()),
            "SPACED" => Ok("sk with space".to_owned()),
            _ => Err(format!("the variable {name} is not set")),
        }
    }

    fn file(&self, path: &str) -> Result<String, String> {
        match path {
            "/run/secrets/inhouse" => Ok("sk-fromfile".to_owned()),
            "/etc/models.jsonl" => {
                Ok("{\"catalog\":1}\n{\"id\":\"inhouse/bert\",\"context_max\":512}".to_owned())
            }
            "/etc/wrong.jsonl" => Ok("{\"catalog\":1}\n{\"id\":\"x\"}".to_owned()),
            "/etc/ssl/inhouse.pem" => Ok("-----BEGIN CERTIFICATE-----\nAAAA".to_owned()),
            _ => Err(format!("there is no file {path}")),
        }
    }

    fn sealed(&self, value: &str) -> Result<String, String> {
        value.strip_prefix("v1.").map(str::to_owned).ok_or_else(|| "it was sealed elsewhere".to_owned())
    }
}

fn compiled(text: &str) -> Compiled {
    compile(&parse(text).unwrap(), 7, &Fixed).unwrap_or_else(|problems| panic!("{text}: {problems}"))
}

fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Compiling says exactly this.
fn check(text: &str, expected: &[&str]) {
    let problems = compile(&parse(text).unwrap(), 1, &Fixed).map(|_| ()).unwrap_err();
    assert_eq!(lines(&problems.0), expected, "{text}");
}

/// Compiling works and warns of exactly this (a document without keys is not what is tested).
fn warns(text: &str, expected: &[&str]) {
    let text = format!("{text}\nsettings: {{ require_keys: false }}\n");
    assert_eq!(lines(&compiled(&text).warnings), expected, "{text}");
}
