//! The script of a source server for one path.

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// The script of one path. By default it is correct: ranges, a strong ETag, `If-Range`, a length.
#[derive(Debug, Clone)]
pub struct Source {
    pub(super) kind: Kind,
    pub(super) refusals: Option<Refusals>,
    pub(super) ranges: bool,
    pub(super) validator: Validator,
    pub(super) framing: Framing,
    pub(super) content_type: Option<String>,
    pub(super) cut: Option<Cut>,
    /// The byte position at which the server pauses until the gate is opened.
    pub(super) gate: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Bytes(Bytes),
    Redirect(String),
    Status(u16),
    Silent,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Refusals {
    pub(super) times: usize,
    pub(super) status: u16,
    pub(super) retry_after_s: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Validator {
    Strong,
    Weak,
    Changing,
    None,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Framing {
    Length,
    WrongLength(u64),
    Chunked,
    UntilClose,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) after: u64,
    pub(super) always: bool,
}

impl Source {
    /// Serves these bytes.
    pub fn of(bytes: impl Into<Bytes>) -> Self {
        Self::new(Kind::Bytes(bytes.into()))
    }

    /// Responds to every request with this status and an empty body.
    pub fn refused(status: u16) -> Self {
        Self::new(Kind::Status(status))
    }

    /// Responds with 302 to this address, which may be relative.
    pub fn redirect(url: &str) -> Self {
        Self::new(Kind::Redirect(url.to_owned()))
    }

    /// Accepts requests and never responds.
    pub fn silent() -> Self {
        Self::new(Kind::Silent)
    }

    fn new(kind: Kind) -> Self {
        Self {
            kind,
            refusals: None,
            ranges: true,
            validator: Validator::Strong,
            framing: Framing::Length,
            content_type: None,
            cut: None,
            gate: None,
        }
    }

    /// Responds to the first `times` requests with this status, and with `Retry-After` if set. Later
    /// requests get the normal response.
    #[must_use]
    pub fn refused_first(mut self, times: usize, status: u16, retry_after_s: Option<u32>) -> Self {
        self.refusals = Some(Refusals { times, status, retry_after_s });
        self
    }

    /// Responds to a request for a range with all bytes.
    #[must_use]
    pub fn without_ranges(mut self) -> Self {
        self.ranges = false;
        self
    }

    /// Sends no ETag.
    #[must_use]
    pub fn without_etag(mut self) -> Self {
        self.validator = Validator::None;
        self
    }

    /// Sends a weak ETag, which does not permit a resumption (RFC 9110, 13.1.5).
    #[must_use]
    pub fn with_weak_etag(mut self) -> Self {
        self.validator = Validator::Weak;
        self
    }

    /// Sends another strong ETag in every response, as if the bytes had been replaced.
    #[must_use]
    pub fn with_changing_etag(mut self) -> Self {
        self.validator = Validator::Changing;
        self
    }

    /// Sends the bytes in chunks, without a length.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.framing = Framing::Chunked;
        self
    }

    /// Sends neither a length nor chunks: the end of the connection ends the bytes.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        self.framing = Framing::UntilClose;
        self
    }

    /// Announces this length for the whole, sends the existing bytes, and closes.
    #[must_use]
    pub fn claiming_length(mut self, len: u64) -> Self {
        self.framing = Framing::WrongLength(len);
        self
    }

    /// Sends this `Content-Type`; the default is none.
    #[must_use]
    pub fn content_type(mut self, value: &str) -> Self {
        self.content_type = Some(value.to_owned());
        self
    }

    /// Breaks the first response with a body after `after` bytes of it.
    #[must_use]
    pub fn cut_once(mut self, after: u64) -> Self {
        self.cut = Some(Cut { after, always: false });
        self
    }

    /// Breaks every response after `after` bytes of it.
    #[must_use]
    pub fn cut_always(mut self, after: u64) -> Self {
        self.cut = Some(Cut { after, always: true });
        self
    }

    /// Pauses at this byte position until [`super::SourceServer::allow`] or `release`.
    #[must_use]
    pub fn gated_at(mut self, position: u64) -> Self {
        self.gate = Some(position);
        self
    }

    /// Pauses before the last byte until [`super::SourceServer::release`].
    #[must_use]
    pub fn gate_last_byte(self) -> Self {
        let Kind::Bytes(bytes) = &self.kind else { panic!("only bytes have a last one") };
        let last = bytes.len().checked_sub(1).expect("no bytes have no last one") as u64;
        self.gated_at(last)
    }

    /// The ETag of the n-th response of a path.
    pub(super) fn etag(&self, bytes: &[u8], n: usize) -> Option<String> {
        let hash = Sha256::digest(bytes);
        let hash = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        match self.validator {
            Validator::Strong => Some(format!("\"{hash}\"")),
            Validator::Weak => Some(format!("W/\"{hash}\"")),
            Validator::Changing => Some(format!("\"{hash}-{n}\"")),
            Validator::None => None,
        }
    }
}
