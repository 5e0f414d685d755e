//! Credentials of clouds: what is made of them, and what is refused.

use super::*;
use trestle_provider::credential::{AwsSource, AwsSpec, EntraSource, GoogleSource, Origins, Spec};

/// An environment with these variables.
struct Env(&'static [(&'static str, &'static str)]);

impl Secrets for Env {
    fn env(&self, name: &str) -> Result<String, String> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned()).ok_or_else(|| format!("the variable {name} is not set"))
    }

    fn file(&self, path: &str) -> Result<String, String> {
        Err(format!("there is no file {path}"))
    }

    fn sealed(&self, value: &str) -> Result<String, String> {
        Ok(value.to_owned())
    }
}

fn document(row: &str, key: &str) -> String {
    let variables = match row {
        "bedrock" => "region: eu-west-1",
        "vertex" => "project: p",
        _ => "resource: r",
    };
    format!(
        "providers: {{ {row}: {{ variables: {{ {variables} }}, keys: [{{ name: a, {key} }}] }} }}\n\
         settings: {{ require_keys: false }}"
    )
}

/// What the key of a row is made of, with these variables.
fn spec(row: &str, key: &str, env: &'static [(&'static str, &'static str)]) -> Spec {
    let text = document(row, key);
    let made =
        compile(&parse(&text).unwrap(), 1, &Env(env)).unwrap_or_else(|problems| panic!("{text}: {problems}"));
    assert_eq!(lines(&made.warnings), [] as [String; 0], "{text}");
    let credential = &made.snapshot.providers[row].credentials[0];
    assert!(credential.header.is_none());
    Spec::clone(credential.spec.as_ref().unwrap())
}

fn aws(key: &str, env: &'static [(&'static str, &'static str)]) -> AwsSpec {
    match spec("bedrock", key, env).origins {
        Origins::Aws(spec) => spec,
        other => panic!("{other:?}"),
    }
}

/// Compiling the key of a row says exactly this.
fn refuses(row: &str, key: &str, expected: &str) {
    check(&document(row, key), &[&format!("providers.{row}.keys[0]{expected}")]);
}

