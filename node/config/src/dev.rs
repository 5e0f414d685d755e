//! The document of a gateway that was started without one.

use crate::{Document, ProviderEntry, ProviderKey};
use trestle_provider::listed;

/// The listed vendors for which the environment has a key, each with a reference to its variable; nothing else. `env`
/// tells the value of a variable. Vendors that need more than a key are left to a document.
pub fn dev_document(env: impl Fn(&str) -> Option<String>) -> Document {
    let mut document = Document::default();
    for (name, row) in listed() {
        let set = |variable: &&String| env(variable).is_some_and(|value| !value.trim().is_empty());
        let complete = row.variables.values().all(|value| !value.is_empty());
        if let Some(variable) = row.env.iter().find(set).filter(|_| complete) {
            let key = ProviderKey::new("main", format!("env:{variable}"));
            let entry = ProviderEntry { keys: vec![key], ..ProviderEntry::default() };
            document.providers.insert(name.clone(), entry);
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_the_environment_make_providers() {
        let document = dev_document(|name| match name {
            "OPENAI_API_KEY" | "GOOGLE_API_KEY" | "AZURE_OPENAI_API_KEY" => Some("sk-1".to_owned()),
            "GROQ_API_KEY" => Some(" ".to_owned()),
            _ => None,
        });
        let found: Vec<_> = document
            .providers
            .iter()
            .map(|(name, entry)| (name.as_str(), entry.keys[0].value.as_deref().unwrap()))
            .collect();
        assert_eq!(found, [("gemini", "env:GOOGLE_API_KEY"), ("openai", "env:OPENAI_API_KEY")]);
        assert_eq!(dev_document(|_| None), Document::default());
    }
}
