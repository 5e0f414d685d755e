//! What a node answers before it is one of its cluster: that it lives, and that it waits.

use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};

/// Probes, and no one else, are expected.
const CONNECTIONS_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 8 * 1024;
const EACH: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until it is dropped.
pub(crate) async fn wait(listener: &TcpListener) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            tokio::spawn(async move {
                let _ = timeout(EACH, answer(stream)).await;
                drop(place);
            });
        }
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::with_capacity(1024);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        if stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let (status, body) = if head.starts_with(b"GET /healthz ") {
        ("200 OK", r#"{"status":"ok"}"#)
    } else {
        ("503 Service Unavailable", r#"{"status":"joining"}"#)
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nretry-after: 1\r\n\
         connection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(address: std::net::SocketAddr, head: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn it_lives_and_is_not_ready() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asking = async {
            let lives = ask(address, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
            assert!(lives.starts_with("HTTP/1.1 200 "), "{lives}");
            for path in ["/readyz", "/v1/models", "/healthz2"] {
                let waits = ask(address, &format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")).await;
                assert!(
                    waits.starts_with("HTTP/1.1 503 ") && waits.ends_with(r#"{"status":"joining"}"#),
                    "{waits}"
                );
            }
        };
        tokio::select! {
            () = asking => {}
            () = wait(&listener) => {}
        }
    }
}
