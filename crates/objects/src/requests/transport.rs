//! HTTP: one request and its answer, each with its own time limit, on a runtime of its own. So a
//! stalled pipeline causes no timeout, and a large body has as much time as it needs while it
//! moves.
//!
//! A connection that the store breaks is a failure of the request. Its SIGPIPE, which would end the
//! process, is blocked wherever sockets are written to: permanently on the runtime's threads, and
//! on the callers' threads while they wait, because these connect.

use crate::failure::{Failure, Reason};
use crate::stop::Stop;
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use xsort_disk::{Error, Operation, block_sigpipe, without_sigpipe};

/// Time limit of a connection attempt.
pub(super) const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long an answer may take to begin, once the request is sent; S3 puts thousands of parts
/// together before it answers.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Time limit without a byte of an answer.
const STALL_TIME: Duration = Duration::from_secs(30);
/// Minimum time limit of silence in one attempt, however short the time for all attempts is: the
/// server may be busy.
const SILENCE_TIME_MIN: Duration = Duration::from_secs(5);
/// Assumed minimum speed of a request's body, in bytes per second: its progress can't be seen.
const BODY_BYTES_PER_SECOND: u64 = 64 << 10;
/// How long an idle connection is kept for the next request.
const IDLE_TIME: Duration = Duration::from_secs(20);
/// Maximum number of consecutive redirections that are followed, from one web server to the next.
const WEB_REDIRECTIONS: usize = 10;
/// Number of threads that move bytes; the threads that make requests only copy.
const THREADS: usize = 2;
/// Maximum length in bytes of an answer that is read as a whole: a list of 1,000 keys is shorter.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// An HTTP client.
pub(crate) struct Transport {
    runtime: Option<Runtime>,
    /// For stores. No redirection is followed, because a request has credentials, or bytes of an
    /// output, which are only for the named host.
    stores: Clients,
    /// For web servers, whose downloads are often on other hosts. No secrets are sent.
    web: Clients,
    /// Time limit until the answer to a read begins.
    answer_time: Duration,
    stall_time: Duration,
}

/// One client for TLS only, which follows no redirection to plain HTTP, and one without TLS.
struct Clients {
    secure: HttpClient,
    plain: HttpClient,
}

impl Clients {
    fn new(redirections: usize) -> Result<Clients, reqwest::Error> {
        let client = |is_secure| {
            let redirections = match redirections {
                0 => Policy::none(),
                most => Policy::limited(most),
            };
            let builder = client_builder().redirect(redirections).http1_only();
            Ok(HttpClient::new(builder.https_only(is_secure).build()?))
        };
        Ok(Clients { secure: client(true)?, plain: client(false)? })
    }
}

/// Returns a builder with the settings of all clients.
pub(super) fn client_builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("xsort/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIME)
        .pool_idle_timeout(IDLE_TIME)
        // Bodies must stay as the store has them, because their bytes are counted.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .dns_resolver(Arc::new(Shuffle))
}

/// A resolver that returns a name's addresses in random order, so that the connections of a job go
/// to many of the store's machines.
struct Shuffle;

impl Resolve for Shuffle {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let mut addresses: Vec<SocketAddr> = found.collect();
            let random = RandomState::new();
            addresses.sort_by_cached_key(|address| random.hash_one(address));
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

impl Transport {
    /// Creates clients for requests that are tried for `give_up_after`. A silent server isn't
    /// awaited for longer than that, or than [`SILENCE_TIME_MIN`].
    pub(crate) fn new(give_up_after: Duration) -> Result<Transport, Error> {
        // Fails if another crate has installed a provider, which then stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("xsort-http")
            .on_thread_start(block_sigpipe)
            .enable_all()
            .build()
            .map_err(Operation::Start.failed_on("HTTP"))?;
        let clients = |redirections| {
            let _entered = runtime.enter();
            Clients::new(redirections).map_err(|source| {
                Error::new(Operation::Start, "HTTP", std::io::Error::other(chain(&source)))
            })
        };
        let (stores, web) = (clients(0)?, clients(WEB_REDIRECTIONS)?);
        let patience = give_up_after.max(SILENCE_TIME_MIN);
        let (answer_time, stall_time) = (ANSWER_TIME.min(patience), STALL_TIME.min(patience));
        Ok(Transport { runtime: Some(runtime), stores, web, answer_time, stall_time })
    }

