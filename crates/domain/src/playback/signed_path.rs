//! The claims in the signed paths of a manifest's children (C-13).
//!
//! They identify no viewer. Viewers with the same hour and key share addresses, so that a CDN or proxy
//! caches one copy for them.

use super::host::EmbeddingPage;
use super::policy::{AccessProof, PathBinding, PathError};
use crate::{KeyRef, PlaybackId, SigningKeyId, Timestamp};

/// The version of claims without an embedding page. Version 1 identified a key by its ID alone.
const VERSION: u8 = 2;
/// The version of claims with an embedding page. After the head follow one byte for the presence of a
/// key, the key, and the host.
const EMBEDDED_VERSION: u8 = 3;
/// The version of claims of a pass. They name neither a key nor an embedding page.
const PASS_VERSION: u8 = 4;
const WITHOUT_KEY: u8 = 0;
const WITH_KEY: u8 = 1;
/// Bytes before the key: version, generation, expiry.
const HEAD_LEN: usize = 1 + 4 + 4;
/// Bytes of a key: its ID and its creation time.
const KEY_LEN: usize = 16 + 8;
/// Bytes of a signature: HMAC-SHA256.
const SIGNATURE_LEN: usize = 32;
const HOUR_US: i64 = 60 * 60 * Timestamp::SECOND;
/// Validity beyond the length of the media: a viewer who pauses overnight can continue in the morning
/// (C-13).
const EXPIRY_MARGIN_US: i64 = 12 * HOUR_US;
const MINUTE_US: i64 = 60 * Timestamp::SECOND;
/// The same for a pass. Its page can request another pass, so a pause of an hour is enough (D-0158).
const PASS_EXPIRY_MARGIN_US: i64 = HOUR_US;
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
    /// Expiry since 1970, in the unit of its [`ExpiryRule`].
    expiry: u32,
}

impl PathClaims {
    /// Longest encoded claims with their signature, in bytes.
    pub const LEN_MAX: usize = HEAD_LEN + 1 + KEY_LEN + EmbeddingPage::LEN_MAX + SIGNATURE_LEN;

    /// Claims that are valid for the length of the media plus 12 h, rounded up to the full hour. With a pass
    /// plus 1 h, rounded up to the full minute.
    pub fn new(playback: PlaybackId, binding: PathBinding, length_us: u64, now: Timestamp) -> Self {
        let expiry = ExpiryRule::of(binding.proof).expiry_at(length_us, now);
        Self { playback, binding, expiry }
    }

    /// The time of its expiry.
    pub fn expires_at(&self) -> Timestamp {
        let ExpiryRule { unit_us, .. } = ExpiryRule::of(self.binding.proof);
        Timestamp::from_micros(i64::from(self.expiry).saturating_mul(unit_us))
    }

    /// Whether they can have been issued by now for a media of this length. Claims from a clock that was
    /// ahead would stay valid for too long, by the same difference.
    pub fn is_plausible(&self, length_us: u64, now: Timestamp) -> bool {
        // All processes of one database issue claims, each by its own clock.
        let latest = now.plus_micros(CLOCK_SKEW_MAX_US);
        self.expiry <= ExpiryRule::of(self.binding.proof).expiry_at(length_us, latest)
    }

    /// The encoded claims. They exclude the playback ID, which precedes them in the path; the signature
    /// covers both.
    pub fn to_bytes(&self) -> Vec<u8> {
        let PathBinding { generation, proof, embedding_page } = &self.binding;
        let is_pass = *proof == AccessProof::Pass;
        let (key, host) = (proof.key(), embedding_page.as_ref().filter(|_| !is_pass));
        let host = host.map(EmbeddingPage::to_string);
        let mut bytes =
            Vec::with_capacity(HEAD_LEN + 1 + KEY_LEN + SIGNATURE_LEN + host.as_ref().map_or(0, String::len));
        bytes.push(match host {
            _ if is_pass => PASS_VERSION,
            Some(_) => EMBEDDED_VERSION,
            None => VERSION,
        });
        bytes.extend(generation.to_be_bytes());
        bytes.extend(self.expiry.to_be_bytes());
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
        let [version, g0, g1, g2, g3, e0, e1, e2, e3] = *head;
        let (proof, host) = match (version, rest) {
            (VERSION, []) => (AccessProof::None, None),
            (VERSION, key) => (AccessProof::Token(parse_key(key)?), None),
            (EMBEDDED_VERSION, [WITHOUT_KEY, host @ ..]) => (AccessProof::None, Some(host)),
            (EMBEDDED_VERSION, [WITH_KEY, rest @ ..]) => {
                let (key, host) = rest.split_at_checked(KEY_LEN)?;
                (AccessProof::Token(parse_key(key)?), Some(host))
            }
            (PASS_VERSION, []) => (AccessProof::Pass, None),
            _ => return None,
        };
        let embedding_page = match host {
            None => None,
            Some(host) => Some(parse_embedding_page(host)?),
        };
        let (generation, expiry) =
            (u32::from_be_bytes([g0, g1, g2, g3]), u32::from_be_bytes([e0, e1, e2, e3]));
        Some(Self { playback, binding: PathBinding { generation, proof, embedding_page }, expiry })
    }
}

/// How long paths are valid.
struct ExpiryRule {
    /// Expiries are whole units, in microseconds: viewers of the same unit share addresses.
    unit_us: i64,
    /// Validity beyond the length of the media, in microseconds.
    margin_us: i64,
}

impl ExpiryRule {
    fn of(proof: AccessProof) -> Self {
        match proof {
            AccessProof::None | AccessProof::Token(_) => {
                Self { unit_us: HOUR_US, margin_us: EXPIRY_MARGIN_US }
            }
            AccessProof::Pass => Self { unit_us: MINUTE_US, margin_us: PASS_EXPIRY_MARGIN_US },
        }
    }

