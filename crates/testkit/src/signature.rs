//! Verification of the two webhook signatures from the documents, as in a receiver, without Kinora's own
//! code.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Maximum age of a signed timestamp, in seconds (Standard Webhooks libraries: five minutes).
const TOLERANCE_S: i64 = 300;

/// Whether `header` is the `Service-Signature` of `body`: Base64 of HMAC-SHA256 under the decoded secret.
pub fn verify_service_signature(secret_base64: &str, body: &[u8], header: &str) -> bool {
    let (Ok(key), Ok(signature)) = (STANDARD.decode(secret_base64), STANDARD.decode(header)) else {
        return false;
    };
    verifies(&key, &[body], &signature)
}

/// Whether one of the signatures in `signatures` is that of `{id}.{timestamp}.{body}`, and the timestamp is
/// close to `now_s`.
///
/// `secret` is the Base64 text, with or without `whsec_`. The headers are `webhook-id`, `webhook-timestamp`
/// (seconds since 1970) and `webhook-signature` (`v1,` and Base64; several are separated by spaces). Standard
/// Webhooks 1.0.0, "Verifying signatures".
pub fn verify_standard_webhooks(
    secret: &str,
    id: &str,
    timestamp: &str,
    signatures: &str,
    body: &[u8],
    now_s: i64,
) -> bool {
    let Ok(key) = STANDARD.decode(secret.trim_start_matches("whsec_")) else { return false };
    let Ok(signed_at) = timestamp.parse::<i64>() else { return false };
    if now_s.abs_diff(signed_at) > TOLERANCE_S.unsigned_abs() {
        return false;
    }
    signatures.split(' ').filter_map(|signature| signature.strip_prefix("v1,")).any(|signature| {
        STANDARD.decode(signature).is_ok_and(|decoded| {
            verifies(&key, &[id.as_bytes(), b".", timestamp.as_bytes(), b".", body], &decoded)
        })
    })
}

fn verifies(key: &[u8], parts: &[&[u8]], signature: &[u8]) -> bool {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made with OpenSSL: printf '{"a":1}' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0001...1f -binary |
    // base64
    const SECRET: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const OTHER: &str = "AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    #[test]
    fn only_the_signature_of_this_body_and_secret_verifies() {
        let signature = "tM694wmCRD7DbBj6ma0Qpw5wW7p3n1fDfoTey2SuUPs=";
        let check = |secret: &str, body: &str, header: &str, ok: bool| {
            assert_eq!(verify_service_signature(secret, body.as_bytes(), header), ok, "{body} {header}");
        };
        check(SECRET, r#"{"a":1}"#, signature, true);
        check(OTHER, r#"{"a":1}"#, signature, false);
        check("not base64", r#"{"a":1}"#, signature, false);
        check(SECRET, r#"{"a":2}"#, signature, false);
        check(SECRET, r#"{"a":1} "#, signature, false);
        check(SECRET, r#"{"a":1}"#, &signature[4..], false);
        check(SECRET, r#"{"a":1}"#, "", false);
    }

    #[test]
    fn one_valid_signature_among_several_suffices() {
        let good = "v1,SXAoweK8PoHUhAf091HE3QzPYGheYRSi+qe7sGYBbL0=";
        let check = |secret: &str, id: &str, at: &str, signatures: &str, now_s: i64, ok: bool| {
            let verified = verify_standard_webhooks(secret, id, at, signatures, br#"{"a":1}"#, now_s);
            assert_eq!(verified, ok, "{id} {at} {signatures} {now_s}");
        };
        let other = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        check(SECRET, "msg_1", "1762164228", good, 1_762_164_228, true);
        check(&format!("whsec_{SECRET}"), "msg_1", "1762164228", good, 1_762_164_228, true);
        check(SECRET, "msg_1", "1762164228", &format!("{other} {good}"), 1_762_164_228, true);
        check(SECRET, "msg_1", "1762164228", &format!("{good} {other}"), 1_762_164_228, true);
        check(SECRET, "msg_1", "1762164228", good, 1_762_164_528, true);
        check(SECRET, "msg_1", "1762164228", good, 1_762_164_529, false);
        check(SECRET, "msg_1", "1762164228", good, 1_762_163_927, false);
        check(SECRET, "msg_2", "1762164228", good, 1_762_164_228, false);
        check(SECRET, "msg_1", "1762164229", good, 1_762_164_228, false);
        check(SECRET, "msg_1", "soon", good, 1_762_164_228, false);
        check(OTHER, "msg_1", "1762164228", good, 1_762_164_228, false);
        check(SECRET, "msg_1", "1762164228", other, 1_762_164_228, false);
        check(SECRET, "msg_1", "1762164228", &good.replace("v1,", "v2,"), 1_762_164_228, false);
        check(SECRET, "msg_1", "1762164228", "", 1_762_164_228, false);
    }
}
