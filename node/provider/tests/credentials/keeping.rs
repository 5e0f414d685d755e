//! When credentials are fetched: ahead of time, one at a time, again after failures, and anew when they are refused or their
//! files change.

use crate::{
    server::{Answer, Server},
    support::{Kept, eventually, wanted},
};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};
use trestle_provider::credential::{AwsSource, AwsSpec, EntraSource, EntraSpec, NotReady, Origins, Secret};

fn application(url: &str) -> Origins {
    let source = EntraSource::ClientSecret {
        token_url: url.to_owned(),
        client_id: "app".to_owned(),
        secret: Secret::new("hush"),
    };
    Origins::Entra(EntraSpec { source, scope: "s/.default".to_owned() })
}

fn token(number: usize, seconds: u64) -> Answer {
    Answer::ok(format!(r#"{{"access_token":"t{number}","expires_in":{seconds}}}"#))
}

#[test]
fn tokens_are_renewed_ahead_of_their_end() {
    let server = Server::start(|_, before| token(before, 5));
    let kept = Kept::new(application(&server.url()));
    kept.ready();
    // From the first one on there is one at any time.
    eventually("renewals", || {
        kept.get().expect("a gap between two tokens");
        (server.asked().len() >= 3).then_some(())
    });
    assert_eq!(server.most_at_once(), 1);
    let seen = &kept.keeper.seen()[0];
    assert!(
        seen.ready && seen.expires_at.is_some() && seen.fetches.0 >= 2 && seen.fetches.1 == 0,
        "{seen:?}"
    );
}

#[test]
fn a_long_token_is_fetched_once() {
    let server = Server::start(|_, before| token(before, 3600));
    let kept = Kept::new(application(&server.url()));
    assert_eq!(kept.token(), "t0");
    // The same document again changes nothing.
    let live = kept.keeper.keep(vec![wanted(application(&server.url()))]).remove(0);
    assert!(Arc::ptr_eq(&live, &kept.live));
    // Another secret under the same name is fetched; what was there serves until then.
    let source = EntraSource::ClientSecret {
        token_url: server.url(),
        client_id: "app".to_owned(),
        secret: Secret::new("other"),
    };
    let other = Origins::Entra(EntraSpec { source, scope: "s/.default".to_owned() });
    kept.keeper.keep(vec![wanted(other)]);
    assert!(kept.get().is_ok());
    kept.becomes("t1");
    let secrets: Vec<_> = server.asked().iter().map(|asked| asked.member("client_secret")).collect();
    assert_eq!(secrets, ["hush", "other"]);
    // One that nobody wants any more is forgotten.
    kept.keeper.keep(Vec::new());
    assert!(kept.keeper.seen().is_empty());
}

#[test]
fn a_failure_is_tried_again_and_what_is_there_serves_on() {
    let broken = Arc::new(AtomicBool::new(true));
    let life = Arc::new(AtomicU64::new(6));
    let server = Server::start({
        let (broken, life) = (Arc::clone(&broken), Arc::clone(&life));
        move |_, before| match broken.load(SeqCst) {
            true => Answer(401, "x: 1", r#"{"error":"invalid_client","error_description":"no"}"#.to_owned()),
            false => token(before, life.load(SeqCst)),
        }
    });
    let kept = Kept::new(application(&server.url()));
    assert!(matches!(kept.get(), Err(NotReady::Pending | NotReady::Failed)));
    kept.failed();
    assert_eq!(kept.get().unwrap_err(), NotReady::Failed);
    broken.store(false, SeqCst);
    let first = kept.ready();
    broken.store(true, SeqCst);
    let failures = kept.keeper.seen()[0].fetches.1;
    eventually("a failed renewal", || (kept.keeper.seen()[0].fetches.1 > failures).then_some(()));
    assert!(Arc::ptr_eq(&kept.get().expect("the old one serves until its end"), &first));
    eventually("its end", || (kept.get().err() == Some(NotReady::Failed)).then_some(()));
    broken.store(false, SeqCst);
    life.store(3600, SeqCst);
    kept.ready();
    assert_eq!(server.most_at_once(), 1);
}

#[test]
fn many_refusals_are_one_renewal() {
    let open = Arc::new(AtomicBool::new(true));
    let server = Server::start({
        let open = Arc::clone(&open);
        move |_, before| {
            let end = Instant::now() + Duration::from_secs(5);
            while !open.load(SeqCst) && Instant::now() < end {
                thread::sleep(Duration::from_millis(1));
            }
            token(before, 3600)
        }
    });
    let kept = Kept::new(application(&server.url()));
    let first = kept.ready();
    open.store(false, SeqCst);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert!(kept.live.refuse(&first, Instant::now())));
        }
    });
    assert_eq!(kept.get().unwrap_err(), NotReady::Pending, "it is not used any more");
    eventually("the renewal", || (server.asked().len() == 2).then_some(()));
    // Those that still had the old one.
    assert!(kept.live.refuse(&first, Instant::now()));
    open.store(true, SeqCst);
    kept.becomes("t1");
    // What is refused at once again has another reason: no more renewals for a minute.
    let second = kept.ready();
    assert!(!kept.live.refuse(&second, Instant::now()));
    assert!(Arc::ptr_eq(&kept.ready(), &second));
    assert_eq!((server.asked().len(), server.most_at_once()), (2, 1));
    assert!(kept.live.refuse(&second, Instant::now() + Duration::from_secs(61)));
    kept.becomes("t2");
}

