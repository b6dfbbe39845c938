//! What a source server does with the requests of one path.

use bytes::Bytes;
use sha2::{Digest, Sha256};

/// The script of one path. Without a word more it behaves: ranges, a strong ETag, `If-Range`, a length.
#[derive(Debug, Clone)]
pub struct Source {
    pub(super) kind: Kind,
    pub(super) refusals: Option<Refusals>,
    pub(super) ranges: bool,
    pub(super) validator: Validator,
    pub(super) framing: Framing,
    pub(super) content_type: Option<String>,
    pub(super) cut: Option<Cut>,
    /// Where in the bytes the server stops until it is let on.
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
    /// These bytes.
    pub fn of(bytes: impl Into<Bytes>) -> Self {
        Self::new(Kind::Bytes(bytes.into()))
    }

    /// This status for every request, with an empty body.
    pub fn refused(status: u16) -> Self {
        Self::new(Kind::Status(status))
    }

    /// 302 to this address, which may be relative.
    pub fn redirect(url: &str) -> Self {
        Self::new(Kind::Redirect(url.to_owned()))
    }

    /// Takes the request and never answers.
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

    /// Answers the first requests with this status, and with `Retry-After` where one is given, the others as
    /// it would otherwise.
    #[must_use]
    pub fn refused_first(mut self, times: usize, status: u16, retry_after_s: Option<u32>) -> Self {
        self.refusals = Some(Refusals { times, status, retry_after_s });
        self
    }

    /// Answers a request for a range with everything.
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

    /// Sends a weak ETag, which is no ground for a resumption (RFC 9110, 13.1.5).
    #[must_use]
    pub fn with_weak_etag(mut self) -> Self {
        self.validator = Validator::Weak;
        self
    }

    /// Sends another strong ETag with every answer, as if the bytes had been replaced.
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

    /// Sends neither length nor chunks: the end of the connection is the end of the bytes.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        self.framing = Framing::UntilClose;
        self
    }

    /// Announces this length for the whole, sends what there is, and closes.
    #[must_use]
    pub fn claiming_length(mut self, len: u64) -> Self {
        self.framing = Framing::WrongLength(len);
        self
    }

    /// Sends this `Content-Type`; none otherwise.
    #[must_use]
    pub fn content_type(mut self, value: &str) -> Self {
        self.content_type = Some(value.to_owned());
        self
    }

    /// Breaks the first answer with a body after so many bytes of it.
    #[must_use]
    pub fn cut_once(mut self, after: u64) -> Self {
        self.cut = Some(Cut { after, always: false });
        self
    }

    /// Breaks every answer after so many bytes of it.
    #[must_use]
    pub fn cut_always(mut self, after: u64) -> Self {
        self.cut = Some(Cut { after, always: true });
        self
    }

    /// Sends the bytes before this position and then nothing until [`super::SourceServer::allow`] or
    /// `release`.
    #[must_use]
    pub fn gated_at(mut self, position: u64) -> Self {
        self.gate = Some(position);
        self
    }

    /// Keeps the last byte back until [`super::SourceServer::release`].
    #[must_use]
    pub fn hold_last_byte(self) -> Self {
        let Kind::Bytes(bytes) = &self.kind else { panic!("only bytes have a last one") };
        let last = bytes.len().checked_sub(1).expect("no bytes have no last one") as u64;
        self.gated_at(last)
    }

    /// The ETag of the n-th answer of a path.
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
