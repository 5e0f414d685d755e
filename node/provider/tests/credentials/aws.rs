//! Each source of keys of AWS.

use crate::{
    server::{Answer, Server},
    support::Kept,
};
use std::fs;
use trestle_provider::credential::{AssumeRole, Authorization, AwsSource, AwsSpec, Origins, Secret};

const END: &str = "2999-01-01T00:00:00Z";

fn spec(sources: Vec<AwsSource>, sts_url: String) -> AwsSpec {
    AwsSpec { sources, assume_role: None, sts_url, region: "eu-west-1".to_owned() }
}

/// What the security token service says.
fn granted(id: &str) -> Answer {
    Answer::ok(format!(
        "<R xmlns=\"x\"><AssumedRoleUser><Arn>a</Arn></AssumedRoleUser><Credentials>\n<AccessKeyId>{id}</AccessKeyId>\
         <SecretAccessKey>SECRET</SecretAccessKey><SessionToken>tok+/=</SessionToken><Expiration>{END}</Expiration>\
         </Credentials></R>"
    ))
}

/// What containers and instances are told.
fn document(id: &str) -> Answer {
    Answer::ok(format!(
        r#"{{"Code":"Success","AccessKeyId":"{id}","SecretAccessKey":"SECRET","Token":"tok","Expiration":"{END}"}}"#
    ))
}

#[test]
fn a_web_identity_becomes_a_role() {
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("token");
    fs::write(&token_file, "a.b&c\n").unwrap();
    let server = Server::start(|_, _| granted("ASIA1"));
    let source = AwsSource::WebIdentity {
        role_arn: "arn:aws:iam::1:role/r".to_owned(),
        token_file,
        session_name: "trestle".to_owned(),
    };
    let kept = Kept::new(Origins::Aws(spec(vec![source], server.url())));
    assert_eq!(kept.key(), "ASIA1 with tok+/=");
    let asked = server.asked().remove(0);
    let members = ["Action", "Version", "RoleArn", "RoleSessionName", "WebIdentityToken"]
        .map(|name| asked.member(name));
    let expected = ["AssumeRoleWithWebIdentity", "2011-06-15", "arn:aws:iam::1:role/r", "trestle", "a.b&c"];
    assert_eq!((asked.path.as_str(), members.each_ref().map(String::as_str)), ("/", expected));
    assert_eq!(asked.header("authorization"), "");
}

#[test]
fn a_role_is_taken_on_with_a_signature() {
    let server = Server::start(|_, before| {
        match before {
        0 => Answer(
            403,
            "content-type: text/xml",
            "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no &lt;role&gt;</Message></Error></ErrorResponse>"
                .to_owned(),
        ),
        _ => granted("ASIA2"),
    }
    });
    let source = AwsSource::Keys {
        access_key_id: "AKID".to_owned(),
        secret_access_key: Secret::new("SECRET"),
        session_token: Some(Secret::new("base")),
    };
    let role = AssumeRole {
        role_arn: "arn:aws:iam::2:role/r".to_owned(),
        external_id: Some("x/1".to_owned()),
        session_name: "trestle".to_owned(),
    };
    let kept =
        Kept::new(Origins::Aws(AwsSpec { assume_role: Some(role), ..spec(vec![source], server.url()) }));
    assert_eq!(kept.key(), "ASIA2 with tok+/=");
    assert_eq!(kept.keeper.seen()[0].fetches, (1, 1));
    let asked = server.asked().remove(1);
    assert_eq!((asked.member("Action").as_str(), asked.member("ExternalId").as_str()), ("AssumeRole", "x/1"));
    let signature = asked.header("authorization");
    assert!(signature.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{signature}");
    let signed = "/eu-west-1/sts/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(signature.contains(signed), "{signature}");
    assert_eq!(asked.header("x-amz-security-token"), "base");
    assert_eq!(format!("http://{}", asked.header("host")), server.url());
}

#[test]
fn a_container_shows_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    fs::write(&file, "pod-token\n").unwrap();
    let server = Server::start(|asked, _| match asked.header("authorization") {
        "pod-token" => document("ASIA3"),
        _ => Answer::failed(401),
    });
    let url = format!("{}/v1/credentials", server.url());
    let source = AwsSource::Container { url, authorization: Some(Authorization::File(file)) };
    let kept = Kept::new(Origins::Aws(spec(vec![source], String::new())));
    assert_eq!(kept.key(), "ASIA3 with tok");
    assert_eq!(server.asked()[0].path, "/v1/credentials");
}

#[test]
fn an_instance_is_asked_in_the_second_way() {
    let server = Server::start(|asked, _| match (asked.method.as_str(), asked.path.as_str()) {
        ("PUT", "/latest/api/token") if asked.header("x-aws-ec2-metadata-token-ttl-seconds") == "300" => {
            Answer::ok("session")
        }
        _ if asked.header("x-aws-ec2-metadata-token") != "session" => Answer::failed(401),
        ("GET", "/latest/meta-data/iam/security-credentials/") => Answer::ok("a-role\n"),
        ("GET", "/latest/meta-data/iam/security-credentials/a-role") => document("ASIA4"),
        _ => Answer::failed(404),
    });
    let kept = Kept::new(Origins::Aws(spec(vec![AwsSource::Instance { url: server.url() }], String::new())));
    assert_eq!(kept.key(), "ASIA4 with tok");
}

#[test]
fn the_first_source_that_is_there_counts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    let server = Server::start(|asked, _| match asked.path.as_str() {
        "/latest/api/token" => Answer::ok("session"),
        "/latest/meta-data/iam/security-credentials/" => Answer::ok("r"),
        _ => document("ASIA5"),
    });
    let profile = AwsSource::Profile { file: file.clone(), name: "default".to_owned() };
    let sources = vec![profile, AwsSource::Instance { url: server.url() }];
    let kept = Kept::new(Origins::Aws(spec(sources, String::new())));
    assert_eq!(kept.key(), "ASIA5 with tok");
    fs::write(&file, "[default]\naws_access_key_id=AKID6\naws_secret_access_key=SECRET\n").unwrap();
    crate::support::eventually("the profile", || (kept.key() == "AKID6").then_some(()));
    fs::write(&file, "[default]\naws_access_key_id = AKID77\naws_secret_access_key = SECRET\n").unwrap();
    crate::support::eventually("its new keys", || (kept.key() == "AKID77").then_some(()));
}
