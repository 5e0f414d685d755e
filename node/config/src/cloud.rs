//! Credentials of clouds in the document: instead of the value of a key.

use crate::document::shown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Credentials of AWS. With nothing set they are looked for where the environment has them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AwsKey {
    /// The id of an access key: the id itself, `env:NAME` or `file:PATH`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_key_id: Option<String>,
    /// Its secret: `env:NAME`, `file:PATH`, or the secret itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_access_key: Option<String>,
    /// Of temporary keys: `env:NAME`, `file:PATH`, or the token itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_token: Option<String>,
    /// A profile of a shared credentials file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The shared credentials file, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_file: Option<String>,
    /// A role for the token of a workload, such as a service account of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_identity: Option<AwsWebIdentity>,
    /// The endpoint of a container: ECS, EKS Pod Identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<AwsContainer>,
    /// The role of an EC2 instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<AwsInstance>,
    /// A role to take on with what the above gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assume_role: Option<AwsAssumeRole>,
    /// The region of the security token service, if not that of the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The security token service, if not that of the region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sts_url: Option<String>,
}

/// A role for the token of a workload. What is missing is taken from the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AwsWebIdentity {
    /// The role. Default `AWS_ROLE_ARN`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_arn: Option<String>,
    /// The path of the token. Default `AWS_WEB_IDENTITY_TOKEN_FILE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// Names the session in the logs of AWS. Default `AWS_ROLE_SESSION_NAME`, else `trestle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
}

/// The endpoint of a container. What is missing is taken from the environment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AwsContainer {
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The path of the token that it wants to see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
}

/// The role of an EC2 instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AwsInstance {
    /// The metadata service, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A role to take on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwsAssumeRole {
    /// The role.
    pub role_arn: String,
    /// What its owner wants to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Names the session in the logs of AWS. Default `trestle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name: Option<String>,
}

/// Credentials of Google. With nothing set they are looked for where the environment has them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoogleKey {
    /// JSON of a service account, an authorized user or an external account: `file:PATH`, `env:NAME`, or the JSON itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
    /// The service account of a machine or pod, from the metadata service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<GoogleMetadata>,
    /// What tokens are for. Default: all of Google Cloud.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Where tokens are issued, if not at Google's own endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_url: Option<String>,
}

/// The metadata service of Google.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GoogleMetadata {
    /// Where it is, if not where `GCE_METADATA_HOST` says, or in the usual place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Credentials of Microsoft Entra. With nothing set they are looked for where the environment has them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EntraKey {
    /// The tenant. Default `AZURE_TENANT_ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The application. Default `AZURE_CLIENT_ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Its secret: `env:NAME`, `file:PATH`, or the secret itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The path of the token of a workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<String>,
    /// The identity of a virtual machine, App Service or Container App.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_identity: Option<EntraManagedIdentity>,
    /// What tokens are for. Default: all models of Azure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Where tokens are issued. Default `AZURE_AUTHORITY_HOST`, else the public cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
}

/// A managed identity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EntraManagedIdentity {
    /// Which one, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The metadata service, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A secret as it may be shown.
fn may_show(value: &Option<String>) -> Option<&str> {
    value.as_deref().map(shown)
}

impl fmt::Debug for AwsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsKey")
            .field("access_key_id", &self.access_key_id)
            .field("secret_access_key", &may_show(&self.secret_access_key))
            .field("session_token", &may_show(&self.session_token))
            .field("profile", &self.profile)
            .field("web_identity", &self.web_identity)
            .field("container", &self.container)
            .field("instance", &self.instance)
            .field("assume_role", &self.assume_role)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for GoogleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoogleKey")
            .field("credentials", &may_show(&self.credentials))
            .field("metadata", &self.metadata)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for EntraKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntraKey")
            .field("tenant", &self.tenant)
            .field("client_id", &self.client_id)
            .field("client_secret", &may_show(&self.client_secret))
            .field("token_file", &self.token_file)
            .field("managed_identity", &self.managed_identity)
            .finish_non_exhaustive()
    }
}
