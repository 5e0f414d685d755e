//! The fields of a form, checked as OpenAI does.

use super::super::form::Part;
use super::super::vendor::VendorError;
use super::check::missing;

/// Largest file of sound.
pub(super) const SIZE_MAX: usize = 25 << 20;

/// The fields of a form.
pub(super) struct Fields<'b>(Vec<Part<'b>>);

impl<'b> Fields<'b> {
    /// Refuses names that are not known, and names that stand twice but are no lists.
    pub(super) fn new(parts: Vec<Part<'b>>, known: &[&str]) -> Result<Self, VendorError> {
        for (index, part) in parts.iter().enumerate() {
            let name = &part.name;
            if !known.contains(&name.as_str()) {
                return Err(VendorError::invalid(format!("Unknown parameter: '{name}'."))
                    .at(name)
                    .code("unknown_parameter"));
            }
            if !name.ends_with("[]") && parts[..index].iter().any(|before| before.name == *name) {
                return Err(VendorError::invalid(format!("Duplicate parameter: '{name}'.")).at(name));
            }
        }
        Ok(Self(parts))
    }

    fn find(&self, name: &str) -> Option<&Part<'b>> {
        self.0.iter().find(|part| part.name == name)
    }

    /// The parts of a list, or of the one that is none.
    pub(super) fn files(&self, name: &str) -> Vec<&Part<'b>> {
        self.0.iter().filter(|part| part.name.trim_end_matches("[]") == name).collect()
    }

    pub(super) fn file(&self, name: &str) -> Result<&Part<'b>, VendorError> {
        let part = self.find(name).ok_or_else(|| missing(name))?;
        if part.filename.as_ref().is_none_or(String::is_empty) {
            return Err(
                VendorError::invalid(format!("Expected file, but got a string for '{name}'.")).at(name)
            );
        }
        Ok(part)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, VendorError> {
        let Some(part) = self.find(name) else { return Ok(None) };
        match std::str::from_utf8(part.content) {
            Ok(text) if part.filename.is_none() => Ok(Some(text)),
            _ => Err(VendorError::invalid(format!("Invalid type for '{name}': expected a string.")).at(name)),
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, VendorError> {
        self.text(name)?.filter(|text| !text.is_empty()).ok_or_else(|| missing(name))
    }

    pub(super) fn bool(&self, name: &str) -> Result<bool, VendorError> {
        match self.text(name)? {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => {
                Err(VendorError::invalid(format!("Invalid type for '{name}': expected a boolean.")).at(name))
            }
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, VendorError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let bad =
            || VendorError::invalid(format!("Invalid type for '{name}': expected an integer.")).at(name);
        text.parse().map(Some).map_err(|_| bad())
    }
}