    /// Calls `work` inside the runtime. `work` must not wait.
    pub(crate) fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = self.runtime().enter();
        work()
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it is taken only when this is dropped")
    }

    /// Waits on this thread until the future is done.
    pub(crate) fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        without_sigpipe(|| self.runtime().block_on(future))
    }

    /// Makes a request to a store, and waits until its answer begins. A redirection counts as an
    /// answer.
    pub(crate) fn exchange(
        &self,
        request: HttpRequest,
        stop: &Stop,
    ) -> Result<HttpResponse, Failure> {
        self.exchange_by(&self.stores, request, stop)
    }

    /// Makes a request to a web server, and follows its redirections.
    pub(crate) fn exchange_with_web(
        &self,
        request: HttpRequest,
        stop: &Stop,
    ) -> Result<HttpResponse, Failure> {
        self.exchange_by(&self.web, request, stop)
    }

    fn exchange_by(
        &self,
        clients: &Clients,
        request: HttpRequest,
        stop: &Stop,
    ) -> Result<HttpResponse, Failure> {
        let is_secure = request.uri().scheme_str() == Some("https");
        let client = if is_secure { &clients.secure } else { &clients.plain };
        let bytes = request.body().content_length() as u64;
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let answer_time = if is_read { self.answer_time } else { ANSWER_TIME };
        let time = answer_time + Duration::from_secs(bytes / BODY_BYTES_PER_SECOND);
        self.wait_for(async {
            tokio::select! {
                biased;
                () = stop.wait() => Err(stopped()),
                answer = tokio::time::timeout(time, client.execute(request)) => match answer {
                    Ok(answer) => answer.map_err(|error| failure(&error)),
                    Err(_) => Err(timed_out(time)),
                },
            }
        })
    }

    /// Returns the next bytes of an answer.
    pub(crate) fn next(
        &self,
        body: &mut HttpResponseBody,
        stop: &Stop,
    ) -> Result<Option<Bytes>, Failure> {
        loop {
            let frame = self.wait_for(async {
                tokio::select! {
                    biased;
                    () = stop.wait() => Err(stopped()),
                    frame = tokio::time::timeout(self.stall_time, body.frame()) =>
                        frame.map_err(|_| timed_out(self.stall_time)),
                }
            })?;
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(failure(&error)),
                // Frames without data are trailers.
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Returns all bytes of a short answer.
    pub(crate) fn all(&self, mut body: HttpResponseBody) -> Result<Vec<u8>, Failure> {
        let stop = Stop::default();
        let mut all = Vec::new();
        while let Some(bytes) = self.next(&mut body, &stop)? {
            if all.len() + bytes.len() > ANSWER_BYTES_MAX {
                return Err(Failure::new(Reason::Refused, "the store's answer has no end"));
            }
            all.extend_from_slice(&bytes);
        }
        Ok(all)
    }

    /// Waits before a request is repeated.
    pub(crate) fn pause(&self, pause: Duration, stop: &Stop) {
        self.wait_for(async {
            tokio::select! {
                () = stop.wait() => {}
                () = tokio::time::sleep(pause) => {}
            }
        });
    }
}

impl Drop for Transport {
    /// Doesn't wait for a name server that doesn't answer.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A transport that is shared with bodies.
pub(crate) type SharedTransport = Arc<Transport>;

fn stopped() -> Failure {
    Failure::new(Reason::Stopped, "")
}

fn timed_out(time: Duration) -> Failure {
    Failure::new(Reason::TimedOut, format!("nothing came for {} seconds", time.as_secs()))
}

fn failure(error: &HttpError) -> Failure {
    let reason = match error.kind() {
        HttpErrorKind::Connect => Reason::Unreachable,
        HttpErrorKind::Timeout => Reason::TimedOut,
        _ => Reason::Cut,
    };
    Failure::new(reason, chain(error))
}

/// Returns an error's text with its causes, without repeating texts.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    let mut texts = vec![cause.to_string()];
    while let Some(next) = cause.source() {
        cause = next;
        let text = cause.to_string();
        if !texts.iter().any(|other| other.contains(&text)) {
            texts.push(text);
        }
    }
    texts.join(": ")
}
