//! Resolves names to allowed IP addresses.
//!
//! The HTTP client gets its addresses only from here, right before it connects, and connects to exactly
//! these. So a name that resolves differently later (DNS rebinding) gains nothing.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::guard::{Forbidden, Guard};

/// Most addresses of one name that are used. A client tries them one after the other within its connect
/// timeout.
const ADDRESSES_MAX: usize = 16;

/// The future of [`Resolve::resolve`].
pub type ResolveFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Resolves names to IP addresses. The system resolver in the server, a scripted one in tests.
pub trait Resolve: Send + Sync {
    /// All addresses of `host`, in the order they should be tried. They need not be checked.
    fn resolve(&self, host: &str) -> ResolveFuture;
}

/// Concurrent lookups by the operating system.
///
/// A lookup blocks a thread until the system gives up, even after the request was cancelled. The threads
/// (512 by tokio's default) are shared with file reads. Lookups of dead names may use a quarter of them.
const LOOKUPS_MAX: usize = 128;

/// Resolves through the operating system.
#[derive(Debug, Clone)]
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> ResolveFuture {
        let (host, lookups) = (host.to_owned(), self.lookups.clone());
        Box::pin(async move {
            let permit = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let lookup = tokio::task::spawn_blocking(move || {
                let found = (host, 0).to_socket_addrs();
                drop(permit); // after the lookup has ended, which a cancelled caller does not stop
                found
            });
            Ok(lookup.await.map_err(io::Error::other)??.map(|address| address.ip()).collect())
        })
    }
}

/// Name resolution and allowed IP addresses.
#[derive(Clone)]
pub struct Network {
    pub(crate) guard: Guard,
    resolver: Arc<dyn Resolve>,
}

impl Network {
    /// The internet through the system resolver, restricted by `guard`.
    pub fn new(guard: Guard) -> Self {
        Self::with_resolver(guard, SystemResolver::default())
    }

    /// The same with another resolver.
    pub fn with_resolver(guard: Guard, resolver: impl Resolve + 'static) -> Self {
        Self { guard, resolver: Arc::new(resolver) }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// Why a name has no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookupError {
    #[error("name does not resolve")]
    Failed(#[source] io::Error),
    #[error("name has no address")]
    Empty,
    #[error("name resolves to no public address")]
    Forbidden(#[from] Forbidden),
}

impl reqwest::dns::Resolve for Network {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let network = self.clone();
        Box::pin(async move {
            let found = network.resolver.resolve(name.as_str()).await.map_err(LookupError::Failed)?;
            let reachable = allowed_addresses(&network.guard, found)?;
            // Port 0: the client sets the port of the URL.
            let addresses = reachable.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(addresses) as reqwest::dns::Addrs)
        })
    }
}

/// The allowed addresses; an error if there is none.
///
/// A name with public and private addresses stays usable through its public ones. The others are never
/// connected to, so rejecting the whole name would add no protection.
fn allowed_addresses(guard: &Guard, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, LookupError> {
    let mut last_forbidden = None;
    let mut reachable = Vec::new();
    for ip in found.into_iter().take(ADDRESSES_MAX) {
        match guard.check(ip) {
            Ok(()) => reachable.push(ip),
            Err(forbidden) => last_forbidden = Some(forbidden),
        }
    }
    match last_forbidden {
        Some(forbidden) if reachable.is_empty() => Err(forbidden.into()),
        None if reachable.is_empty() => Err(LookupError::Empty),
        _ => Ok(reachable),
    }
}
