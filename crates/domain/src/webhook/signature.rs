//! The header `webhook-signature` (C-2): one signature for each secret that is valid.

use super::WebhookSecret;
use crate::{EventId, Timestamp};

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
