//! How a credential is fetched: what an operator set and what the environment says, all resolved but for files, which are
//! read at each fetch.

use super::{Secret, google};
use crate::{Cloud, Proxy};
use std::path::{Path, PathBuf};

/// How a credential is fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// From whom.
    pub origins: Origins,
    /// A proxy on the way to vendors; metadata services are never asked through one.
    pub proxy: Option<Proxy>,
}

/// From whom a credential comes.
#[derive(Debug, Clone, PartialEq)]
pub enum Origins {
    /// Amazon.
    Aws(AwsSpec),
    /// Google.
    Google(GoogleSpec),
    /// Microsoft.
    Entra(EntraSpec),
}

/// A credential of Amazon.
#[derive(Debug, Clone, PartialEq)]
pub struct AwsSpec {
    /// Where keys come from; the first that is there counts.
    pub sources: Vec<AwsSource>,
    /// A role to take on with these.
    pub assume_role: Option<AssumeRole>,
    /// The security token service, such as `https://sts.eu-west-1.amazonaws.com`.
    pub sts_url: String,
    /// The region that requests to it are signed for.
    pub region: String,
}

/// Where keys of Amazon come from.
#[derive(Debug, Clone, PartialEq)]
pub enum AwsSource {
    /// They are known.
    Keys {
        /// Names the key.
        access_key_id: String,
        /// The key.
        secret_access_key: Secret,
        /// Of temporary keys.
        session_token: Option<Secret>,
    },
    /// A profile of a shared credentials file.
    Profile {
        /// The file.
        file: PathBuf,
        /// The profile.
        name: String,
    },
    /// A role for a token of a workload (AssumeRoleWithWebIdentity).
    WebIdentity {
        /// The role.
        role_arn: String,
        /// The file with the token.
        token_file: PathBuf,
        /// Names the session in Amazon's logs.
        session_name: String,
    },
    /// The endpoint of a container (ECS, EKS Pod Identity).
    Container {
        /// Where it is.
        url: String,
        /// What it wants to see.
        authorization: Option<Authorization>,
    },
    /// The role of an instance (IMDSv2).
    Instance {
        /// Where the metadata service is.
        url: String,
    },
}

/// What the endpoint of a container wants to see.
#[derive(Debug, Clone, PartialEq)]
pub enum Authorization {
    /// This text.
    Text(Secret),
    /// What is in this file.
    File(PathBuf),
}

/// A role to take on.
#[derive(Debug, Clone, PartialEq)]
pub struct AssumeRole {
    /// The role.
    pub role_arn: String,
    /// What its owner wants to see.
    pub external_id: Option<String>,
    /// Names the session in Amazon's logs.
    pub session_name: String,
}

/// A credential of Google.
#[derive(Debug, Clone, PartialEq)]
pub struct GoogleSpec {
    /// Where it comes from.
    pub source: GoogleSource,
    /// What it is for.
    pub scopes: Vec<String>,
    /// Where tokens are issued, instead of Google's own.
    pub token_url: Option<String>,
}

/// Where a credential of Google comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum GoogleSource {
    /// Credentials in JSON: a service account, an authorized user, or an external account.
    Json(Secret),
    /// The same in a file.
    JsonFile(PathBuf),
    /// The metadata service of a machine, by its URL.
    Metadata(String),
}

/// A credential of Microsoft Entra.
#[derive(Debug, Clone, PartialEq)]
pub struct EntraSpec {
    /// Where it comes from.
    pub source: EntraSource,
    /// What it is for, such as `https://cognitiveservices.azure.com/.default`.
    pub scope: String,
}

/// Where a credential of Microsoft Entra comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum EntraSource {
    /// A secret of an application.
    ClientSecret {
        /// Where tokens of its tenant are issued.
        token_url: String,
        /// The application.
        client_id: String,
        /// Its secret.
        secret: Secret,
    },
    /// A token of a workload.
    Workload {
        /// Where tokens of its tenant are issued.
        token_url: String,
        /// The application.
        client_id: String,
        /// The file with the token.
        token_file: PathBuf,
    },
    /// The identity of a virtual machine.
    Machine {
        /// Where the metadata service is.
        url: String,
        /// Which identity, where there are several.
        client_id: Option<String>,
    },
    /// The identity of an App Service, a Function or a Container App.
    App {
        /// Where it is asked for.
        url: String,
        /// What that wants to see.
        header: Secret,
        /// Which identity, where there are several.
        client_id: Option<String>,
    },
}

impl AwsSource {
    /// The file that it is read from.
    fn file(&self) -> Option<&Path> {
        match self {
            Self::Profile { file, .. } => Some(file),
            Self::WebIdentity { token_file, .. } => Some(token_file),
            Self::Container { authorization: Some(Authorization::File(file)), .. } => Some(file),
            _ => None,
        }
    }
}

impl Spec {
    /// Whose credential it is.
    pub fn cloud(&self) -> Cloud {
        match self.origins {
            Origins::Aws(_) => Cloud::Aws,
            Origins::Google(_) => Cloud::Google,
            Origins::Entra(_) => Cloud::Entra,
        }
    }

    /// What can be said of it without asking anybody: why it can never be fetched. The text holds no secret.
    pub fn check(&self) -> Result<(), String> {
        match &self.origins {
            Origins::Google(GoogleSpec { source: GoogleSource::Json(json), .. }) => {
                google::check(json.reveal()).map_err(|error| error.to_string())
            }
            Origins::Aws(_) | Origins::Google(_) | Origins::Entra(_) => Ok(()),
        }
    }

    /// Whether it is known without asking anybody.
    pub(crate) fn is_known(&self) -> bool {
        let Origins::Aws(aws) = &self.origins else { return false };
        aws.assume_role.is_none() && matches!(aws.sources.first(), Some(AwsSource::Keys { .. }))
    }

    /// The files that it is read from.
    pub(crate) fn files(&self) -> Vec<&Path> {
        match &self.origins {
            Origins::Aws(aws) => aws.sources.iter().filter_map(AwsSource::file).collect(),
            Origins::Google(GoogleSpec { source: GoogleSource::JsonFile(file), .. }) => vec![file],
            Origins::Entra(EntraSpec { source: EntraSource::Workload { token_file, .. }, .. }) => {
                vec![token_file]
            }
            Origins::Google(_) | Origins::Entra(_) => Vec::new(),
        }
    }
}
