//! HTTP/1 towards providers, against a server that writes what the test says.

use super::*;
use crate::upstream::io::Stream;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

async fn pair() -> (Connection, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (Connection::new(Stream::Plain(client), None), listener.accept().await.unwrap().0)
}

fn request(body: &'static str) -> Request<Outgoing> {
    let body = Outgoing::new(body.split_inclusive(',').map(|piece| piece.as_bytes().into()).collect());
    Request::post("/v1/x?y=z").header("host", "a.example").body(body).unwrap()
}

/// The answer that `written` is, cut into pieces, and whether its connection is kept. Where `closed` is set the
/// server closes after it.
async fn outcome(
    written: &[u8],
    cut: usize,
    closed: bool,
) -> Result<(u16, Result<String, Broken>, bool), CallError> {
    let (connection, mut server) = pair().await;
    let serving = async {
        for piece in written.chunks(cut.max(1)) {
            server.write_all(piece).await.unwrap();
            if cut < written.len() {
                tokio::task::yield_now().await;
            }
        }
        if closed {
            server.shutdown().await.unwrap();
        }
        server
    };
    let asking = async {
        let (head, mut body) = connection.call(&request("a,b")).await?;
        let mut all = Vec::new();
        let text = loop {
            match poll_fn(|cx| body.poll_data(cx)).await {
                Some(Ok(data)) => all.extend_from_slice(&data),
                Some(Err(broken)) => break Err(broken),
                None => break Ok(String::from_utf8(all).unwrap()),
            }
        };
        Ok((head.status.as_u16(), text, body.into_connection().is_some()))
    };
    let (_server, outcome) = tokio::join!(serving, asking);
    outcome
}

fn good(status: u16, text: &str, keep: bool) -> (u16, Result<String, Broken>, bool) {
    (status, Ok(text.to_owned()), keep)
}

#[tokio::test]
async fn a_request_is_written_as_it_should_be() {
    let (connection, mut server) = pair().await;
    let asked = request("{\"a\":1,\"b\":2}");
    let (_, read) = tokio::join!(connection.call(&asked), async {
        let mut read = [0; 512];
        let length = server.read(&mut read).await.unwrap();
        drop(server);
        String::from_utf8(read[..length].to_vec()).unwrap()
    });
    assert_eq!(
        read,
        "POST /v1/x?y=z HTTP/1.1\r\nhost: a.example\r\ncontent-length: 13\r\n\r\n{\"a\":1,\"b\":2}"
    );
}

#[tokio::test]
async fn bodies_end_where_their_head_says_in_any_cuts() {
    for (written, closed, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false, good(200, "hello", true)),
        ("HTTP/1.1 204 No Content\r\n\r\n", false, good(204, "", true)),
        ("HTTP/1.1 429 \r\ncontent-length: 0\r\n\r\n", false, good(429, "", true)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nhi", false, good(200, "hi", true)),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            false,
            good(200, "hello", true),
        ),
        (
            "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi",
            false,
            good(200, "hi", true),
        ),
        (
            "HTTP/1.1 200 OK\r\nconnection: Keep-Alive, CLOSE\r\ncontent-length: 2\r\n\r\nhi",
            false,
            good(200, "hi", false),
        ),
        ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", false, good(200, "hi", false)),
        (
            "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi",
            false,
            good(200, "hi", true),
        ),
        ("HTTP/1.1 200 OK\r\n\r\nto the end", true, good(200, "to the end", false)),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nto the end",
            true,
            good(200, "to the end", false),
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            false,
            good(200, "hi", false),
        ),
    ] {
        for cut in [1, 7, 16, written.len()] {
            assert_eq!(
                outcome(written.as_bytes(), cut, closed).await.unwrap(),
                expected,
                "{written:?} cut at {cut}"
            );
        }
    }
    let too_much = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi!";
    assert_eq!(outcome(too_much.as_bytes(), too_much.len(), false).await.unwrap(), good(200, "hi", false));
}

#[tokio::test]
async fn an_end_before_the_end_is_told() {
    for written in [
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ] {
        let outcome = outcome(written.as_bytes(), 9, true).await.unwrap();
        assert_eq!(outcome, (200, Err(Broken::Connection), false), "{written:?}");
    }
    for written in ["", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let error = outcome(written.as_bytes(), 9, true).await.unwrap_err();
        assert!(matches!(error, CallError::Closed), "{written:?}: {error}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_refused() {
    let (long, many) = ("x".repeat(HEAD_BYTES_MAX), "a: b\r\n".repeat(HEADERS_MAX + 1));
    for written in [
        "<html>\r\n\r\n".to_owned(),
        "HTTP/1.1 999999 OK\r\n\r\n".to_owned(),
        "HTTP/1.1 099 OK\r\n\r\n".to_owned(),
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nhi".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nhi".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!".to_owned(),
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nhello".to_owned(),
        format!("HTTP/1.1 200 OK\r\na: {long}\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n{many}\r\n"),
    ] {
        let error = outcome(written.as_bytes(), 20_000, false).await.unwrap_err();
        assert!(matches!(error, CallError::Malformed(_)), "{:.60}: {error}", written);
    }
}

#[tokio::test]
async fn a_closed_connection_is_seen_before_it_is_used() {
    for says in ["", "HTTP/1.1 408 Request Timeout\r\n\r\n"] {
        let (mut connection, mut server) = pair().await;
        assert!(poll_fn(|cx| Poll::Ready(connection.is_idle(cx))).await);
        server.write_all(says.as_bytes()).await.unwrap();
        drop(server);
        let mut looks = 0;
        while poll_fn(|cx| Poll::Ready(connection.is_idle(cx))).await {
            looks += 1;
            assert!(looks < 1000, "a closed connection passed for idle");
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_request_ends_the_writing() {
    let (connection, mut server) = pair().await;
    let body = Outgoing::new([Bytes::from(vec![b'x'; 64 << 20])].into_iter().collect());
    let large = Request::post("/").body(body).unwrap();
    let (answered, _server) = tokio::join!(connection.call(&large), async {
        server.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        server
    });
    let (head, body) = answered.unwrap();
    assert!(head.status == 413 && body.is_ended() && body.into_connection().is_none());
}

#[tokio::test]
async fn an_answer_before_a_reset_is_read() {
    for _ in 0..20 {
        let (connection, server) = pair().await;
        let body = Outgoing::new([Bytes::from(vec![b'x'; 64 << 20])].into_iter().collect());
        let large = Request::post("/").body(body).unwrap();
        // What it does not read makes the close a reset.
        let answering = std::thread::spawn(move || {
            let mut server = server.into_std().unwrap();
            server.set_nonblocking(false).unwrap();
            std::io::Read::read_exact(&mut server, &mut [0; 1000]).unwrap();
            let answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n";
            std::io::Write::write_all(&mut server, answer).unwrap();
        });
        let (head, _) = connection.call(&large).await.unwrap();
        assert_eq!(head.status, 413);
        answering.join().unwrap();
    }
}
