//! The rule which addresses may be reached. Pure: it resolves nothing and connects to nothing.
//!
//! What is refused stands in [`table`], each range with the document it comes from.

mod table;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use ipnet::IpNet;
use url::{Host, Url};

use crate::url_rules::{self, UrlProblem};

/// Says of every address whether it may be reached.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    allowed: Vec<IpNet>,
}

/// An address that must not be reached.
///
/// The text names the kind of the address, never the address itself: a client must not learn what a name
/// means inside our network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} ({source_text})")]
pub struct Forbidden {
    /// What the address is, such as `private network`.
    pub kind: &'static str,
    /// The document that says so, such as `RFC 1918`.
    pub source_text: &'static str,
}

/// Why a URL must not be requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The URL is of a form we do not request.
    #[error(transparent)]
    Url(#[from] UrlProblem),
    /// Its host is the literal of an address that must not be reached.
    #[error(transparent)]
    Address(#[from] Forbidden),
}

impl Guard {
    /// A guard that lets the public internet through, and what lies in `allowed`.
    ///
    /// A cloud's metadata address is opened only by a range of exactly that address (`/32`, `/128`): an
    /// operator who opens a private network rarely means to hand out the machine's credentials.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Refuses an address that is not on the public internet, unless the operator opened it.
    pub fn check(&self, ip: IpAddr) -> Result<(), Forbidden> {
        if self.opens(ip) {
            return Ok(());
        }
        table::forbidden(ip).map_or(Ok(()), Err)
    }

    /// Checks what can be known of a URL before its name is resolved: scheme, credentials, length, and a
    /// literal address.
    ///
    /// To be called at every hop. The HTTP client asks no resolver for a literal, so this is where literals
    /// are caught. `Url` has turned octal, hexadecimal, short and integer forms into an address already
    /// (WHATWG URL, host parsing).
    pub fn check_url(&self, url: &Url) -> Result<(), Refused> {
        url_rules::check(url)?;
        match url.host() {
            Some(Host::Ipv4(ip)) => Ok(self.check(ip.into())?),
            Some(Host::Ipv6(ip)) => Ok(self.check(ip.into())?),
            Some(Host::Domain(_)) => Ok(()),
            None => Err(UrlProblem::NoHost.into()),
        }
    }

    fn opens(&self, ip: IpAddr) -> bool {
        let must_be_exact = table::is_metadata(ip);
        self.allowed
            .iter()
            .any(|net| net.contains(&ip) && (!must_be_exact || net.prefix_len() == net.max_prefix_len()))
    }
}
