//! Name resolution: checked again at every connection.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use kinora_fetch::{
    FetchError, Fetcher, Guard, HeaderMap, Limits, Network, PostError, PostLimits, Resolve, ResolveFuture,
    TimeoutPhase, Unreachable, WebhookClient,
};

use crate::clock::HOUR;
use crate::server::{Server, cut, with_length};
use crate::sources::unhurried_limits;

/// A resolver with a list of results; the last one repeats.
#[derive(Clone)]
struct Names {
    answers: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    lookups: Arc<Mutex<Vec<String>>>,
}

impl Names {
    fn new(answers: &[&[IpAddr]]) -> Self {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Self { answers: Arc::new(Mutex::new(answers)), lookups: Arc::default() }
    }

    fn lookups(&self) -> Vec<String> {
        self.lookups.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve(&self, host: &str) -> ResolveFuture {
        self.lookups.lock().unwrap().push(host.to_owned());
        let mut answers = self.answers.lock().unwrap();
        let answer = if 1 < answers.len() { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

struct NeverAnswers;

impl Resolve for NeverAnswers {
    fn resolve(&self, _host: &str) -> ResolveFuture {
        Box::pin(std::future::pending())
    }
}

/// Only `127.0.0.2` is allowed: `127.0.0.1` represents the private network.
fn network(resolver: impl Resolve + 'static) -> Network {
    Network::with_resolver(Guard::new(vec!["127.0.0.2/32".parse().unwrap()]), resolver)
}

async fn open(server: &Server, resolver: impl Resolve + 'static) -> Result<String, FetchError> {
    open_with(unhurried_limits(), server, resolver).await
}

async fn open_with(
    limits: Limits,
    server: &Server,
    resolver: impl Resolve + 'static,
) -> Result<String, FetchError> {
    let fetcher = Fetcher::new(&network(resolver), limits).unwrap();
    let mut response = fetcher.open(&server.url_by_name("media.example"), 0, None).await?;
    let bytes = response.chunk().await?.unwrap_or_default();
    Ok(String::from_utf8(bytes.into()).unwrap())
}

fn ok() -> String {
    with_length("200 OK", "connection: close\r\n", "media")
}

#[tokio::test]
async fn only_public_addresses_of_a_name_are_connected() {
    let (private, public) = Server::pair(ok()).await;
    for order in [[private.ip(), public.ip()], [public.ip(), private.ip()]] {
        let names = Names::new(&[&order]);
        assert_eq!(open(&public, names.clone()).await.unwrap(), "media");
        assert_eq!(names.lookups(), ["media.example"]);
    }
    assert_eq!((public.connections(), private.connections()), (2, 0));
}

#[tokio::test]
async fn name_with_only_private_addresses_is_never_connected() {
    let (private, _public) = Server::pair(ok()).await;
    for addresses in
        ["127.0.0.1", "10.0.0.1", "::1", "::ffff:127.0.0.2", "64:ff9b::7f00:2", "169.254.169.254"]
    {
        let ip: IpAddr = addresses.parse().unwrap();
        let error = open(&private, Names::new(&[&[ip, private.ip()]])).await.unwrap_err();
        assert!(matches!(error, FetchError::ForbiddenAddress(_)) && error.is_final(), "{ip}: {error:?}");
        assert!(!error.to_string().contains(addresses), "{error}");
    }
    assert_eq!(private.connections(), 0);
}

#[tokio::test]
async fn dns_rebinding_to_private_network_is_rejected() {
    let (private, public) = Server::pair(ok()).await;
    let names = Names::new(&[&[public.ip()], &[private.ip()]]);
    let fetcher = Fetcher::new(&network(names.clone()), unhurried_limits()).unwrap();
    let url = public.url_by_name("media.example");

    assert!(fetcher.open(&url, 0, None).await.is_ok());
    let error = fetcher.open(&url, 0, None).await.unwrap_err();
    assert!(matches!(error, FetchError::ForbiddenAddress(_)), "{error:?}");
    assert_eq!((public.connections(), private.connections()), (1, 0));
    assert_eq!(names.lookups().len(), 2);
}

#[tokio::test]
async fn redirect_to_a_private_name_is_rejected() {
    let (private, _) = Server::pair(ok()).await;
    let location = private.url_by_name("inside.example");
    let moved = with_length("302 Found", &format!("location: {location}\r\n"), "");
    let (_, public) = Server::pair(moved).await;
    let names = Names::new(&[&[public.ip()], &[private.ip()]]);
    let error = open(&public, names.clone()).await.unwrap_err();
    assert!(matches!(error, FetchError::ForbiddenAddress(_)), "{error:?}");
    assert_eq!(names.lookups(), ["media.example", "inside.example"]);
    assert_eq!(private.connections(), 0);
}

#[tokio::test]
async fn webhook_dns_rebinding_is_rejected() {
    let (private, public) = Server::pair(ok()).await;
    let names = Names::new(&[&[public.ip()], &[private.ip()]]);
    let limits = PostLimits { connect_timeout: HOUR, total_timeout: HOUR, ..PostLimits::default() };
    let poster = WebhookClient::new(&network(names), limits).unwrap();
    let url = public.url_by_name("hooks.example");

    let first = poster.post(&url, HeaderMap::new(), Bytes::from_static(b"{}")).await.unwrap();
    assert_eq!(first.status, 200);
    let error = poster.post(&url, HeaderMap::new(), Bytes::from_static(b"{}")).await.unwrap_err();
    assert!(matches!(error, PostError::ForbiddenAddress(_)), "{error:?}");
    assert_eq!((public.connections(), private.connections()), (1, 0));
}

#[tokio::test]
async fn name_without_addresses_is_unreachable() {
    let server = Server::start(|_, _| cut("")).await;
    for names in [Names::new(&[]), Names::new(&[&[]])] {
        let error = open(&server, names).await.unwrap_err();
        assert!(matches!(error, FetchError::Unreachable { why: Unreachable::Name, .. }), "{error:?}");
        assert!(!error.is_final());
        assert_eq!(error.to_string(), "the host name of the source does not resolve");
    }
    assert_eq!(server.connections(), 0);
}

/// No socket is connected, so the clock can jump.
#[tokio::test(start_paused = true)]
async fn hanging_resolver_times_out() {
    let server = Server::start(|_, _| cut("")).await;
    let error = open_with(Limits::default(), &server, NeverAnswers).await.unwrap_err();
    assert!(matches!(error, FetchError::Timeout(TimeoutPhase::Connect)), "{error:?}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn system_resolver_results_are_checked() {
    let server = Server::start(|_, _| cut("")).await;
    let fetcher = Fetcher::new(&Network::new(Guard::default()), unhurried_limits()).unwrap();
    let error = fetcher.open(&server.url_by_name("localhost"), 0, None).await.unwrap_err();
    assert!(matches!(error, FetchError::ForbiddenAddress(_)), "{error:?}");
    assert_eq!(server.connections(), 0);
}
