//! Webhooks: addresses, signatures and retries of event deliveries.

mod attempt;
mod schedule;
mod secret;
mod signature;

pub use attempt::{ATTEMPTS_MAX, Attempt, AttemptOutcome, AttemptResponse};
pub use schedule::{DELIVERY_TIMEOUT_S, DISABLED_PENDING_MAX_US, DeliveryVerdict, judge, retry_delay_us};
pub use secret::{ROTATION_GRACE_DEFAULT_S, WebhookSecret};
pub use signature::signature;

use crate::{Random, Timestamp, WebhookId, WorkspaceId};

/// An address that receives every event of its workspace.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// The workspace of the events.
    pub workspace: WorkspaceId,
    /// The address of the receiver.
    pub url: String,
    /// The secret that signs events.
    pub secret: WebhookSecret,
    /// The secret before the last rotation, and the time until which it still signs.
    pub previous_secret: Option<(WebhookSecret, Timestamp)>,
    /// Whether deliveries are sent.
    pub state: WebhookState,
    /// The start of an unbroken series of failed attempts; `None` after a success.
    pub failing_since: Option<Timestamp>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Number of saves.
    pub version: i64,
}

/// Whether deliveries to a webhook are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookState {
    /// Deliveries are sent.
    Enabled,
    /// Deliveries stay pending for 30 days and are sent once it is enabled.
    Disabled {
        /// Since when.
        since: Timestamp,
        /// The reason.
        reason: DisabledReason,
    },
}

/// The reason why a webhook was disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledReason {
    /// It responded with 410.
    Gone,
    /// It responded with `webhook-delivery: disable`.
    ByReceiver,
    /// Every attempt of five days failed.
    Failing,
}

impl DisabledReason {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Gone, Self::ByReceiver, Self::Failing];

    /// The name in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::ByReceiver => "asked",
            Self::Failing => "failing",
        }
    }

    /// The reason with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// The reason as a sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Gone => "the receiver responded with 410 Gone",
            Self::ByReceiver => "the receiver responded with webhook-delivery: disable",
            Self::Failing => "every delivery of the last 5 days failed",
        }
    }
}

impl Webhook {
    /// A new webhook with a new secret.
    pub fn create(workspace: WorkspaceId, url: String, now: Timestamp, random: &dyn Random) -> Self {
        Self {
            id: WebhookId::new(now, random),
            workspace,
            url,
            secret: WebhookSecret::new(random),
            previous_secret: None,
            state: WebhookState::Enabled,
            failing_since: None,
            created_at: now,
            version: 0,
        }
    }

    /// Enables deliveries again, the pending ones first.
    pub fn enable(mut self) -> Self {
        self.state = WebhookState::Enabled;
        self.failing_since = None;
        self
    }

    /// Updates the webhook after an attempt.
    pub fn record_attempt(mut self, verdict: DeliveryVerdict, now: Timestamp) -> Self {
        let disable = |reason| WebhookState::Disabled { since: now, reason };
        match verdict {
            DeliveryVerdict::Delivered => self.failing_since = None,
            DeliveryVerdict::Disable(reason) => self.state = disable(reason),
            DeliveryVerdict::Abort => {}
            DeliveryVerdict::Retry { .. } => match self.failing_since {
                None => self.failing_since = Some(now),
                Some(since) if now.micros_since(since) >= schedule::DISABLE_AFTER_US => {
                    // The first failure and this one are days apart, which is more than the required 12 h.
                    self.state = disable(DisabledReason::Failing);
                }
                Some(_) => {}
            },
        }
        self
    }

    /// Whether every attempt of the last 24 h failed, which deserves a warning.
    pub fn is_failing(&self, now: Timestamp) -> bool {
        self.failing_since.is_some_and(|since| now.micros_since(since) >= schedule::WARN_AFTER_US)
    }
}

#[cfg(test)]
mod tests;
