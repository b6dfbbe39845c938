//! Helpers of the source tests.

use kinora_fetch::{FetchError, Fetcher, Guard, Limits, Network, SourceResponse, Unreachable};

use crate::clock::HOUR;
use crate::server::{Server, cut};

/// Only this address is allowed, so that its neighbour `127.0.0.2` is an ordinary private address.
const OPEN: &str = "127.0.0.1/32";

/// The default, without a timeout that a busy machine could reach.
pub(crate) fn unhurried_limits() -> Limits {
    Limits { connect_timeout: HOUR, headers_timeout: HOUR, stall_window: HOUR, ..Limits::default() }
}

pub(crate) fn fetcher_with(limits: Limits) -> Fetcher {
    let guard = Guard::new(vec![OPEN.parse().unwrap()]);
    Fetcher::new(&Network::new(guard), limits).unwrap()
}

pub(crate) fn fetcher() -> Fetcher {
    fetcher_with(unhurried_limits())
}

pub(crate) async fn open(server: &Server) -> Result<SourceResponse, FetchError> {
    fetcher().open(&server.url("/a.mp4?b=c"), 0, None).await
}

/// All bytes until the end or the error.
pub(crate) async fn read(response: &mut SourceResponse) -> (String, Option<FetchError>) {
    let mut text = String::new();
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) => text.push_str(std::str::from_utf8(&bytes).unwrap()),
            Ok(None) => return (text, None),
            Err(error) => return (text, Some(error)),
        }
    }
}

/// Checks that a response is rejected at its headers.
pub(crate) async fn check_refused(
    bytes: impl Into<Vec<u8>>,
    expected: impl Fn(&FetchError) -> bool,
    is_final: bool,
) {
    let bytes = bytes.into();
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let error = open(&Server::start(move |_, _| cut(bytes.clone())).await).await.unwrap_err();
    assert!(expected(&error), "{shown} gave {error:?}");
    assert_eq!(error.is_final(), is_final, "{shown} gave {error:?}");
}

pub(crate) fn is_broken(error: &FetchError) -> bool {
    matches!(error, FetchError::Unreachable { why: Unreachable::Broken, .. })
}

pub(crate) fn is_cut(error: &FetchError) -> bool {
    matches!(error, FetchError::Unreachable { why: Unreachable::Cut, .. })
}
