//! One POST of a delivery, as it is remembered.

use crate::{AttemptId, Timestamp};

/// Most attempts of one delivery (C-9; the specification's sample value).
pub const ATTEMPTS_MAX: u32 = 30;

/// One POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its id.
    pub id: AttemptId,
    /// When it began.
    pub at: Timestamp,
    /// Where it went.
    pub address: String,
    /// How it ended.
    pub outcome: AttemptOutcome,
}

/// How a POST ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver answered.
    Answered(AttemptResponse),
    /// It did not; a sentence says why.
    Unanswered(String),
}

/// What the receiver answered, as much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptResponse {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Transfer-Encoding`.
    pub transfer: Option<String>,
    /// `Server`.
    pub server: Option<String>,
    /// `Date`.
    pub date: Option<String>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// `Retry-After` in seconds, when it was sent so.
    pub retry_after_s: Option<u32>,
    /// `webhook-delivery`.
    pub webhook_delivery: Option<String>,
    /// The first KiB of the body.
    pub body: String,
}
