//! Passes: they play a media for a short time, regardless of the rules of its playback ID (D-0158).
//!
//! A pass is sent where a playback token is sent. It is no JWT: [`PassClaims::PREFIX`] precedes Base64 of
//! claims and signature, and a signature of a pass is valid for nothing else.

use crate::{PlaybackId, Timestamp};

/// The version of the claims.
const VERSION: u8 = 1;
/// Bytes of the claims: version, generation, expiry.
const CLAIMS_LEN: usize = 1 + 4 + 4;
/// Bytes of a signature: HMAC-SHA256.
const SIGNATURE_LEN: usize = 32;
/// Largest difference between the clocks of two processes, the same as between signers and verifiers of
/// tokens (D-0085).
const CLOCK_SKEW_MAX_US: i64 = 60 * Timestamp::SECOND;

/// The content of a pass: its playback ID, generation and expiry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassClaims {
    /// The playback ID that it plays.
    pub playback: PlaybackId,
    /// The generation of the playback ID that it was issued for.
    pub generation: u32,
    /// Expiry, in seconds since 1970.
    expiry_s: u32,
}

impl PassClaims {
    /// The start of every pass. No JWT starts with it: the first letters of a JWT are Base64 of `{`.
    pub const PREFIX: &str = "pass.";
    /// Bytes of the claims and their signature.
    pub const LEN: usize = CLAIMS_LEN + SIGNATURE_LEN;
    /// How long a pass is valid, in microseconds: 15 minutes.
    pub const LIFETIME_US: i64 = 15 * 60 * Timestamp::SECOND;

    /// Claims that are valid for [`LIFETIME_US`](Self::LIFETIME_US), cut to whole seconds.
    pub fn new(playback: PlaybackId, generation: u32, now: Timestamp) -> Self {
        Self { playback, generation, expiry_s: expiry_at(now) }
    }

    /// The time of its expiry.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.expiry_s) * Timestamp::SECOND)
    }

    /// Whether they can have been issued by now. Claims from a clock that was ahead would stay valid for too
    /// long.
    pub fn is_plausible(&self, now: Timestamp) -> bool {
        self.expiry_s <= expiry_at(now.plus_micros(CLOCK_SKEW_MAX_US))
    }

    /// The encoded claims. They exclude the playback ID, which is in the address; the signature covers both.
    pub fn to_bytes(&self) -> [u8; CLAIMS_LEN] {
        let [g0, g1, g2, g3] = self.generation.to_be_bytes();
        let [e0, e1, e2, e3] = self.expiry_s.to_be_bytes();
        [VERSION, g0, g1, g2, g3, e0, e1, e2, e3]
    }

    /// Parses the bytes of a pass for this playback ID. Returns the claims and their signature, which the
    /// caller must verify before it trusts the claims. Claims have only one valid encoding.
    pub fn parse(playback: PlaybackId, bytes: &[u8; Self::LEN]) -> Option<(Self, &[u8; SIGNATURE_LEN])> {
        let (claims, signature) = bytes.split_first_chunk::<CLAIMS_LEN>()?;
        let &[VERSION, g0, g1, g2, g3, e0, e1, e2, e3] = claims else { return None };
        let (generation, expiry_s) =
            (u32::from_be_bytes([g0, g1, g2, g3]), u32::from_be_bytes([e0, e1, e2, e3]));
        Some((Self { playback, generation, expiry_s }, signature.try_into().ok()?))
    }
}

/// The expiry of a pass that is issued now, in seconds since 1970.
fn expiry_at(now: Timestamp) -> u32 {
    let seconds = now.plus_micros(PassClaims::LIFETIME_US).as_seconds();
    u32::try_from(seconds.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds after a fixed time.
    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_762_164_228_900_000 + seconds * Timestamp::SECOND)
    }

    fn claims_at(seconds: i64) -> PassClaims {
        PassClaims::new("8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(), 7, at(seconds))
    }

    fn claims() -> PassClaims {
        claims_at(0)
    }

    fn signed(claims: &PassClaims) -> [u8; PassClaims::LEN] {
        [&claims.to_bytes()[..], &[9; SIGNATURE_LEN]].concat().try_into().unwrap()
    }

    #[test]
    fn claims_round_trip() {
        for claims in [claims(), PassClaims { generation: u32::MAX, expiry_s: u32::MAX, ..claims() }] {
            let bytes = signed(&claims);
            assert_eq!(PassClaims::parse(claims.playback, &bytes), Some((claims, &[9; SIGNATURE_LEN])));
        }
    }

    #[test]
    fn other_version_is_rejected() {
        for version in (0..=u8::MAX).filter(|version| *version != VERSION) {
            let mut bytes = signed(&claims());
            bytes[0] = version;
            assert_eq!(PassClaims::parse(claims().playback, &bytes), None, "{version}");
        }
    }

    #[test]
    fn every_byte_of_the_claims_has_a_meaning() {
        let bytes = signed(&claims());
        for at in 0..CLAIMS_LEN {
            let mut changed = bytes;
            changed[at] ^= 1;
            let parsed = PassClaims::parse(claims().playback, &changed);
            assert_ne!(parsed.map(|(claims, _)| claims), Some(claims()), "{at}");
        }
    }

    #[test]
    fn pass_is_valid_for_fifteen_minutes() {
        let expires_in_us = claims().expires_at().micros_since(at(0));
        assert!((1..=PassClaims::LIFETIME_US).contains(&expires_in_us), "{expires_in_us}");
        assert!(PassClaims::LIFETIME_US - expires_in_us < Timestamp::SECOND);
        assert!(claims_at(0).is_plausible(at(0)) && claims_at(60).is_plausible(at(0)));
        assert!(!claims_at(61).is_plausible(at(0)));
    }
}
