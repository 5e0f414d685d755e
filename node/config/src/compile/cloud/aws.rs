//! Credentials of AWS.

use super::Reader;
use crate::{AwsContainer, AwsInstance, AwsKey, AwsWebIdentity, path::Path};
use trestle_provider::credential::{
    AssumeRole, Authorization, AwsSource, AwsSpec, Origins, Secret, check_container, check_metadata,
    check_service,
};

/// Names a session where nobody else does.
const SESSION: &str = "trestle";
/// Where a relative URI of a container begins.
const ECS: &str = "http://169.254.170.2";
/// The metadata service of an instance.
const IMDS: &str = "http://169.254.169.254";

/// How credentials of AWS are fetched; `region` is that of the provider.
pub(in crate::compile) fn aws(
    key: &AwsKey,
    region: Option<&str>,
    path: &Path<'_>,
    reader: &mut Reader<'_>,
) -> Option<Origins> {
    let sources = sources(key, path, reader)?;
    let region = key.region.as_deref().or(region).filter(|region| !region.is_empty()).unwrap_or("us-east-1");
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !region.bytes().all(fine) {
        return reader.problem(&path.member("region"), "is no region; write one such as `eu-west-1`");
    }
    let sts_url = match &key.sts_url {
        Some(url) => reader.url(url.clone(), &path.member("sts_url"), check_service)?,
        None if region.starts_with("cn-") => format!("https://sts.{region}.amazonaws.com.cn"),
        None => format!("https://sts.{region}.amazonaws.com"),
    };
    let assume_role = match &key.assume_role {
        None => None,
        Some(role) => {
            let path = path.member("assume_role");
            let role_arn = role_arn(role.role_arn.clone(), &path.member("role_arn"), reader)?;
            let session = role.session_name.clone().unwrap_or_else(|| SESSION.to_owned());
            let session_name = session_name(session, &path.member("session_name"), reader)?;
            Some(AssumeRole { role_arn, external_id: role.external_id.clone(), session_name })
        }
    };
    Some(Origins::Aws(AwsSpec { sources, assume_role, sts_url, region: region.to_owned() }))
}

