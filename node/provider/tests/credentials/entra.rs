//! Each source of tokens of Microsoft Entra.

use crate::{
    server::{Answer, Server},
    support::Kept,
};
use std::time::{Duration, SystemTime};
use trestle_provider::credential::{EntraSource, EntraSpec, Origins, Secret};

const SCOPE: &str = "https://cognitiveservices.azure.com/.default";

fn kept(source: EntraSource) -> Kept {
    Kept::new(Origins::Entra(EntraSpec { source, scope: SCOPE.to_owned() }))
}

fn end() -> u64 {
    let end = SystemTime::now() + Duration::from_secs(3600);
    end.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn an_application_has_a_secret() {
    let server =
        Server::start(|_, _| Answer::ok(r#"{"token_type":"Bearer","expires_in":3599,"access_token":"e1"}"#));
    let token_url = format!("{}/tenant/oauth2/v2.0/token", server.url());
    let secret = Secret::new("s&=+ecret");
    let kept = kept(EntraSource::ClientSecret { token_url, client_id: "app".to_owned(), secret });
    assert_eq!(kept.token(), "e1");
    let asked = server.asked().remove(0);
    let members = ["grant_type", "scope", "client_id", "client_secret"].map(|name| asked.member(name));
    assert_eq!(members.each_ref().map(String::as_str), ["client_credentials", SCOPE, "app", "s&=+ecret"]);
    assert_eq!(asked.path, "/tenant/oauth2/v2.0/token");
}

#[test]
fn a_machine_and_an_app_have_identities() {
    let resource = "resource=https%3A%2F%2Fcognitiveservices.azure.com";
    let server =
        Server::start(|asked, _| match (asked.header("metadata"), asked.header("x-identity-header")) {
            ("true", "") => Answer::ok(r#"{"access_token":"e2","expires_in":"3599","expires_on":"1"}"#),
            (_, "hush") => Answer::ok(format!(r#"{{"access_token":"e3","expires_on":"{}"}}"#, end())),
            _ => Answer::failed(400),
        });
    let machine = kept(EntraSource::Machine { url: server.url(), client_id: None });
    assert_eq!(machine.token(), "e2");
    assert_eq!(
        server.asked()[0].path,
        format!("/metadata/identity/oauth2/token?api-version=2018-02-01&{resource}")
    );
    let url = format!("{}/msi/token", server.url());
    let app = kept(EntraSource::App { url, header: Secret::new("hush"), client_id: Some("id".to_owned()) });
    assert_eq!(app.token(), "e3");
    let left = app.ready().expires_at.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!(left > Duration::from_secs(3000), "{left:?}");
    let path = format!("/msi/token?api-version=2019-08-01&{resource}&client_id=id");
    assert_eq!(server.asked()[1].path, path);
}
