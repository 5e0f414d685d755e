//! A gateway inside of a program: no listener, the same pipeline. `cargo run -p trestle-gateway --example embedded`

use trestle_gateway::{Chat, Gateway};

const DOCUMENT: &str = "
models:
  chat: { targets: [{ model: mock/echo }] }
settings: { require_keys: false }
";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let gateway = Gateway::open(DOCUMENT)?;
    let client = gateway.client(None);

    let answer = client.generate(Chat::new("chat").user("Hello from inside.")).await?;
    println!("whole: {:?}, {:?}", answer.blocks[0].kind, answer.usage);

    let mut events = client.stream(Chat::new("mock/lorem").user("Write.").max_tokens(5)).await?;
    while let Some(event) = events.next().await {
        println!("event: {:?}", event?);
    }
    gateway.stop();
    Ok(())
}
