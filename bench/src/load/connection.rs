//! One keep-alive connection: a request out, an answer in.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::reader::Reader;
use super::requests::Target;

/// The longest that one answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);
const BUFFER_BYTES: usize = 32 << 10;

/// A connection to a target; it is made anew after anything went wrong.
pub(crate) struct Connection {
    target: Target,
    stream: Option<TcpStream>,
    reader: Reader,
    buffer: Vec<u8>,
    next: usize,
}

impl Connection {
    /// `first` is the request to start with, so that connections do not send the same ones at once.
    pub(crate) fn new(target: Target, first: usize) -> Self {
        Self { target, stream: None, reader: Reader::new(), buffer: vec![0; BUFFER_BYTES], next: first }
    }

    /// Connects ahead of the first request.
    pub(crate) async fn connect(&mut self) -> Result<(), String> {
        if self.stream.is_none() {
            let stream = TcpStream::connect(self.target.addr).await.map_err(|error| error.to_string())?;
            stream.set_nodelay(true).map_err(|error| error.to_string())?;
            self.stream = Some(stream);
        }
        Ok(())
    }

    /// Sends the next request and reads its answer.
    ///
    /// # Errors
    /// Says what was wrong with the connection or the answer.
    pub(crate) async fn exchange(&mut self) -> Result<(), String> {
        let done = match timeout(ANSWER_MAX, self.send_and_read()).await {
            Ok(done) => done,
            Err(_) => Err(format!("no complete answer within {} s", ANSWER_MAX.as_secs())),
        };
        if done.is_err() {
            self.stream = None;
        }
        done
    }

    async fn send_and_read(&mut self) -> Result<(), String> {
        self.connect().await?;
        let Some(stream) = &mut self.stream else { return Err("not connected".into()) };
        let requests = &self.target.requests;
        let request = &requests[self.next % requests.len()];
        self.next = self.next.wrapping_add(1);
        stream.write_all(request).await.map_err(|error| error.to_string())?;
        self.reader.reset();
        loop {
            let count = stream.read(&mut self.buffer).await.map_err(|error| error.to_string())?;
            if count == 0 {
                return Err("the connection was closed before the answer was complete".into());
            }
            if self.reader.take(&self.buffer[..count])? {
                return self.target.expect.check(self.reader.answer()).map_err(|problem| {
                    let tail = String::from_utf8_lossy(self.reader.answer().tail()).into_owned();
                    format!("{problem}; the body ends in {tail:?}")
                });
            }
        }
    }
}
