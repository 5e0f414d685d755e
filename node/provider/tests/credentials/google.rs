//! Each source of tokens of Google.

use crate::{
    server::{Answer, Asked, Server},
    support::Kept,
};
use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use std::{fs, time::SystemTime};
use trestle_provider::credential::{GoogleSource, GoogleSpec, Origins, Secret};

/// Made for these tests, and for nothing else.
const KEY: &str = include_str!("key.pem");
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";

fn kept(source: GoogleSource, token_url: Option<String>) -> Kept {
    Kept::new(Origins::Google(GoogleSpec { source, scopes: vec![SCOPE.to_owned()], token_url }))
}

fn json(json: &Value) -> GoogleSource {
    GoogleSource::Json(Secret::new(json.to_string()))
}

fn token(text: &str) -> Answer {
    Answer::ok(format!(r#"{{"access_token":"{text}","expires_in":3599,"token_type":"Bearer"}}"#))
}

fn part(text: &str) -> Value {
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

/// Checks the signature, and reads the claims.
fn claims(asked: &Asked) -> Value {
    let assertion = asked.member("assertion");
    let (text, signature) = assertion.rsplit_once('.').unwrap();
    let der: String = KEY.lines().filter(|line| !line.starts_with("-----")).collect();
    let pair = RsaKeyPair::from_pkcs8(&BASE64_STANDARD.decode(der).unwrap()).unwrap();
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key());
    public
        .verify(text.as_bytes(), &BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap())
        .expect("the signature");
    let (header, claims) = text.split_once('.').unwrap();
    assert_eq!(part(header), json!({ "alg": "RS256", "typ": "JWT", "kid": "k1" }));
    part(claims)
}

#[test]
fn a_service_account_signs_for_itself() {
    let server = Server::start(|_, _| token("g1"));
    let account = json!({
        "type": "service_account", "client_email": "a@p.iam.gserviceaccount.com", "private_key": KEY,
        "private_key_id": "k1", "token_uri": "https://oauth2.googleapis.com/token", "project_id": "p",
    });
    let kept = kept(json(&account), Some(server.url()));
    assert_eq!(kept.token(), "g1");
    let asked = server.asked().remove(0);
    assert_eq!(asked.member("grant_type"), "urn:ietf:params:oauth:grant-type:jwt-bearer");
    let claims = claims(&asked);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let issued = claims["iat"].as_u64().unwrap();
    assert!(issued.abs_diff(now) < 60 && claims["exp"].as_u64() == Some(issued + 3600), "{claims}");
    assert_eq!(claims["iss"], "a@p.iam.gserviceaccount.com");
    assert_eq!(
        (&claims["scope"], &claims["aud"]),
        (&json!(SCOPE), &json!("https://oauth2.googleapis.com/token"))
    );
}

#[test]
fn an_assertion_goes_to_google_alone_unless_the_document_says_otherwise() {
    let server = Server::start(|_, _| token("g"));
    let account = json!({
        "type": "service_account", "client_email": "a@p", "private_key": KEY, "token_uri": server.url(),
    });
    kept(json(&account), None).failed();
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn a_person_has_a_refresh_token() {
    let server = Server::start(|_, _| token("g2"));
    let user =
        json!({ "type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "1//r" });
    let kept = kept(json(&user), Some(server.url()));
    assert_eq!(kept.token(), "g2");
    let asked = server.asked().remove(0);
    let members =
        ["grant_type", "client_id", "client_secret", "refresh_token"].map(|name| asked.member(name));
    assert_eq!(members.each_ref().map(String::as_str), ["refresh_token", "i", "s", "1//r"]);
}

#[test]
fn a_machine_asks_its_metadata_service() {
    let server = Server::start(|asked, before| match asked.header("metadata-flavor") {
        "Google" if before > 0 => Answer(200, "Metadata-Flavor: Google", token("g3").2),
        _ => token("of-a-stranger"),
    });
    let kept = kept(GoogleSource::Metadata(server.url()), None);
    assert_eq!(kept.token(), "g3");
    let seen = kept.keeper.seen();
    assert_eq!(seen[0].fetches, (1, 1), "what is not Google's has no say");
    assert_eq!(server.asked()[0].path, "/computeMetadata/v1/instance/service-accounts/default/token");
}

#[test]
fn a_workload_elsewhere_exchanges_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, r#"{"id_token":"of-the-file"}"#).unwrap();
    let server = Server::start(|asked, _| match asked.path.as_str() {
        "/subject" if asked.header("x-ask") == "1" => Answer::ok("of-the-url\n"),
        "/impersonate" => Answer::ok(format!(
            r#"{{"accessToken":"as-{}","expireTime":"2999-01-01T00:00:00Z"}}"#,
            asked.header("authorization").replace("Bearer ", "")
        )),
        _ => token(&format!("for-{}", asked.member("subject_token"))),
    });
    let account = |source: Value, impersonate: bool| {
        let mut account = json!({
            "type": "external_account", "audience": "//iam.googleapis.com/x",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
            "token_url": "https://sts.googleapis.com/v1/token", "credential_source": source,
        });
        if impersonate {
            account["service_account_impersonation_url"] = format!("{}/impersonate", server.url()).into();
        }
        kept(json(&account), Some(server.url()))
    };
    let format = json!({ "type": "json", "subject_token_field_name": "id_token" });
    let of_file = account(json!({ "file": file, "format": format }), false);
    assert_eq!(of_file.token(), "for-of-the-file");
    let asked = server.asked().remove(0);
    assert_eq!(asked.member("audience"), "//iam.googleapis.com/x");
    assert_eq!(asked.member("scope"), SCOPE);
    let url = format!("{}/subject", server.url());
    let of_url = account(json!({ "url": url, "headers": { "x-ask": "1" } }), true);
    assert_eq!(of_url.token(), "as-for-of-the-url");
    account(json!({ "environment_id": "aws1" }), false).failed();
}
