//! The claims in the signed paths of a manifest's children (C-13).
//!
//! They identify no viewer. Viewers with the same hour and key share addresses, so that a CDN or proxy
//! caches one copy for them.

use super::host::EmbeddingPage;
use super::policy::{PathBinding, PathError};
use crate::{KeyRef, PlaybackId, SigningKeyId, Timestamp};

/// The version of claims without an embedding page. Version 1 identified a key by its ID alone.
const VERSION: u8 = 2;
/// The version of claims with an embedding page. After the head follow one byte for the presence of a
/// key, the key, and the host.
const EMBEDDED_VERSION: u8 = 3;
const WITHOUT_KEY: u8 = 0;
const WITH_KEY: u8 = 1;
/// Bytes before the key: version, generation, hour.
const HEAD_LEN: usize = 1 + 4 + 4;
/// Bytes of a key: its ID and its creation time.
const KEY_LEN: usize = 16 + 8;
/// Bytes of a signature: HMAC-SHA256.
const SIGNATURE_LEN: usize = 32;
const HOUR_US: i64 = 60 * 60 * Timestamp::SECOND;
/// Validity beyond the length of the media: a viewer who pauses overnight can continue in the morning
/// (C-13).
const EXPIRY_MARGIN_US: i64 = 12 * HOUR_US;
/// Largest difference between the clocks of two processes, the same as between signers and verifiers of
/// tokens (D-0085).
const CLOCK_SKEW_MAX_US: i64 = 60 * Timestamp::SECOND;

/// The content of a signed path: its playback ID, its binding and its expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathClaims {
    /// The playback ID at the start of the path.
    pub playback: PlaybackId,
    /// The generation, key and embedding page that it was issued for.
    pub binding: PathBinding,
    /// Expiry, in hours since 1970.
    expiry_hour: u32,
}

impl PathClaims {
    /// Longest encoded claims with their signature, in bytes.
    pub const LEN_MAX: usize = HEAD_LEN + 1 + KEY_LEN + EmbeddingPage::LEN_MAX + SIGNATURE_LEN;

    /// Claims that are valid for the length of the media plus 12 h, rounded up to the full hour.
    pub fn new(playback: PlaybackId, binding: PathBinding, length_us: u64, now: Timestamp) -> Self {
        Self { playback, binding, expiry_hour: expiry_hour_at(length_us, now) }
    }

    /// The time of its expiry.
    pub fn expires_at(&self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.expiry_hour) * HOUR_US)
    }

    /// Whether they can have been issued by now for a media of this length. Claims from a clock that was
    /// ahead would stay valid for too long, by the same difference.
    pub fn is_plausible(&self, length_us: u64, now: Timestamp) -> bool {
        // All processes of one database issue claims, each by its own clock.
        self.expiry_hour <= expiry_hour_at(length_us, now.plus_micros(CLOCK_SKEW_MAX_US))
    }

    /// The encoded claims. They exclude the playback ID, which precedes them in the path; the signature
    /// covers both.
    pub fn to_bytes(&self) -> Vec<u8> {
        let PathBinding { generation, key, embedding_page } = &self.binding;
        let host = embedding_page.as_ref().map(EmbeddingPage::to_string);
        let mut bytes =
            Vec::with_capacity(HEAD_LEN + 1 + KEY_LEN + SIGNATURE_LEN + host.as_ref().map_or(0, String::len));
        bytes.push(if host.is_some() { EMBEDDED_VERSION } else { VERSION });
        bytes.extend(generation.to_be_bytes());
        bytes.extend(self.expiry_hour.to_be_bytes());
        if host.is_some() {
            bytes.push(if key.is_some() { WITH_KEY } else { WITHOUT_KEY });
        }
        if let Some(key) = key {
            bytes.extend(key.id.as_uuid().as_bytes());
            bytes.extend(key.created_at.as_micros().to_be_bytes());
        }
        bytes.extend(host.unwrap_or_default().as_bytes());
        bytes
    }

    /// Parses the bytes of a path's part below this playback ID. Returns the claims, and the signed part
    /// with its signature. The caller must verify the signature before it trusts the claims.
    ///
    /// Claims have only one valid encoding, so that a cached object has one address.
    pub fn parse(playback: PlaybackId, bytes: &[u8]) -> Result<(Self, SignedPath<'_>), PathError> {
        let (signed_bytes, signature) = bytes.split_last_chunk().ok_or(PathError::Forged)?;
        let claims = Self::parse_claims(playback, signed_bytes).ok_or(PathError::Forged)?;
        Ok((claims, SignedPath { signed_bytes, signature }))
    }

    fn parse_claims(playback: PlaybackId, signed_bytes: &[u8]) -> Option<Self> {
        let (head, rest) = signed_bytes.split_first_chunk::<HEAD_LEN>()?;
        let [version, g0, g1, g2, g3, h0, h1, h2, h3] = *head;
        let (key, host) = match (version, rest) {
            (VERSION, []) => (None, None),
            (VERSION, key) => (Some(parse_key(key)?), None),
            (EMBEDDED_VERSION, [WITHOUT_KEY, host @ ..]) => (None, Some(host)),
            (EMBEDDED_VERSION, [WITH_KEY, rest @ ..]) => {
                let (key, host) = rest.split_at_checked(KEY_LEN)?;
                (Some(parse_key(key)?), Some(host))
            }
            _ => return None,
        };
        let embedding_page = match host {
            None => None,
            Some(host) => Some(parse_embedding_page(host)?),
        };
        let (generation, expiry_hour) =
            (u32::from_be_bytes([g0, g1, g2, g3]), u32::from_be_bytes([h0, h1, h2, h3]));
        Some(Self { playback, binding: PathBinding { generation, key, embedding_page }, expiry_hour })
    }
}