/// The one that is written, or those that the environment may have, in the order in which AWS looks for them.
fn sources(key: &AwsKey, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<Vec<AwsSource>> {
    let keys = key.access_key_id.is_some() || key.secret_access_key.is_some() || key.session_token.is_some();
    let profile = key.profile.is_some() || key.credentials_file.is_some();
    let written =
        [keys, profile, key.web_identity.is_some(), key.container.is_some(), key.instance.is_some()];
    if written.into_iter().filter(|is| *is).count() > 1 {
        let message = "says where keys come from more than once; keep one of `access_key_id`, `profile`, \
                       `web_identity`, `container`, `instance`";
        return reader.problem(path, message);
    }
    let one = if keys {
        static_keys(key, path, reader)?
    } else if profile {
        let file = match &key.credentials_file {
            Some(file) => file.clone(),
            None => match credentials_file(reader) {
                Some(file) => file,
                None => {
                    return reader
                        .missing(&path.member("credentials_file"), "is not set, and there is no HOME");
                }
            },
        };
        AwsSource::Profile {
            file: file.into(),
            name: key.profile.clone().unwrap_or_else(|| "default".to_owned()),
        }
    } else if let Some(identity) = &key.web_identity {
        web_identity(identity, &path.member("web_identity"), reader)?
    } else if let Some(container) = &key.container {
        match self::container(container, &path.member("container"), reader)? {
            Some(source) => source,
            None => {
                return reader
                    .missing(&path.member("container"), "has no `url`, and neither has the environment");
            }
        }
    } else if let Some(instance) = &key.instance {
        self::instance(instance, &path.member("instance"), reader)?
    } else {
        return usual(path, reader);
    };
    Some(vec![one])
}

fn static_keys(key: &AwsKey, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<AwsSource> {
    let (Some(id), Some(secret)) = (&key.access_key_id, &key.secret_access_key) else {
        return reader.problem(path, "needs both `access_key_id` and `secret_access_key`");
    };
    let access_key_id = reader.text(id, &path.member("access_key_id"))?;
    let secret_access_key = reader.secret(secret, &path.member("secret_access_key"))?;
    let session_token =
        reader.optional_secret(key.session_token.as_deref(), &path.member("session_token"))?;
    if !access_key_id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return reader
            .problem(&path.member("access_key_id"), "has characters that no id of an access key has");
    }
    Some(AwsSource::Keys { access_key_id, secret_access_key, session_token })
}

fn credentials_file(reader: &Reader<'_>) -> Option<String> {
    let home = || reader.env("HOME").map(|home| format!("{home}/.aws/credentials"));
    reader.env("AWS_SHARED_CREDENTIALS_FILE").or_else(home)
}

fn web_identity(identity: &AwsWebIdentity, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<AwsSource> {
    let at = path.member("role_arn");
    let role = reader.or_env(identity.role_arn.as_deref(), "AWS_ROLE_ARN", &at)?;
    let role_arn = role_arn(role, &at, reader)?;
    let at = path.member("token_file");
    let token_file =
        reader.or_env(identity.token_file.as_deref(), "AWS_WEB_IDENTITY_TOKEN_FILE", &at)?.into();
    let session = identity.session_name.clone().or_else(|| reader.env("AWS_ROLE_SESSION_NAME"));
    let session = session.unwrap_or_else(|| SESSION.to_owned());
    let session_name = session_name(session, &path.member("session_name"), reader)?;
    Some(AwsSource::WebIdentity { role_arn, token_file, session_name })
}

fn container(
    container: &AwsContainer,
    path: &Path<'_>,
    reader: &mut Reader<'_>,
) -> Option<Option<AwsSource>> {
    let relative = || reader.env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|uri| format!("{ECS}{uri}"));
    let url = container.url.clone().or_else(relative);
    let Some(url) = url.or_else(|| reader.env("AWS_CONTAINER_CREDENTIALS_FULL_URI")) else {
        return Some(None);
    };
    let url = reader.url(url, &path.member("url"), check_container)?;
    let file = container.token_file.clone().or_else(|| reader.env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
    let authorization = match file {
        Some(file) => Some(Authorization::File(file.into())),
        None => {
            let text = reader.env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
            text.map(|text| Authorization::Text(Secret::new(text)))
        }
    };
    Some(Some(AwsSource::Container { url, authorization }))
}

fn instance(instance: &AwsInstance, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<AwsSource> {
    let url = instance.url.clone().or_else(|| reader.env("AWS_EC2_METADATA_SERVICE_ENDPOINT"));
    let url = reader.url(url.unwrap_or_else(|| IMDS.to_owned()), &path.member("url"), check_metadata)?;
    Some(AwsSource::Instance { url })
}

/// What the environment may have.
fn usual(path: &Path<'_>, reader: &mut Reader<'_>) -> Option<Vec<AwsSource>> {
    if let (Some(access_key_id), Some(secret)) =
        (reader.env("AWS_ACCESS_KEY_ID"), reader.env("AWS_SECRET_ACCESS_KEY"))
    {
        let session_token = reader.env("AWS_SESSION_TOKEN").map(Secret::new);
        return Some(vec![AwsSource::Keys {
            access_key_id,
            secret_access_key: Secret::new(secret),
            session_token,
        }]);
    }
    let mut found = Vec::new();
    if reader.env("AWS_WEB_IDENTITY_TOKEN_FILE").is_some() && reader.env("AWS_ROLE_ARN").is_some() {
        found.push(web_identity(&AwsWebIdentity::default(), path, reader)?);
    }
    if let Some(file) = credentials_file(reader) {
        let name = reader.env("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        found.push(AwsSource::Profile { file: file.into(), name });
    }
    found.extend(container(&AwsContainer::default(), path, reader)?);
    if reader.env("AWS_EC2_METADATA_DISABLED").is_none_or(|value| !value.eq_ignore_ascii_case("true")) {
        found.push(instance(&AwsInstance::default(), path, reader)?);
    }
    if found.is_empty() {
        return reader.missing(path, "has nothing set, and the environment has no credentials of AWS");
    }
    Some(found)
}

fn role_arn(arn: String, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<String> {
    let fine = arn.starts_with("arn:") && arn.len() <= 2048 && arn.bytes().all(|b| b.is_ascii_graphic());
    if fine {
        return Some(arn);
    }
    reader.problem(path, "is no ARN of a role; write one such as `arn:aws:iam::123456789012:role/gateway`")
}

fn session_name(name: String, path: &Path<'_>, reader: &mut Reader<'_>) -> Option<String> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"_=,.@-".contains(&b);
    if (2..=64).contains(&name.len()) && name.bytes().all(fine) {
        return Some(name);
    }
    reader.problem(path, "must have 2 to 64 letters, digits and `_=,.@-`")
}
