//! The headers of each request to the collector. Files are read each time: tokens in them are changed while we run.

use crate::settings::HeaderSource;
use anyhow::{Context, anyhow};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The headers as they are now. Errors name the header, never its value.
pub(super) fn read(sources: &[(HeaderName, HeaderSource)]) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, source) in sources {
        let text = match source {
            HeaderSource::Value(value) => value.clone(),
            HeaderSource::Variable(variable) => std::env::var(variable)
                .map_err(|_| anyhow!("`otlp.headers`: {name}: the variable {variable} is not set"))?,
            HeaderSource::File(path) => std::fs::read_to_string(path).with_context(|| {
                format!("`otlp.headers`: {name}: the file {} cannot be read", path.display())
            })?,
        };
        let mut value = HeaderValue::from_str(text.trim())
            .map_err(|_| anyhow!("`otlp.headers`: {name}: the value holds what no header can"))?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_where_they_stand_and_never_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "Bearer one\n").unwrap();
        let name = |name: &'static str| HeaderName::from_static(name);
        let sources = [
            (name("authorization"), HeaderSource::File(file.clone())),
            (name("tenant"), HeaderSource::Value("core".to_owned())),
        ];
        let headers = read(&sources).unwrap();
        assert_eq!(
            (&headers["authorization"], &headers["tenant"]),
            (&"Bearer one".parse().unwrap(), &"core".parse().unwrap())
        );
        std::fs::write(&file, "Bearer two").unwrap();
        assert_eq!(read(&sources).unwrap()["authorization"], "Bearer two");
        std::fs::write(&file, "hush\u{1}").unwrap();
        let error = format!("{:#}", read(&sources).unwrap_err());
        assert!(error.contains("authorization: the value holds") && !error.contains("hush"), "{error}");
        let unset = [(name("a"), HeaderSource::Variable("TRESTLE_NO_SUCH_VARIABLE".to_owned()))];
        assert!(read(&unset).unwrap_err().to_string().contains("TRESTLE_NO_SUCH_VARIABLE is not set"));
    }
}