#[test]
fn keys_of_aws() {
    let made = aws("aws: { access_key_id: AKID, secret_access_key: hush, session_token: tok }", &[]);
    assert_eq!(
        (made.sts_url.as_str(), made.region.as_str()),
        ("https://sts.eu-west-1.amazonaws.com", "eu-west-1")
    );
    assert!(
        matches!(&made.sources[..], [AwsSource::Keys { access_key_id, session_token: Some(_), .. }] if access_key_id == "AKID")
    );
    assert!(!format!("{made:?}").contains("hush") && !format!("{made:?}").contains("tok\""));
    let made = aws("aws: { profile: p, credentials_file: /c }", &[]);
    assert_eq!(made.sources, [AwsSource::Profile { file: "/c".into(), name: "p".to_owned() }]);
    let env = &[("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t")];
    let identity = AwsSource::WebIdentity {
        role_arn: "arn:aws:iam::1:role/r".to_owned(),
        token_file: "/t".into(),
        session_name: "trestle".to_owned(),
    };
    assert_eq!(aws("aws: { web_identity: {} }", env).sources, std::slice::from_ref(&identity));
    let env = &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")];
    let container = AwsSource::Container { url: "http://169.254.170.2/v2/x".to_owned(), authorization: None };
    assert_eq!(aws("aws: { container: {} }", env).sources, [container]);
    let instance = AwsSource::Instance { url: "http://169.254.169.254".to_owned() };
    assert_eq!(aws("aws: { instance: {} }", &[]).sources, std::slice::from_ref(&instance));
    let made = aws(
        "aws: { instance: {}, assume_role: { role_arn: \"arn:aws-cn:iam::1:role/r\", external_id: x }, region: cn-north-1 }",
        &[],
    );
    assert_eq!(made.sts_url, "https://sts.cn-north-1.amazonaws.com.cn");
    assert_eq!(made.assume_role.unwrap().session_name, "trestle");
    // Nothing set: whatever the environment has, in the order of AWS.
    let env =
        &[("HOME", "/h"), ("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t")];
    let profile = AwsSource::Profile { file: "/h/.aws/credentials".into(), name: "default".to_owned() };
    assert_eq!(aws("aws: {}", env).sources, [identity, profile, instance]);
    let env = &[("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "B"), ("HOME", "/h")];
    assert!(matches!(&aws("aws: {}", env).sources[..], [AwsSource::Keys { .. }]));
}

#[test]
fn keys_of_google_and_entra() {
    let google = |key: &str, env| match spec("vertex", key, env).origins {
        Origins::Google(spec) => spec.source,
        other => panic!("{other:?}"),
    };
    let usual = GoogleSource::Metadata("http://metadata.google.internal".to_owned());
    assert_eq!(google("google: {}", &[]), usual);
    assert_eq!(google("google: { metadata: {} }", &[("GOOGLE_APPLICATION_CREDENTIALS", "/g")]), usual);
    let file = GoogleSource::JsonFile("/g".into());
    assert_eq!(google("google: {}", &[("GOOGLE_APPLICATION_CREDENTIALS", "/g")]), file);
    let user = r#"{"type":"authorized_user","client_id":"i","client_secret":"s","refresh_token":"r"}"#;
    assert!(matches!(google(&format!("google: {{ credentials: '{user}' }}"), &[]), GoogleSource::Json(_)));
    let entra = |key: &str, env| match spec("azure", key, env).origins {
        Origins::Entra(spec) => spec.source,
        other => panic!("{other:?}"),
    };
    let made = entra("entra: { tenant: t.example, client_id: c, client_secret: s }", &[]);
    let EntraSource::ClientSecret { token_url, .. } = made else { panic!("{made:?}") };
    assert_eq!(token_url, "https://login.microsoftonline.com/t.example/oauth2/v2.0/token");
    let env = &[("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c"), ("AZURE_FEDERATED_TOKEN_FILE", "/f")];
    assert!(matches!(entra("entra: {}", env), EntraSource::Workload { client_id, .. } if client_id == "c"));
    let machine = EntraSource::Machine { url: "http://169.254.169.254".to_owned(), client_id: None };
    assert_eq!(entra("entra: {}", &[]), machine);
    let env = &[("IDENTITY_ENDPOINT", "http://127.0.0.1:41000/msi/token"), ("IDENTITY_HEADER", "h")];
    assert!(matches!(entra("entra: { managed_identity: {} }", env), EntraSource::App { .. }));
}

#[test]
fn a_key_is_of_one_kind_and_for_its_vendor() {
    let one = ": needs exactly one of `value`, `aws`, `google` and `entra`";
    refuses("bedrock", "weight: 1", one);
    refuses("bedrock", "value: k, aws: {}", one);
    refuses("bedrock", "google: {}", ".google: is not for this vendor; it takes `value` or `aws`");
    refuses("vertex", "aws: { instance: {} }", ".aws: is not for this vendor; it takes `value` or `google`");
    check(
        "providers: { openai: { keys: [{ name: a, entra: { managed_identity: {} } }] } }",
        &["providers.openai.keys[0].entra: is not for this vendor; it takes `value`"],
    );
    // An address that the operator wrote may take bearer tokens of anybody.
    compiled(
        "providers: { x: { base_url: \"https://gate.example/v1\", dialects: [openai-chat], keys: [{ name: a, entra: \
         { managed_identity: {} } }] } }\nsettings: { require_keys: false }",
    );
    check(
        "providers: { bedrock: { variables: { region: eu-west-1 } } }",
        &[
            "providers.bedrock.keys: is empty; write `keys: [{ name: main, value: env:AWS_BEARER_TOKEN_BEDROCK }]` (or \
             `auth: none`)",
        ],
    );
    check(
        "providers: { vertex: { variables: { project: p } } }",
        &["providers.vertex.keys: is empty; write `keys: [{ name: main, google: {} }]` (or `auth: none`)"],
    );
}

#[test]
fn bad_credentials_are_refused_where_they_are() {
    let several = ".aws: says where keys come from more than once; keep one of `access_key_id`, `profile`, \
                   `web_identity`, `container`, `instance`";
    refuses("bedrock", "aws: { profile: p, instance: {} }", several);
    refuses(
        "bedrock",
        "aws: { access_key_id: A }",
        ".aws: needs both `access_key_id` and `secret_access_key`",
    );
    refuses(
        "bedrock",
        "aws: { access_key_id: A, secret_access_key: \"****\" }",
        ".aws.secret_access_key: is masked, not the key itself; write `env:NAME`, `file:PATH` or the whole key",
    );
    refuses(
        "bedrock",
        "aws: { web_identity: { role_arn: r, token_file: /t } }",
        ".aws.web_identity.role_arn: is no ARN of a role; write one such as `arn:aws:iam::123456789012:role/gateway`",
    );
    refuses(
        "bedrock",
        "aws: { instance: { url: \"http://10.0.0.1\" } }",
        ".aws.instance.url: must be a loopback or link-local address",
    );
    refuses(
        "bedrock",
        "aws: { container: { url: \"http://169.254.169.254/x\" } }",
        ".aws.container.url: must be a loopback address, 169.254.170.2, 169.254.170.23 or [fd00:ec2::23]",
    );
    refuses(
        "bedrock",
        "aws: { instance: {}, sts_url: \"http://sts.example\" }",
        ".aws.sts_url: must begin with `https://`, or be a loopback address",
    );
    refuses(
        "bedrock",
        "aws: { instance: {}, sts_url: \"https://169.254.169.254\" }",
        ".aws.sts_url: is a link-local or metadata address, which is never allowed",
    );
    let json = ".google.credentials: the credentials are no JSON of a `service_account`, an `authorized_user` or an \
                `external_account` with all their members";
    refuses("vertex", "google: { credentials: '{\"type\":\"service_account\"}' }", json);
    refuses(
        "azure",
        "entra: { tenant: \"a/b\", client_id: c, client_secret: s }",
        ".entra.tenant: is no tenant; write its id or its domain",
    );
    refuses(
        "azure",
        "entra: { token_file: /t, client_secret: s }",
        ".entra: says where tokens come from more than once; keep one of `client_secret`, `token_file`, \
         `managed_identity`",
    );
    warns(
        "providers: { azure: { variables: { resource: r }, keys: [{ name: a, entra: { client_secret: env:NONE } }, \
         { name: b, entra: { client_secret: env:KEY } }] } }",
        &[
            "providers.azure.keys[0].entra.client_secret: the variable NONE is not set; this key is left out",
            "providers.azure.keys[1].entra.tenant: is not set, and neither is the variable AZURE_TENANT_ID; this key \
             is left out",
        ],
    );
}

#[test]
fn secrets_are_found_wherever_they_are() {
    let text = "providers: { bedrock: { keys: [{ name: a, aws: { access_key_id: A, secret_access_key: s1, session_token: \
                s2 } }, { name: b, value: s3 }, { name: c, google: { credentials: s4 } }, { name: d, entra: { client_id: \
                i, client_secret: s5 } }] } }";
    let mut entities = crate::split(&parse(text).unwrap()).unwrap();
    let found = crate::secret_values(&mut entities[0]);
    let found: Vec<_> = found.into_iter().map(|(path, value)| (path, value.clone())).collect();
    let at = |path: &str, value: &str| (format!("providers.bedrock.keys{path}"), value.to_owned());
    assert_eq!(
        found,
        [
            at("[0].aws.secret_access_key", "s1"),
            at("[0].aws.session_token", "s2"),
            at("[1].value", "s3"),
            at("[2].google.credentials", "s4"),
            at("[3].entra.client_secret", "s5"),
        ]
    );
    let shown = format!("{:?}", parse(text).unwrap());
    assert!((1..=5).all(|n| !shown.contains(&format!("s{n}"))), "{shown}");
}
