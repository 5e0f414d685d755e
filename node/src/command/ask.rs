//! `trestle ask`: one chat request, as an application sends it.

use super::{
    client::Client,
    dev::DevFile,
    failure::{Done, Failure},
    print::{self, plain},
    profile::read_secret,
    remote::{Carried, Target, target},
};
use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::ExitCode,
};

/// Largest answer, and largest piece of a stream.
const ANSWER_BYTES_MAX: u64 = 64 << 20;
const LINE_BYTES_MAX: u64 = 8 << 20;

/// Send one chat request with the key of an application, and print the answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  trestle ask --model chat 'Say hello'
  trestle ask --url https://gateway.example --key env:WEB_KEY --model chat --stream 'Tell a story'
  trestle ask --model openai/gpt-4o-mini --json 'Say hello' | jq .usage")]
pub(super) struct Ask {
    /// What is asked.
    #[arg(value_name = "TEXT")]
    text: String,
    /// A name in `models`, or provider/model.
    #[arg(long, value_name = "MODEL")]
    model: String,
    /// Print the answer as it comes.
    #[arg(long)]
    stream: bool,
    /// Where the key is: env:NAME or file:PATH; TRESTLE_KEY holds the key itself.
    #[arg(long, value_name = "WHERE")]
    key: Option<String>,
    /// Where clients connect, such as `https://gateway.example` [env: TRESTLE_URL].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The certificate of the only authority that is trusted, in PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print the answer of the gateway as it is, for scripts.
    #[arg(long, conflicts_with = "stream")]
    json: bool,
}

