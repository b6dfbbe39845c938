//! Webhooks: where events go, how they are signed, when they are tried again.

mod attempt;
mod schedule;
mod signature;

pub use attempt::{ATTEMPTS_MAX, Attempt, AttemptOutcome, AttemptResponse};
pub use schedule::{DELIVERY_TIMEOUT_S, DISABLED_PENDING_MAX_US, DeliveryVerdict, judge, retry_delay_us};
pub use signature::{WebhookSecret, signature};

use crate::{Random, Timestamp, WebhookId, WorkspaceId};

/// How long an old secret goes on signing beside the new one, unless asked otherwise (C-3).
pub const ROTATION_GRACE_DEFAULT_S: i64 = 24 * 60 * 60;

/// An address that is told every event of its workspace.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// Whose events it is told.
    pub workspace: WorkspaceId,
    /// Where they are posted.
    pub url: String,
    /// What signs them.
    pub secret: WebhookSecret,
    /// What signed them before the last rotation, and until when it still does.
    pub previous: Option<(WebhookSecret, Timestamp)>,
    /// Whether they are posted at all.
    pub state: WebhookState,
    /// Since when every attempt has failed; `None` after a success.
    pub failing_since: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Counts the saves.
    pub version: i64,
}

/// Whether a webhook is posted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookState {
    /// Events go out.
    Enabled,
    /// Events stay pending for 30 days and go out once it is enabled.
    Disabled {
        /// Since when.
        since: Timestamp,
        /// Why.
        reason: DisabledReason,
    },
}

/// Why a webhook was disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisabledReason {
    /// It answered 410.
    Gone,
    /// It answered with `webhook-delivery: disable`.
    Asked,
    /// Every attempt of five days failed.
    Failing,
}

impl DisabledReason {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gone, Self::Asked, Self::Failing];

    /// The word as rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Asked => "asked",
            Self::Failing => "failing",
        }
    }

    /// The reason with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// The sentence for the person who asks why.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Gone => "the receiver answered 410 Gone",
            Self::Asked => "the receiver answered with webhook-delivery: disable",
            Self::Failing => "every delivery of the last 5 days failed",
        }
    }
}

impl Webhook {
    /// A new webhook with a secret of its own.
    pub fn create(workspace: WorkspaceId, url: String, now: Timestamp, random: &dyn Random) -> Self {
        Self {
            id: WebhookId::new(now, random),
            workspace,
            url,
            secret: WebhookSecret::new(random),
            previous: None,
            state: WebhookState::Enabled,
            failing_since: None,
            created_at: now,
            version: 0,
        }
    }

    /// Gives it a new secret, which signs at once. The old one goes on signing `webhook-signature` for the
    /// grace period, 0 seconds allowed (C-3).
    pub fn rotate(mut self, grace_s: u32, now: Timestamp, random: &dyn Random) -> Self {
        let old = std::mem::replace(&mut self.secret, WebhookSecret::new(random));
        self.previous = (grace_s > 0).then(|| (old, now.plus_seconds(i64::from(grace_s))));
        self
    }

    /// Lets events go out again, the pending ones first.
    pub fn enable(mut self) -> Self {
        self.state = WebhookState::Enabled;
        self.failing_since = None;
        self
    }

    /// The secrets that sign at this instant, newest first.
    pub fn signing_secrets(&self, now: Timestamp) -> impl Iterator<Item = &WebhookSecret> {
        let previous = self.previous.as_ref().filter(|(_, until)| now < *until).map(|(secret, _)| secret);
        std::iter::once(&self.secret).chain(previous)
    }

    /// Takes note of how an attempt ended. Returns what is new about the webhook, for the log.
    pub fn note_attempt(mut self, verdict: DeliveryVerdict, now: Timestamp) -> Self {
        let disable = |reason| WebhookState::Disabled { since: now, reason };
        match verdict {
            DeliveryVerdict::Delivered => self.failing_since = None,
            DeliveryVerdict::Disable(reason) => self.state = disable(reason),
            DeliveryVerdict::Abort => {}
            DeliveryVerdict::Retry { .. } => match self.failing_since {
                None => self.failing_since = Some(now),
                Some(since) if now.micros_since(since) >= schedule::FAILING_MAX_US => {
                    // The first and this failure lie days apart, which is more than the 12 h asked for.
                    self.state = disable(DisabledReason::Failing);
                }
                Some(_) => {}
            },
        }
        self
    }

    /// Whether every attempt of the last 24 h failed, worth a warning.
    pub fn is_failing(&self, now: Timestamp) -> bool {
        self.failing_since.is_some_and(|since| now.micros_since(since) >= schedule::WARNING_US)
    }
}

#[cfg(test)]
mod tests;
