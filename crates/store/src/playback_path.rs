//! Signatures of the paths that manifests of private and restricted playback IDs list.

use kinora_domain::{PathClaims, PlaybackId, SignedPath};

use crate::Store;
use crate::keyring::Purpose;

impl Store {
    /// The signed part of a path, in bytes: its ticket and a signature.
    pub fn sign_path(&self, ticket: &PathClaims) -> Vec<u8> {
        let mut part = ticket.to_bytes();
        let id = ticket.playback.as_uuid();
        part.extend(self.common().keyring.sign(Purpose::PlaybackPath, &[id.as_bytes(), &part]));
        part
    }

    /// Whether this server, or one with the same keys, signed this part for this playback ID. Takes
    /// constant time for right and wrong signatures.
    pub fn has_signed_path(
        &self,
        playback: PlaybackId,
        SignedPath { said, signature }: SignedPath<'_>,
    ) -> bool {
        let id = playback.as_uuid();
        self.common().keyring.has_signed(Purpose::PlaybackPath, &[id.as_bytes(), said], signature)
    }
}
