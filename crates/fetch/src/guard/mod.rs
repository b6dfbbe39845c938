//! Decides which IP addresses may be reached. Pure: it resolves no name and opens no connection.
//!
//! Forbidden ranges are in [`special_ranges`], each with its source document.

mod special_ranges;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use ipnet::IpNet;
use url::{Host, Url};

use crate::url_rules::{self, UrlProblem};

/// Decides for every IP address whether connections are allowed.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    allowed: Vec<IpNet>,
}

/// A forbidden IP address.
///
/// The text states the kind of the address, never the address itself: a client must not learn how a name
/// resolves inside our network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} ({source_text})")]
pub struct Forbidden {
    /// The kind of address, such as `private network`.
    pub kind: &'static str,
    /// The document that defines it, such as `RFC 1918`.
    pub source_text: &'static str,
}

/// Why a URL is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRejected {
    /// The URL has a form that is not allowed.
    #[error(transparent)]
    Url(#[from] UrlProblem),
    /// Its host is a literal of a forbidden IP address.
    #[error(transparent)]
    Address(#[from] Forbidden),
}

impl Guard {
    /// A guard that allows the public internet and the ranges in `allowed`.
    ///
    /// A cloud metadata address is allowed only by a range of exactly that address (`/32`, `/128`): an
    /// operator who allows a private network rarely intends to expose the credentials of the machine.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self { allowed }
    }

    /// Rejects an address that is not on the public internet, unless the operator allowed it (C-193).
    pub fn check(&self, ip: IpAddr) -> Result<(), Forbidden> {
        if self.is_allowed(ip) {
            return Ok(());
        }
        special_ranges::forbidden(ip).map_or(Ok(()), Err)
    }

    /// Checks a URL before its name is resolved: scheme, credentials, length, and a literal address.
    ///
    /// Must be called for every request, redirects included. The HTTP client does not resolve literals, so
    /// this check is their only one. `Url` has already converted octal, hexadecimal, short and integer forms
    /// to an address (WHATWG URL, host parsing).
    pub fn check_url(&self, url: &Url) -> Result<(), UrlRejected> {
        url_rules::check(url)?;
        match url.host() {
            Some(Host::Ipv4(ip)) => Ok(self.check(ip.into())?),
            Some(Host::Ipv6(ip)) => Ok(self.check(ip.into())?),
            Some(Host::Domain(_)) => Ok(()),
            None => Err(UrlProblem::NoHost.into()),
        }
    }

    fn is_allowed(&self, ip: IpAddr) -> bool {
        let must_be_exact = special_ranges::is_metadata(ip);
        self.allowed
            .iter()
            .any(|net| net.contains(&ip) && (!must_be_exact || net.prefix_len() == net.max_prefix_len()))
    }
}
