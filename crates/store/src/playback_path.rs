//! Signatures of the paths that manifests of private and restricted playback IDs list.

use kinora_domain::PathTicket;

use crate::Store;
use crate::keyring::Purpose;

impl Store {
    /// A path's part, in bytes: what it says, and a signature.
    pub fn sign_path(&self, ticket: &PathTicket) -> Vec<u8> {
        ticket.with_signature(self.common().keyring.sign(Purpose::PlaybackPath, &ticket.to_bytes()))
    }

    /// Whether this server, or one with the same keys, has signed this. Takes as long for a wrong signature as for a right one.
    pub fn has_signed_path(&self, ticket: &PathTicket, signature: &[u8; 32]) -> bool {
        self.common().keyring.has_signed(Purpose::PlaybackPath, &ticket.to_bytes(), signature)
    }
}
