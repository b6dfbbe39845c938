//! The signed address of an upload.
//!
//! The address contains all facts that a request is checked against before any look-up, under one signature.
//! A forged address therefore costs one hash and no more.

use crate::{CorsOrigin, MediaId, Timestamp, WorkspaceId};

/// The version of the encoding that is written now.
const VERSION: u8 = 1;
/// Bytes before the origin: version, two IDs, expiry, size.
const HEAD_LEN: usize = 1 + 16 + 16 + 8 + 8;
/// Bytes of a signature: HMAC-SHA256.
const SIGNATURE_LEN: usize = 32;

/// The claims that an address is signed for: upload, workspace, expiry, origin and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadClaims {
    /// The upload.
    pub upload: MediaId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The expiry of the address.
    pub expires_at: Timestamp,
    /// Size limit in bytes; `None`: no limit.
    pub size_max: Option<u64>,
    /// The pages from which browsers may send.
    pub origin: CorsOrigin,
}

/// The bytes are not upload claims with a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an upload URL")]
pub struct BadUploadAddress;

impl UploadClaims {
    /// Longest encoded claims with their signature, in bytes.
    pub const LEN_MAX: usize = HEAD_LEN + CorsOrigin::LEN_MAX + SIGNATURE_LEN;

    /// The encoded claims, which are signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_LEN + self.origin.as_str().len());
        bytes.push(VERSION);
        bytes.extend_from_slice(self.upload.as_uuid().as_bytes());
        bytes.extend_from_slice(self.workspace.as_uuid().as_bytes());
        bytes.extend_from_slice(&self.expires_at.as_micros().to_be_bytes());
        // 0 means no limit: empty uploads are rejected anyway.
        bytes.extend_from_slice(&self.size_max.unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(self.origin.as_str().as_bytes());
        bytes
    }

    /// The bytes of an address: the claims and their signature.
    pub fn with_signature(&self, signature: [u8; SIGNATURE_LEN]) -> Vec<u8> {
        let mut bytes = self.to_bytes();
        bytes.extend_from_slice(&signature);
        bytes
    }

    /// Splits an address into its signed bytes and their signature. The caller must verify the signature
    /// before it trusts the bytes.
    pub fn split(bytes: &[u8]) -> Result<(&[u8], [u8; SIGNATURE_LEN]), BadUploadAddress> {
        if bytes.len() > Self::LEN_MAX {
            return Err(BadUploadAddress);
        }
        let (signed, signature) = bytes.split_last_chunk().ok_or(BadUploadAddress)?;
        Ok((signed, *signature))
    }

    /// Parses the signed bytes.
    pub fn from_bytes(signed: &[u8]) -> Result<Self, BadUploadAddress> {
        fn read_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], BadUploadAddress> {
            let (head, rest) = bytes.split_first_chunk().ok_or(BadUploadAddress)?;
            *bytes = rest;
            Ok(*head)
        }
        let mut rest = signed;
        let [VERSION] = read_array::<1>(&mut rest)? else { return Err(BadUploadAddress) };
        let upload = MediaId::from_uuid(uuid::Uuid::from_bytes(read_array(&mut rest)?));
        let workspace = WorkspaceId::from_uuid(uuid::Uuid::from_bytes(read_array(&mut rest)?));
        let expires_at = Timestamp::from_micros(i64::from_be_bytes(read_array(&mut rest)?));
        let size_max = Some(u64::from_be_bytes(read_array(&mut rest)?)).filter(|max| *max > 0);
        let origin = CorsOrigin::from_text(std::str::from_utf8(rest).map_err(|_| BadUploadAddress)?);
        Ok(Self { upload, workspace, expires_at, size_max, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> UploadClaims {
        UploadClaims {
            upload: "019a492c-41f3-7001-8203-040506070809".parse().unwrap(),
            workspace: "019a492c-41f3-7001-8203-04050607080a".parse().unwrap(),
            expires_at: Timestamp::from_micros(1_762_164_228_595_604),
            size_max: Some(500_000_000),
            origin: CorsOrigin::One("https://shop.example".into()),
        }
    }

    #[test]
    fn upload_claims_round_trip() {
        let any = UploadClaims { size_max: None, origin: CorsOrigin::Any, ..claims() };
        for claims in [claims(), any] {
            let address = claims.with_signature([7; 32]);
            let (signed, signature) = UploadClaims::split(&address).unwrap();
            assert_eq!((signed, signature), (claims.to_bytes().as_slice(), [7; 32]));
            assert_eq!(UploadClaims::from_bytes(signed), Ok(claims));
        }
    }

    #[test]
    fn every_part_changes_the_signed_bytes() {
        let other = "019a492c-41f3-7001-8203-04050607080b";
        let changed = [
            UploadClaims { upload: other.parse().unwrap(), ..claims() },
            UploadClaims { workspace: other.parse().unwrap(), ..claims() },
            UploadClaims { expires_at: Timestamp::from_micros(1), ..claims() },
            UploadClaims { size_max: None, ..claims() },
            UploadClaims { origin: CorsOrigin::Any, ..claims() },
        ];
        for changed in changed {
            assert_ne!(changed.to_bytes(), claims().to_bytes(), "{changed:?}");
        }
    }

    #[test]
    fn malformed_claims_are_rejected() {
        assert_eq!(UploadClaims::split(&[0; 31]), Err(BadUploadAddress));
        assert_eq!(UploadClaims::split(&vec![0; UploadClaims::LEN_MAX + 1]), Err(BadUploadAddress));
        let bytes = claims().to_bytes();
        assert_eq!(UploadClaims::from_bytes(&bytes[..HEAD_LEN - 1]), Err(BadUploadAddress));
        assert_eq!(UploadClaims::from_bytes(&[&[2], &bytes[1..]].concat()), Err(BadUploadAddress));
        assert_eq!(UploadClaims::from_bytes(&[&bytes[..], &[0xff]].concat()), Err(BadUploadAddress));
    }
}