impl Ask {
    pub(super) fn run(self) -> Done {
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let chosen = self.choose(env, DevFile::of_default);
        let client = Client::to(chosen.map_err(|error| Failure::NoNode(format!("{error:#}")))?)?;
        let mut body = json!({"model": self.model, "messages": [{"role": "user", "content": self.text}]});
        if self.stream {
            body["stream"] = true.into();
        }
        let (head, body) = client.send("/v1/chat/completions", &body)?.into_parts();
        let mut reader = BufReader::new(body.into_with_config().limit(ANSWER_BYTES_MAX).reader());
        if self.stream && head.status.is_success() {
            return told(&mut reader, print::out).map(|()| ExitCode::SUCCESS);
        }
        let mut text = String::new();
        reader.read_to_string(&mut text).context("the answer was cut off, or is no text")?;
        if !head.status.is_success() {
            return Err(anyhow!("{}: {}", head.status.as_u16(), complaint(&text)).into());
        }
        if self.json {
            print::out(&format!("{}\n", text.trim_end()))?;
        } else {
            let answer: Value = serde_json::from_str(&text).context("the answer is no JSON")?;
            let said = answer["choices"][0]["message"]["content"].as_str();
            print::out(&format!("{}\n", plain(said.context("the answer has no text")?)))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Where to ask, and with which key. Flags win over the environment; who has set nothing asks the node of `trestle dev`.
    fn choose(
        &self,
        env: impl Fn(&str) -> Option<String>,
        dev: impl Fn() -> anyhow::Result<Option<DevFile>>,
    ) -> anyhow::Result<Target> {
        let url = self.url.clone().or_else(|| env("TRESTLE_URL"));
        let key = match &self.key {
            Some(text) if text.starts_with("env:") || text.starts_with("file:") => {
                Some(read_secret("--key", text)?)
            }
            // Not shown: it may be the key.
            Some(_) => anyhow::bail!(
                "--key: must be env:NAME or file:PATH: lists of processes would show the key itself"
            ),
            None => env("TRESTLE_KEY").map(|key| key.trim().to_owned()),
        };
        match (url, key) {
            (Some(url), Some(key)) => {
                target(url.trim_end_matches('/').to_owned(), (Carried::Key, key), self.ca.clone())
            }
            (Some(url), None) => {
                anyhow::bail!("no key for {url}: set TRESTLE_KEY, or give --key env:NAME or --key file:PATH")
            }
            (None, key) => {
                let file = dev()?.context("nobody to ask: give --url URL, or set TRESTLE_URL")?;
                eprintln!("asking the node of `trestle dev` at {}", file.url);
                target(file.url, (Carried::Key, key.unwrap_or(file.key)), None)
            }
        }
    }
}

/// What an error of the gateway says.
fn complaint(text: &str) -> String {
    let said = serde_json::from_str::<Value>(text).ok();
    let said = said.as_ref().and_then(|answer| answer["error"]["message"].as_str());
    plain(said.unwrap_or_else(|| text.get(..500).unwrap_or(text)))
}

/// Tells a streamed answer on as it comes, to its end.
fn told(stream: &mut impl BufRead, mut tell: impl FnMut(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    loop {
        let mut line = String::new();
        let read = stream.by_ref().take(LINE_BYTES_MAX).read_line(&mut line);
        if read.context("the answer broke off")? == 0 {
            return Err(anyhow!("the answer broke off").into());
        }
        let Some(data) = line.trim_end().strip_prefix("data:").map(str::trim_start) else { continue };
        if data == "[DONE]" {
            return tell("\n");
        }
        let event: Value = serde_json::from_str(data).context("the answer is no stream of JSON")?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(anyhow!("{}", complaint(data)).into());
        }
        if let Some(text) = event["choices"][0]["delta"]["content"].as_str() {
            tell(&plain(text))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed of a stream, or what is wrong with it.
    fn check(stream: &str) -> (String, Option<String>) {
        let mut printed = String::new();
        let done = told(&mut stream.as_bytes(), |text| {
            printed.push_str(text);
            Ok(())
        });
        (printed, done.err().map(|error| error.to_string()))
    }

    #[test]
    fn a_stream_is_told_to_its_end() {
        let piece =
            |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let begun = format!(": hello\n\ndata: {{\"choices\":[]}}\n\n{}{}", piece("a"), piece("b\\u001b[2J"));
        assert_eq!(check(&format!("{begun}data: [DONE]\n\n")), ("ab\u{fffd}[2J\n".to_owned(), None));
        for (end, wrong) in [
            ("", "broke off"),
            ("data: {\"error\":{\"message\":\"too much\"}}\n\ndata: [DONE]\n\n", "too much"),
            ("data: {\n\n", "no stream of JSON"),
        ] {
            let (printed, error) = check(&format!("{begun}{end}"));
            assert!(
                printed.starts_with("ab") && error.as_ref().is_some_and(|error| error.contains(wrong)),
                "{error:?}"
            );
        }
    }

    #[test]
    fn who_is_asked_and_with_which_key() {
        let of_dev = r#"{"url":"http://127.0.0.1:1","key":"of-dev"}"#;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "of-file\n").unwrap();
        let file = format!("file:{}", file.display());
        let (url, key) = (("TRESTLE_URL", "http://127.0.0.1:2/"), ("TRESTLE_KEY", "of-env"));
        for (flags, set, expected) in [
            ([None, None], &[][..], Ok("http://127.0.0.1:1 of-dev")),
            ([None, None], &[key][..], Ok("http://127.0.0.1:1 of-env")),
            ([None, None], &[url, key][..], Ok("http://127.0.0.1:2 of-env")),
            (
                [Some("http://127.0.0.1:3"), Some(&file[..])],
                &[url, key][..],
                Ok("http://127.0.0.1:3 of-file"),
            ),
            ([None, None], &[url][..], Err("no key for http://127.0.0.1:2")),
            ([None, Some("sk-1")], &[url][..], Err("env:NAME or file:PATH")),
            ([Some("ftp://x"), None], &[key][..], Err("must be `http://")),
        ] {
            let [url, key] = flags.map(|flag| flag.map(str::to_owned));
            let text = String::new();
            let ask = Ask { text, model: "m".to_owned(), stream: false, key, url, ca: None, json: false };
            let env =
                |name: &str| set.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
            let chosen = ask.choose(env, || Ok(serde_json::from_str(of_dev).ok()));
            match (chosen.map(|it| format!("{} {}", it.url, it.token)), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected),
                (Err(error), Err(expected)) => {
                    let error = error.to_string();
                    assert!(error.contains(expected) && !error.contains("sk-1"), "{error}");
                }
                (found, _) => panic!("{set:?}: {found:?}"),
            }
        }
    }
}
