//! The secret of a webhook and its rotation (C-3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::Webhook;
use crate::{Random, Timestamp};

/// Default time for which an old secret still signs together with the new one, in seconds (C-3).
pub const ROTATION_GRACE_DEFAULT_S: i64 = 24 * 60 * 60;

/// The key that signs the events of a webhook. `Debug` never prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret([u8; 32]);

impl WebhookSecret {
    /// A new key: 256 random bits.
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        Self(bytes)
    }

    /// The key with this value, as read from the store.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its value: the HMAC key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The form that people copy: Base64 of the key.
    pub fn reveal(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// The form that Standard Webhooks libraries take.
    pub fn reveal_standard(&self) -> String {
        format!("whsec_{}", self.reveal())
    }

    /// Value of `Service-Signature`: Base64 of HMAC-SHA256 over the raw body.
    pub fn sign_body(&self, body: &[u8]) -> String {
        self.sign(&[body])
    }

    /// Base64 of HMAC-SHA256 over the joined parts.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        for part in parts {
            mac.update(part);
        }
        STANDARD.encode(mac.finalize().into_bytes())
    }
}

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSecret(hidden)")
    }
}

impl Webhook {
    /// Replaces the secret; the new one signs at once. The old one still signs `webhook-signature` for the
    /// grace period, which may be 0 seconds (C-3).
    pub fn rotate(mut self, grace_s: u32, now: Timestamp, random: &dyn Random) -> Self {
        let old = std::mem::replace(&mut self.secret, WebhookSecret::new(random));
        self.previous_secret = (grace_s > 0).then(|| (old, now.plus_seconds(i64::from(grace_s))));
        self
    }

    /// The secrets that sign at this instant, newest first.
    pub fn signing_secrets(&self, now: Timestamp) -> impl Iterator<Item = &WebhookSecret> {
        let previous =
            self.previous_secret.as_ref().filter(|(_, until)| now < *until).map(|(secret, _)| secret);
        std::iter::once(&self.secret).chain(previous)
    }
}
