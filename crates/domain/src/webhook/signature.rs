//! Signatures of events (C-2, C-3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{EventId, Random, Timestamp};

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

    fn sign(&self, parts: &[&[u8]]) -> String {
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

/// Value of `webhook-signature`: for each secret `v1,` and Base64 of HMAC-SHA256 over `id.seconds.body`,
/// separated by spaces (Standard Webhooks 1.0.0, "Signature scheme").
pub fn signature<'a>(
    secrets: impl Iterator<Item = &'a WebhookSecret>,
    event: EventId,
    at: Timestamp,
    body: &[u8],
) -> String {
    let head = format!("{event}.{}.", at.as_seconds());
    let signed: Vec<_> =
        secrets.map(|secret| format!("v1,{}", secret.sign(&[head.as_bytes(), body]))).collect();
    signed.join(" ")
}
