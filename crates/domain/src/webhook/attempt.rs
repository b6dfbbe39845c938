//! One POST of a delivery, as stored.

use crate::{AttemptId, Timestamp};

/// Most attempts of one delivery (C-9; the specification's sample value).
pub const ATTEMPTS_MAX: u32 = 30;

/// One POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its ID.
    pub id: AttemptId,
    /// Its start.
    pub at: Timestamp,
    /// The address of the receiver.
    pub address: String,
    /// Its outcome.
    pub outcome: AttemptOutcome,
}

/// The outcome of a POST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The receiver responded.
    Answered(AttemptResponse),
    /// It did not respond; a sentence with the reason.
    Unanswered(String),
}

/// The stored part of the receiver's response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttemptResponse {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Transfer-Encoding`.
    pub transfer_encoding: Option<String>,
    /// `Server`.
    pub server: Option<String>,
    /// `Date`.
    pub date: Option<String>,
    /// `Cache-Control`.
    pub cache_control: Option<String>,
    /// `Retry-After`, if it was sent in seconds.
    pub retry_after_s: Option<u32>,
    /// `webhook-delivery`.
    pub webhook_delivery: Option<String>,
    /// The first KiB of the body.
    pub body: String,
}
