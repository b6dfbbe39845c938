//! Signatures of the paths that manifests of private and restricted playback IDs list.

use kinora_domain::{PathTicket, PlaybackId, SignedPart};

use crate::Store;
use crate::keyring::Purpose;

impl Store {
    /// A path's part, in bytes: what it says, and a signature.
    pub fn sign_path(&self, ticket: &PathTicket) -> Vec<u8> {
        let mut part = ticket.said();
        let id = ticket.playback.as_uuid();
        part.extend(self.common().keyring.sign(Purpose::PlaybackPath, &[id.as_bytes(), &part]));
        part
    }

    /// Whether this server, or one with the same keys, has signed this part below this playback ID. Takes as
    /// long for a wrong signature as for a right one.
    pub fn has_signed_path(
        &self,
        playback: PlaybackId,
        SignedPart { said, signature }: SignedPart<'_>,
    ) -> bool {
        let id = playback.as_uuid();
        self.common().keyring.has_signed(Purpose::PlaybackPath, &[id.as_bytes(), said], signature)
    }
}