/// The signed bytes of a received path, except its playback ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedPath<'a> {
    /// The encoded claims.
    pub signed_bytes: &'a [u8],
    /// Its signature.
    pub signature: &'a [u8; SIGNATURE_LEN],
}

/// The expiry of a path that is issued now, in hours since 1970.
fn expiry_hour_at(length_us: u64, now: Timestamp) -> u32 {
    let length_us = i64::try_from(length_us).unwrap_or(i64::MAX - EXPIRY_MARGIN_US);
    let end = now.plus_micros(length_us.saturating_add(EXPIRY_MARGIN_US)).as_micros();
    let hour = end.div_euclid(HOUR_US) + i64::from(end.rem_euclid(HOUR_US) > 0);
    u32::try_from(hour.max(0)).unwrap_or(u32::MAX)
}

/// Parses the host of an embedding page. Only the spelling that we write is valid.
fn parse_embedding_page(host: &[u8]) -> Option<EmbeddingPage> {
    let host = std::str::from_utf8(host).ok()?;
    let page = EmbeddingPage::from_text(host);
    (page.to_string() == host).then_some(page)
}

fn parse_key(bytes: &[u8]) -> Option<KeyRef> {
    let (id, created_at) = bytes.split_first_chunk::<16>()?;
    Some(KeyRef {
        id: SigningKeyId::from_uuid(uuid::Uuid::from_bytes(*id)),
        created_at: Timestamp::from_micros(i64::from_be_bytes(created_at.try_into().ok()?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> KeyRef {
        let id = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
        KeyRef { id, created_at: Timestamp::from_micros(1_762_164_228_000_001) }
    }

    fn claims() -> PathClaims {
        PathClaims {
            playback: "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f".parse().unwrap(),
            binding: PathBinding { generation: 7, key: Some(key()), embedding_page: None },
            expiry_hour: 500_000,
        }
    }

    fn unbound() -> PathBinding {
        PathBinding { generation: 0, key: None, embedding_page: None }
    }

    /// The same claims with another key and embedding page.
    fn claims_for(key: Option<KeyRef>, host: Option<&str>) -> PathClaims {
        let embedding_page = host.map(EmbeddingPage::from_text);
        PathClaims { binding: PathBinding { key, embedding_page, ..claims().binding }, ..claims() }
    }

    fn signed(claims: &PathClaims) -> Vec<u8> {
        [claims.to_bytes(), vec![9; SIGNATURE_LEN]].concat()
    }

    #[test]
    fn path_claims_round_trip() {
        let hosts = [None, Some(""), Some("shop.example"), Some("[2001:db8::1]")];
        for claims in hosts.iter().flat_map(|host| [claims_for(Some(key()), *host), claims_for(None, *host)])
        {
            let bytes = signed(&claims);
            assert!(bytes.len() <= PathClaims::LEN_MAX);
            let part = SignedPath { signed_bytes: &claims.to_bytes(), signature: &[9; SIGNATURE_LEN] };
            assert_eq!(PathClaims::parse(claims.playback, &bytes), Ok((claims, part)));
        }
    }

    #[test]
    fn every_claim_changes_the_signed_bytes() {
        let other = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e60";
        let all = [
            claims(),
            PathClaims { binding: PathBinding { generation: 8, ..claims().binding }, ..claims() },
            claims_for(None, None),
            claims_for(Some(KeyRef { id: other.parse().unwrap(), ..key() }), None),
            claims_for(Some(KeyRef { created_at: Timestamp::from_micros(0), ..key() }), None),
            claims_for(Some(key()), Some("")),
            claims_for(None, Some("")),
            claims_for(Some(key()), Some("shop.example")),
            claims_for(None, Some("shop.example")),
            claims_for(None, Some("other.example")),
            PathClaims { expiry_hour: 500_001, ..claims() },
        ];
        let bytes: std::collections::HashSet<_> = all.iter().map(PathClaims::to_bytes).collect();
        assert_eq!(bytes.len(), all.len());
    }

    #[test]
    fn malformed_claims_are_rejected() {
        let bytes = signed(&claims());
        let check = |bytes: &[u8]| {
            assert_eq!(PathClaims::parse(claims().playback, bytes), Err(PathError::Forged), "{bytes:?}");
        };
        check(&[]);
        check(&bytes[..SIGNATURE_LEN]);
        check(&bytes[1..]);
        check(&bytes[..bytes.len() - 1]);
        check(&[&bytes[..], &[0]].concat());
        check(&[&[1], &bytes[1..]].concat());
        check(&[&[EMBEDDED_VERSION], &bytes[1..]].concat());
        let embedded = signed(&claims_for(Some(key()), Some("shop.example")));
        check(&[&[VERSION], &embedded[1..]].concat());
        check(&[&embedded[..HEAD_LEN], &[2], &embedded[HEAD_LEN + 1..]].concat());
        for other in ["SHOP.example", "shop.example.", " ", "a b"] {
            check(&[&embedded[..HEAD_LEN + 1 + KEY_LEN], other.as_bytes(), &[9; SIGNATURE_LEN]].concat());
        }
        check(&[&embedded[..HEAD_LEN + KEY_LEN], &[9; SIGNATURE_LEN]].concat());
        check(&[&embedded[..HEAD_LEN + 1 + KEY_LEN], &[0xff], &[9; SIGNATURE_LEN]].concat());
    }

    #[test]
    fn path_expiring_too_late_is_rejected_as_clock_skew() {
        let at = |seconds: i64| Timestamp::from_micros(seconds * Timestamp::SECOND);
        let claims_at =
            |seconds, length_us| PathClaims::new(claims().playback, unbound(), length_us, at(seconds));
        for length_us in [0, 7_200_000_000, 7_199_999_999] {
            for now in [0, 1, 1800, 3599, 3600, 3601, 1_762_164_228] {
                assert!(claims_at(now, length_us).is_plausible(length_us, at(now)), "{now} {length_us}");
                assert!(claims_at(now + 60, length_us).is_plausible(length_us, at(now)), "{now} {length_us}");
                assert!(
                    !claims_at(now + 3661, length_us).is_plausible(length_us, at(now)),
                    "{now} {length_us}"
                );
                assert!(
                    !claims_at(now, length_us + 3_661_000_000).is_plausible(length_us, at(now)),
                    "another media"
                );
            }
        }
        assert!(claims_at(0, u64::MAX).is_plausible(u64::MAX, at(0)));
    }

    #[test]
    fn hourly_shared_path_outlives_media_by_twelve_hours() {
        let claims_at = |at_s: i64, length_s: u64| {
            let now = Timestamp::from_micros(at_s * Timestamp::SECOND);
            PathClaims::new(claims().playback, unbound(), length_s * 1_000_000, now)
        };
        let hours = |claims: PathClaims| claims.expires_at().as_seconds() / 3600;
        assert_eq!(hours(claims_at(0, 0)), 12);
        assert_eq!(hours(claims_at(1, 0)), 13);
        assert_eq!(hours(claims_at(0, 2 * 3600)), 14);
        assert_eq!(claims_at(1, 600), claims_at(3000, 600));
        assert_ne!(claims_at(3000, 600), claims_at(3001, 600));
        let last = Timestamp::from_micros(i64::MAX).as_micros() / HOUR_US;
        assert_eq!(i64::from(claims_at(0, u64::MAX / 1_000_000).expiry_hour), last);
    }
}
