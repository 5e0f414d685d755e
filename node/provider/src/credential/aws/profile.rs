//! Profiles of a shared credentials file.

use crate::credential::{fetch::FetchError, files};
use std::path::Path;

/// The keys of a profile.
pub(super) struct Profile {
    pub(super) id: String,
    pub(super) secret: String,
    pub(super) token: Option<String>,
}

/// Reads a profile.
pub(super) fn read(file: &Path, name: &str) -> Result<Profile, FetchError> {
    let text = files::read(file)?;
    find(&text, name).map_err(|why| match why {
        Wrong::NoProfile => FetchError::Absent(format!("{} has no profile {name}", file.display())),
        Wrong::NoKeys => FetchError::Absent(format!(
            "the profile {name} of {} has no aws_access_key_id and aws_secret_access_key",
            file.display()
        )),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Wrong {
    NoProfile,
    NoKeys,
}

fn find(text: &str, name: &str) -> Result<Profile, Wrong> {
    let (mut inside, mut seen) = (false, false);
    let (mut id, mut secret, mut token) = (None, None, None);
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let section = section.trim();
            inside = section.strip_prefix("profile ").map_or(section, str::trim) == name;
            seen |= inside;
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else { continue };
        let place = match key.trim().to_ascii_lowercase().as_str() {
            "aws_access_key_id" => &mut id,
            "aws_secret_access_key" => &mut secret,
            "aws_session_token" => &mut token,
            _ => continue,
        };
        *place = Some(value.trim().to_owned());
    }
    match (id, secret) {
        (Some(id), Some(secret)) => Ok(Profile { id, secret, token }),
        _ if seen => Err(Wrong::NoKeys),
        _ => Err(Wrong::NoProfile),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found() {
        let text = "# a comment\n[default]\naws_access_key_id = AKID\naws_secret_access_key=s=1+/\n\n[ other ]\n\
                    region=x\n[ profile third ]\nAWS_ACCESS_KEY_ID=A\naws_secret_access_key=B\naws_session_token=C==\n";
        let found = find(text, "default").ok().unwrap();
        assert_eq!((found.id.as_str(), found.secret.as_str(), found.token), ("AKID", "s=1+/", None));
        let found = find(text, "third").ok().unwrap();
        assert_eq!((found.id.as_str(), found.token.as_deref()), ("A", Some("C==")));
        assert_eq!(find(text, "other").err(), Some(Wrong::NoKeys));
        assert_eq!(find(text, "none").err(), Some(Wrong::NoProfile));
    }
}