#[test]
fn a_token_file_is_read_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    let server = Server::start(|asked, _| {
        Answer::ok(format!(
            r#"{{"access_token":"for-{}","expires_in":"3600"}}"#,
            asked.member("client_assertion")
        ))
    });
    let source = EntraSource::Workload {
        token_url: server.url(),
        client_id: "app".to_owned(),
        token_file: file.clone(),
    };
    let kept = Kept::new(Origins::Entra(EntraSpec { source, scope: "s".to_owned() }));
    kept.failed();
    assert_eq!(server.asked().len(), 0, "there is nothing to send");
    fs::write(&file, "one\n").unwrap();
    kept.becomes("for-one");
    fs::write(folder.path().join("next"), "two").unwrap();
    fs::rename(folder.path().join("next"), &file).unwrap();
    kept.becomes("for-two");
    fs::remove_file(&file).unwrap();
    let failures = kept.keeper.seen()[0].fetches.1;
    eventually("a failure", || (kept.keeper.seen()[0].fetches.1 > failures).then_some(()));
    assert_eq!(kept.token(), "for-two");
}

#[test]
fn keys_that_are_known_are_there_at_once() {
    let source = AwsSource::Keys {
        access_key_id: "AKID".to_owned(),
        secret_access_key: Secret::new("SECRET"),
        session_token: None,
    };
    let known = AwsSpec {
        sources: vec![source],
        assume_role: None,
        sts_url: "http://127.0.0.1:1".to_owned(),
        region: "eu-west-1".to_owned(),
    };
    let kept = Kept::new(Origins::Aws(known));
    let ready = kept.get().expect("nothing is waited for");
    assert_eq!(ready.expires_at, None);
    assert!(!kept.live.refuse(&ready, Instant::now()), "there is no other one to fetch");
    assert_eq!(kept.key(), "AKID");
}

#[test]
fn answers_are_bounded_and_redirects_are_not_followed() {
    let target = Server::start(|_, before| token(before, 3600));
    let elsewhere: &'static str = Box::leak(format!("location: {}", target.url()).into_boxed_str());
    let server = Server::start(move |_, before| match before {
        0 => Answer::ok("x".repeat(300 * 1024)),
        1 => Answer(302, elsewhere, String::new()),
        2 => Answer::ok("not JSON"),
        3 => Answer::ok(r#"{"access_token":"a\nb","expires_in":1}"#),
        _ => token(before, 3600),
    });
    let kept = Kept::new(application(&server.url()));
    assert_eq!(kept.token(), "t4");
    assert_eq!((kept.keeper.seen()[0].fetches, target.asked().len()), ((1, 4), 0));
}

#[test]
fn link_local_addresses_are_no_services_of_vendors() {
    let kept = Kept::new(application("http://169.254.169.254/token"));
    kept.failed();
    assert_eq!(kept.get().unwrap_err(), NotReady::Failed);
}
