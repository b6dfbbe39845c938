//! What the signed address of an upload says.
//!
//! Everything that a request is held against before anything is looked up stands in the address itself, under
//! one signature: so a forged one costs a hash and nothing more.

use crate::{CorsOrigin, MediaId, Timestamp, WorkspaceId};

/// The form that is written now.
const FORM: u8 = 1;
/// Bytes before the origin: form, two ids, expiry, size.
const HEAD_LEN: usize = 1 + 16 + 16 + 8 + 8;
/// Bytes of a signature: HMAC-SHA256.
const SIGNATURE_LEN: usize = 32;

/// What an address is bound to: upload, workspace, expiry, origin and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadTicket {
    /// Which upload.
    pub upload: MediaId,
    /// Whose it is.
    pub workspace: WorkspaceId,
    /// The address is worth nothing after that.
    pub expires_at: Timestamp,
    /// The most bytes; `None` without a limit.
    pub size_max: Option<u64>,
    /// From which pages browsers may send.
    pub origin: CorsOrigin,
}

/// The bytes are no ticket with a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the address of an upload")]
pub struct BadUploadAddress;

impl UploadTicket {
    /// The longest ticket with its signature, in bytes.
    pub const LEN_MAX: usize = HEAD_LEN + CorsOrigin::LEN_MAX + SIGNATURE_LEN;

    /// The bytes that are signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_LEN + self.origin.as_str().len());
        bytes.push(FORM);
        bytes.extend_from_slice(self.upload.as_uuid().as_bytes());
        bytes.extend_from_slice(self.workspace.as_uuid().as_bytes());
        bytes.extend_from_slice(&self.expires_at.as_micros().to_be_bytes());
        // No limit and a limit of 0 bytes would look alike, but an upload of none is refused anyway.
        bytes.extend_from_slice(&self.size_max.unwrap_or(0).to_be_bytes());
        bytes.extend_from_slice(self.origin.as_str().as_bytes());
        bytes
    }

    /// The bytes of an address: the ticket and its signature.
    pub fn with_signature(&self, signature: [u8; SIGNATURE_LEN]) -> Vec<u8> {
        let mut bytes = self.to_bytes();
        bytes.extend_from_slice(&signature);
        bytes
    }

    /// The signed bytes of an address, and their signature, which the caller checks before it believes a
    /// word.
    pub fn split(bytes: &[u8]) -> Result<(&[u8], [u8; SIGNATURE_LEN]), BadUploadAddress> {
        if bytes.len() > Self::LEN_MAX {
            return Err(BadUploadAddress);
        }
        let (signed, signature) = bytes.split_last_chunk().ok_or(BadUploadAddress)?;
        Ok((signed, *signature))
    }

    /// What signed bytes say.
    pub fn from_bytes(signed: &[u8]) -> Result<Self, BadUploadAddress> {
        fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], BadUploadAddress> {
            let (taken, rest) = bytes.split_first_chunk().ok_or(BadUploadAddress)?;
            *bytes = rest;
            Ok(*taken)
        }
        let mut rest = signed;
        let [FORM] = take::<1>(&mut rest)? else { return Err(BadUploadAddress) };
        let upload = MediaId::from_uuid(uuid::Uuid::from_bytes(take(&mut rest)?));
        let workspace = WorkspaceId::from_uuid(uuid::Uuid::from_bytes(take(&mut rest)?));
        let expires_at = Timestamp::from_micros(i64::from_be_bytes(take(&mut rest)?));
        let size_max = Some(u64::from_be_bytes(take(&mut rest)?)).filter(|max| *max > 0);
        let origin = CorsOrigin::from_text(std::str::from_utf8(rest).map_err(|_| BadUploadAddress)?);
        Ok(Self { upload, workspace, expires_at, size_max, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket() -> UploadTicket {
        UploadTicket {
            upload: "019a492c-41f3-7001-8203-040506070809".parse().unwrap(),
            workspace: "019a492c-41f3-7001-8203-04050607080a".parse().unwrap(),
            expires_at: Timestamp::from_micros(1_762_164_228_595_604),
            size_max: Some(500_000_000),
            origin: CorsOrigin::One("https://shop.example".into()),
        }
    }

    #[test]
    fn a_ticket_is_read_back_from_its_bytes() {
        let any = UploadTicket { size_max: None, origin: CorsOrigin::Any, ..ticket() };
        for ticket in [ticket(), any] {
            let address = ticket.with_signature([7; 32]);
            let (signed, signature) = UploadTicket::split(&address).unwrap();
            assert_eq!((signed, signature), (ticket.to_bytes().as_slice(), [7; 32]));
            assert_eq!(UploadTicket::from_bytes(signed), Ok(ticket));
        }
    }

    #[test]
    fn every_part_changes_the_signed_bytes() {
        let other = "019a492c-41f3-7001-8203-04050607080b";
        let changed = [
            UploadTicket { upload: other.parse().unwrap(), ..ticket() },
            UploadTicket { workspace: other.parse().unwrap(), ..ticket() },
            UploadTicket { expires_at: Timestamp::from_micros(1), ..ticket() },
            UploadTicket { size_max: None, ..ticket() },
            UploadTicket { origin: CorsOrigin::Any, ..ticket() },
        ];
        for changed in changed {
            assert_ne!(changed.to_bytes(), ticket().to_bytes(), "{changed:?}");
        }
    }

    #[test]
    fn what_is_no_ticket_is_refused() {
        assert_eq!(UploadTicket::split(&[0; 31]), Err(BadUploadAddress));
        assert_eq!(UploadTicket::split(&vec![0; UploadTicket::LEN_MAX + 1]), Err(BadUploadAddress));
        let bytes = ticket().to_bytes();
        assert_eq!(UploadTicket::from_bytes(&bytes[..HEAD_LEN - 1]), Err(BadUploadAddress));
        assert_eq!(UploadTicket::from_bytes(&[&[2], &bytes[1..]].concat()), Err(BadUploadAddress));
        assert_eq!(UploadTicket::from_bytes(&[&bytes[..], &[0xff]].concat()), Err(BadUploadAddress));
    }
}
