//! Drives chat requests through an embedded gateway against an upstream for some seconds, for measuring:
//! `in_process UPSTREAM_URL SECONDS` prints how many were answered.

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::HeaderMap;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use trestle_dialect::Dialect;
use trestle_gateway::{Endpoint, Gateway};

const AT_ONCE: usize = 32;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: in_process UPSTREAM_URL SECONDS";
    let upstream = arguments.next().context(usage)?;
    let seconds: u64 = arguments.next().context(usage)?.parse().context(usage)?;
    let gateway = Gateway::open(&format!(
        "
providers:
  upstream: {{ base_url: '{upstream}', dialects: [openai-chat], keys: [{{ name: main, value: sk-none }}] }}
models:
  chat: {{ targets: [{{ model: upstream/gpt-4o-mini }}] }}
settings: {{ require_keys: false }}
"
    ))?;
    let until = Instant::now() + Duration::from_secs(seconds);
    let answered = Arc::new(AtomicU64::new(0));
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(14);
    let body = Bytes::from(format!(
        r#"{{"model":"chat","messages":[{{"role":"user","content":"{text}"}}],"temperature":0.7,"max_tokens":256}}"#
    ));
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (client, body, answered) = (gateway.client(None), body.clone(), Arc::clone(&answered));
            tokio::spawn(async move {
                while Instant::now() < until {
                    let endpoint = Endpoint::Generate(Dialect::OpenAiChat);
                    let answer = client.send(endpoint, HeaderMap::new(), body.clone()).await?;
                    let status = answer.status;
                    let bytes = answer.bytes().await?;
                    ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&bytes));
                    answered.fetch_add(1, Relaxed);
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    println!("{{\"requests\":{}}}", answered.load(Relaxed));
    gateway.stop();
    Ok(())
}
