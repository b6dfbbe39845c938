//! The claims of a playback token, checked against the requested playback ID (C-165).

use super::policy::TokenError;
use crate::{PlaybackId, Timestamp};

/// Leeway for the difference between the clocks of signer and verifier, in seconds (C-165).
const LEEWAY_S: f64 = 60.0;

/// The claims of a token whose signature is valid.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenClaims {
    /// `aud`: the audience (RFC 7519, 4.1.3).
    pub audience: Vec<String>,
    /// `exp`, in seconds since 1970, with fractions (RFC 7519, 2: NumericDate).
    pub expires_at_s: Option<f64>,
    /// `nbf`, in the same form.
    pub not_before_s: Option<f64>,
    /// `jti`: the ID by which it can be revoked.
    pub id: Option<String>,
}

impl TokenClaims {
    /// Longest token, in bytes. Ours have about 700; longer ones would only cost CPU time.
    pub const TOKEN_BYTES_MAX: usize = 8 << 10;
    /// Longest `jti` that can be revoked, in characters; the same limit as for other texts of clients
    /// (C-165).
    pub const ID_CHARS_MAX: usize = 255;

    /// Whether a token with this `jti` can be revoked. Control characters are not allowed: not every
    /// database stores a NUL, so another token would be revoked too.
    pub fn is_revocable_id(jti: &str) -> bool {
        (1..=Self::ID_CHARS_MAX).contains(&jti.chars().count()) && !jti.contains(char::is_control)
    }

    /// Whether it gives access to this playback ID now.
    pub fn check(&self, playback: PlaybackId, now: Timestamp) -> Result<(), TokenError> {
        let bare = playback.to_string();
        let is_for = |audience: &String| *audience == bare || audience.strip_prefix("media:") == Some(&bare);
        if !self.audience.iter().any(is_for) {
            return Err(TokenError::WrongAudience);
        }
        #[expect(clippy::cast_precision_loss, reason = "53 bits of microseconds reach to the year 2255")]
        let now_s = now.as_micros() as f64 / Timestamp::SECOND as f64;
        let expires_at_s = self.expires_at_s.ok_or(TokenError::NoExpiry)?;
        // The comparison has this form so that a NaN is rejected.
        let is_before_end = now_s < expires_at_s + LEEWAY_S;
        if !is_before_end {
            return Err(TokenError::Expired);
        }
        let has_begun = self.not_before_s.is_none_or(|not_before_s| not_before_s - LEEWAY_S <= now_s);
        if has_begun { Ok(()) } else { Err(TokenError::NotYetValid) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";

    fn check(claims: &TokenClaims, expected: Result<(), TokenError>) {
        let now = Timestamp::from_micros(1_000_000 * Timestamp::SECOND);
        assert_eq!(claims.check(PLAYBACK.parse().unwrap(), now), expected, "{claims:?}");
    }

    fn claims() -> TokenClaims {
        let audience = vec![format!("media:{PLAYBACK}")];
        TokenClaims { audience, expires_at_s: Some(1_000_100.0), not_before_s: None, id: None }
    }

    #[test]
    fn token_audience_must_be_the_playback_id() {
        let of = |audience: &[&str]| {
            let audience = audience.iter().map(|text| (*text).to_owned()).collect();
            TokenClaims { audience, ..claims() }
        };
        let media = format!("media:{PLAYBACK}");
        check(&of(&[&media]), Ok(()));
        check(&of(&[PLAYBACK]), Ok(()));
        check(&of(&["other", PLAYBACK]), Ok(()));
        let upper = PLAYBACK.to_uppercase();
        for other in [
            "",
            "media:",
            "drm:8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f",
            &upper,
            &media[1..],
            &format!("{media} "),
        ] {
            check(&of(&[other]), Err(TokenError::WrongAudience));
        }
        check(&of(&[]), Err(TokenError::WrongAudience));
    }

    #[test]
    fn revocable_jti_is_bounded_and_printable() {
        let of = |chars: usize| "ж".repeat(chars);
        assert_eq!(
            [0, 1, 255, 256].map(|chars| TokenClaims::is_revocable_id(&of(chars))),
            [false, true, true, false]
        );
        let names = ["a\0b", "\0", "a\n", "\u{7f}", "\u{85}", "a b", "a\u{fffd}b", "\u{2028}"];
        assert_eq!(
            names.map(TokenClaims::is_revocable_id),
            [false, false, false, false, false, true, true, true]
        );
    }

    #[test]
    fn token_expiry_and_not_before_have_one_minute_leeway() {
        let at = |expires_at_s, not_before_s| TokenClaims { expires_at_s, not_before_s, ..claims() };
        check(&at(None, None), Err(TokenError::NoExpiry));
        check(&at(Some(999_940.5), None), Ok(()));
        check(&at(Some(999_940.0), None), Err(TokenError::Expired));
        check(&at(Some(0.0), None), Err(TokenError::Expired));
        check(&at(Some(-1e300), None), Err(TokenError::Expired));
        check(&at(Some(f64::NAN), None), Err(TokenError::Expired));
        check(&at(Some(1e300), Some(1_000_060.0)), Ok(()));
        check(&at(Some(1e300), Some(1_000_060.5)), Err(TokenError::NotYetValid));
        check(&at(Some(1e300), Some(f64::NAN)), Err(TokenError::NotYetValid));
    }
}
