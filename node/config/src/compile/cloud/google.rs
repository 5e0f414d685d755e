//! Credentials of Google.

use super::Reader;
use crate::{GoogleKey, GoogleMetadata, compile::secret::Source, path::Path};
use trestle_provider::credential::{
    GoogleSource, GoogleSpec, Origins, Secret, Spec, check_metadata, check_service,
};

/// What tokens are for where nobody says otherwise.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const METADATA: &str = "http://metadata.google.internal";

/// How credentials of Google are fetched.
pub(in crate::compile) fn google(
    key: &GoogleKey,
    path: &Path<'_>,
    reader: &mut Reader<'_>,
) -> Option<Origins> {
    let token_url = match &key.token_url {
        Some(url) => Some(reader.url(url.clone(), &path.member("token_url"), check_service)?),
        None => None,
    };
    for (index, scope) in key.scopes.iter().enumerate() {
        if scope.is_empty() || !scope.bytes().all(|b| b.is_ascii_graphic()) {
            return reader
                .problem(&path.member("scopes").item(index), "is no scope; it is a URL without spaces");
        }
    }
    let scopes = if key.scopes.is_empty() { vec![SCOPE.to_owned()] } else { key.scopes.clone() };
    let source = match (&key.credentials, &key.metadata) {
        (Some(_), Some(_)) => {
            return reader.problem(path, "has both `credentials` and `metadata`; remove one");
        }
        (Some(credentials), None) => {
            let path = path.member("credentials");
            let json = reader.text(credentials, &path)?;
            let made = Origins::Google(GoogleSpec {
                source: GoogleSource::Json(Secret::new(json)),
                scopes,
                token_url,
            });
            let spec = Spec { origins: made, proxy: None };
            return match spec.check() {
                Ok(()) => Some(spec.origins),
                Err(why) if Source::of(credentials).is_ok_and(Source::is_literal) => {
                    reader.problem(&path, why)
                }
                Err(why) => reader.missing(&path, why),
            };
        }
        (None, Some(metadata)) => self::metadata(metadata, &path.member("metadata"), reader)?,
        (None, None) => match reader.env("GOOGLE_APPLICATION_CREDENTIALS") {
            Some(file) => GoogleSource::JsonFile(file.into()),
            None => self::metadata(&GoogleMetadata::default(), path, reader)?,
        },
    };
    Some(Origins::Google(GoogleSpec { source, scopes, token_url }))
}

fn metadata(metadata: &GoogleMetadata, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<GoogleSource> {
    let host = || reader.env("GCE_METADATA_HOST").map(|host| format!("http://{host}"));
    let url = metadata.url.clone().or_else(host).unwrap_or_else(|| METADATA.to_owned());
    reader.url(url, &path.member("url"), check_metadata).map(GoogleSource::Metadata)
}