    /// The expiry of a path that is issued now, in units since 1970, rounded up.
    fn expiry_at(&self, length_us: u64, now: Timestamp) -> u32 {
        let Self { unit_us, margin_us } = *self;
        let length_us = i64::try_from(length_us).unwrap_or(i64::MAX - margin_us);
        let end = now.plus_micros(length_us.saturating_add(margin_us)).as_micros();
        let units = end.div_euclid(unit_us) + i64::from(end.rem_euclid(unit_us) > 0);
        u32::try_from(units.max(0)).unwrap_or(u32::MAX)
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
            binding: PathBinding { generation: 7, proof: AccessProof::Token(key()), embedding_page: None },
            expiry: 500_000,
        }
    }

    fn unbound() -> PathBinding {
        PathBinding { generation: 0, proof: AccessProof::None, embedding_page: None }
    }

    /// The same claims with another key and embedding page.
    fn claims_for(key: Option<KeyRef>, host: Option<&str>) -> PathClaims {
        let embedding_page = host.map(EmbeddingPage::from_text);
        let proof = key.map_or(AccessProof::None, AccessProof::Token);
        PathClaims { binding: PathBinding { proof, embedding_page, ..claims().binding }, ..claims() }
    }

    /// The same claims with a pass.
    fn claims_by_pass() -> PathClaims {
        PathClaims { binding: PathBinding { proof: AccessProof::Pass, ..claims().binding }, ..claims() }
    }

    fn signed(claims: &PathClaims) -> Vec<u8> {
        [claims.to_bytes(), vec![9; SIGNATURE_LEN]].concat()
    }

    #[test]
    fn path_claims_round_trip() {
        let hosts = [None, Some(""), Some("shop.example"), Some("[2001:db8::1]")];
        let by_host = hosts.iter().flat_map(|host| [claims_for(Some(key()), *host), claims_for(None, *host)]);
        for claims in by_host.chain([claims_by_pass()]) {
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
            claims_by_pass(),
            claims_for(Some(KeyRef { id: other.parse().unwrap(), ..key() }), None),
            claims_for(Some(KeyRef { created_at: Timestamp::from_micros(0), ..key() }), None),
            claims_for(Some(key()), Some("")),
            claims_for(None, Some("")),
            claims_for(Some(key()), Some("shop.example")),
            claims_for(None, Some("shop.example")),
            claims_for(None, Some("other.example")),
            PathClaims { expiry: 500_001, ..claims() },
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
        check(&[&[PASS_VERSION], &bytes[1..]].concat());
        check(&[&[5], &signed(&claims_by_pass())[1..]].concat());
        let by_pass = signed(&claims_by_pass());
        check(&by_pass[..by_pass.len() - 1]);
        check(&[&by_pass[..HEAD_LEN], &[WITHOUT_KEY], &by_pass[HEAD_LEN..]].concat());
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
        assert_eq!(i64::from(claims_at(0, u64::MAX / 1_000_000).expiry), last);
    }

    #[test]
    fn path_by_pass_outlives_media_by_one_hour() {
        let claims_at = |at_s: i64, length_s: u64| {
            let now = Timestamp::from_micros(at_s * Timestamp::SECOND);
            let binding = PathBinding { proof: AccessProof::Pass, ..unbound() };
            PathClaims::new(claims().playback, binding, length_s.saturating_mul(1_000_000), now)
        };
        let minutes = |claims: PathClaims| claims.expires_at().as_seconds() / 60;
        assert_eq!(minutes(claims_at(0, 0)), 60);
        assert_eq!(minutes(claims_at(1, 0)), 61);
        assert_eq!(minutes(claims_at(0, 2 * 3600)), 180);
        assert!(minutes(claims_at(0, u64::MAX)) > 0);
        for length_s in [0, 7200] {
            let (now, skewed, ahead) =
                (claims_at(0, length_s), claims_at(60, length_s), claims_at(121, length_s));
            let is_plausible =
                |claims: &PathClaims| claims.is_plausible(length_s * 1_000_000, Timestamp::from_micros(0));
            assert!(is_plausible(&now) && is_plausible(&skewed) && !is_plausible(&ahead), "{length_s}");
        }
    }

    /// Neither version can be read as the other: a path by a pass has another proof for any bytes.
    #[test]
    fn parsed_claims_encode_to_the_same_bytes() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        let (mut parsed, mut by_pass) = (0, 0);
        for round in 0..20_000 {
            let len = [HEAD_LEN, HEAD_LEN + 1, HEAD_LEN + KEY_LEN, HEAD_LEN + 1 + KEY_LEN][round % 4];
            let mut bytes: Vec<u8> = (0..len + SIGNATURE_LEN).map(|_| random()).collect();
            bytes[0] %= 6;
            if let Some(presence) = bytes.get_mut(HEAD_LEN) {
                *presence %= 3;
            }
            let Ok((claims, part)) = PathClaims::parse(claims().playback, &bytes) else { continue };
            // Only a time of creation beyond all times is read as the last one.
            if claims.binding.proof.key().is_none() {
                assert_eq!(claims.to_bytes(), part.signed_bytes);
            }
            assert_eq!(claims.binding.proof == AccessProof::Pass, bytes[0] == PASS_VERSION);
            let _ = claims.expires_at();
            parsed += 1;
            by_pass += usize::from(bytes[0] == PASS_VERSION);
        }
        assert!(by_pass > 100 && parsed > 2 * by_pass, "{parsed} {by_pass}");
    }
}
