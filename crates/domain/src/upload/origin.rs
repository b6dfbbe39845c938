//! The pages from which browsers may send.

/// The origin that a browser names in its requests, or any (C-140, `corsOrigin`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorsOrigin {
    /// Pages of any origin, and clients that are not browsers.
    Any,
    /// Pages of this origin, `https://shop.example`, as browsers write it; and clients that are not
    /// browsers.
    One(String),
}

impl CorsOrigin {
    /// Longest text, in bytes: a host has 253 at most (RFC 1035, 2.3.4).
    pub const LEN_MAX: usize = 300;

    /// Parses the form in rows and addresses.
    pub fn from_text(text: &str) -> Self {
        if text == "*" { Self::Any } else { Self::One(text.to_owned()) }
    }

    /// The form in rows, addresses and responses.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Any => "*",
            Self::One(origin) => origin,
        }
    }

    /// Whether a request with this origin is allowed. A request without one is not from a page of another
    /// site.
    pub fn allows(&self, origin: Option<&str>) -> bool {
        match (self, origin) {
            (Self::Any, _) | (Self::One(_), None) => true,
            (Self::One(allowed), Some(origin)) => allowed == origin,
        }
    }
}
