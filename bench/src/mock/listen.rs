//! The listener: a thread of its own that serves until the handle is dropped.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use anyhow::Context as _;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::behaviour::Behaviour;
use super::body::ResetFlag;
use super::canned;
use super::record::Recorded;
use super::serve::{Upstream, handle};
use super::tally::Tally;

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 4096;

/// A certificate chain and its key, as PEM text.
#[derive(Clone)]
pub struct Pem {
    /// The certificates.
    pub cert: Vec<u8>,
    /// The private key.
    pub key: Vec<u8>,
}

/// How to start a mock.
#[derive(Clone)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Serve TLS (with HTTP/1.1 and HTTP/2 by ALPN) instead of plain TCP.
    pub tls: Option<Pem>,
    /// Serve only prebuilt answers, as fast as can be, and record nothing: the upstream of benchmarks.
    pub canned: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 0)), tls: None, canned: false }
    }
}

/// A running mock. It stops when this is dropped.
pub struct Mock {
    addr: SocketAddr,
    scheme: &'static str,
    upstream: Arc<Upstream>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Mock {
    /// Starts a mock on a thread of its own; it serves once this returns.
    ///
    /// # Errors
    /// Where the address cannot be bound or the certificate cannot be used.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let mode = match &options.tls {
            _ if options.canned => Mode::Canned,
            Some(pem) => Mode::Tls(acceptor(pem)?),
            None => Mode::Plain,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            bind(options.listen).with_context(|| format!("cannot listen on {}", options.listen))?
        };
        let addr = listener.local_addr()?;
        let scheme = if matches!(mode, Mode::Tls(_)) { "https" } else { "http" };
        let upstream = Arc::new(Upstream::default());
        let (stop, stopped) = oneshot::channel();
        let shared = upstream.clone();
        let thread = std::thread::Builder::new().name("mock".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, mode, shared) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { addr, scheme, upstream, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The base URL without a path.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.addr)
    }

    /// The last 1,000 requests, oldest first.
    pub fn requests(&self) -> Vec<Recorded> {
        self.upstream.recorder.requests()
    }

    /// What each call came to, in the order in which they came: the first 200,000 since [`Self::clear`].
    pub fn account(&self) -> Vec<Tally> {
        self.upstream.tallies.all()
    }

    /// Requests whose answer is not complete and whose client is still there.
    pub fn in_flight(&self) -> usize {
        self.upstream.recorder.in_flight()
    }

    /// Forgets the recorded requests, and the account.
    pub fn clear(&self) {
        self.upstream.recorder.clear();
        self.upstream.tallies.clear();
    }

    /// Queues behaviours (each as in `x-mock`; an empty one means none) for the next requests, of one key or of all.
    ///
    /// # Errors
    /// Where a setting is unknown or the queue is full.
    pub fn script(&self, key: Option<&str>, steps: &[&str]) -> anyhow::Result<()> {
        let steps = steps.iter().map(|step| Behaviour::parse(step)).collect::<Result<_, _>>();
        steps.and_then(|steps| self.upstream.script.add(key, steps)).map_err(anyhow::Error::msg)?;
        Ok(())
    }

    /// Waits until the mock ends, which is never but by a panic.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

fn acceptor(pem: &Pem) -> anyhow::Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(&pem.cert).collect::<Result<Vec<_>, _>>();
    let chain = chain.context("the certificate is no PEM")?;
    let key = PrivateKeyDer::from_pem_slice(&pem.key).context("the key is no PEM")?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What a connection gets.
enum Mode {
    Canned,
    Plain,
    Tls(TlsAcceptor),
}

async fn accept(listener: TcpListener, mode: Mode, upstream: Arc<Upstream>) {
    loop {
        // An error here is of one connection, or a lack of descriptors that ends when one is closed.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let reset = ResetFlag::default();
        let upstream = upstream.clone();
        match &mode {
            Mode::Canned => {
                tokio::spawn(canned::serve(stream));
            }
            Mode::Plain => {
                tokio::spawn(connection(Wire { stream, reset: reset.clone() }, upstream, reset));
            }
            Mode::Tls(tls) => {
                let accepted = tls.accept(Wire { stream, reset: reset.clone() });
                tokio::spawn(async move {
                    if let Ok(wire) = accepted.await {
                        connection(wire, upstream, reset).await;
                    }
                });
            }
        }
    }
}

async fn connection<S>(stream: S, upstream: Arc<Upstream>, reset: ResetFlag)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request| handle(upstream.clone(), reset.clone(), request));
    // Faults that were asked for end connections in errors.
    let _ = auto::Builder::new(TokioExecutor::new())
        .serve_connection_with_upgrades(TokioIo::new(stream), service)
        .await;
}

/// A socket that is reset instead of closed where its flag is set.
struct Wire {
    stream: TcpStream,
    reset: ResetFlag,
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Relaxed) {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
