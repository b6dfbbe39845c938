//! Signatures of the paths that manifests of private and restricted playback IDs list, and of passes.

use kinora_domain::{PassClaims, PathClaims, PlaybackId, SignedPath};

use crate::Store;
use crate::keyring::Purpose;

impl Store {
    /// The signed part of a path, in bytes: its claims and a signature.
    pub fn sign_path(&self, path_claims: &PathClaims) -> Vec<u8> {
        let mut part = path_claims.to_bytes();
        let id = path_claims.playback.as_uuid();
        part.extend(self.shared().keyring.sign(Purpose::PlaybackPath, &[id.as_bytes(), &part]));
        part
    }

    /// Whether this server, or one with the same keys, signed this part for this playback ID. Takes
    /// constant time for right and wrong signatures.
    pub fn has_signed_path(
        &self,
        playback: PlaybackId,
        SignedPath { signed_bytes, signature }: SignedPath<'_>,
    ) -> bool {
        let id = playback.as_uuid();
        self.shared().keyring.has_signed(Purpose::PlaybackPath, &[id.as_bytes(), signed_bytes], signature)
    }

    /// A pass, in bytes: its claims and a signature.
    pub fn sign_pass(&self, claims: &PassClaims) -> Vec<u8> {
        let part = claims.to_bytes();
        let id = claims.playback.as_uuid();
        let signature = self.shared().keyring.sign(Purpose::PlaybackPass, &[id.as_bytes(), &part]);
        [&part[..], &signature].concat()
    }

    /// Whether this server, or one with the same keys, signed a pass with these claims. Takes constant time
    /// for right and wrong signatures.
    pub fn has_signed_pass(&self, claims: &PassClaims, signature: &[u8; 32]) -> bool {
        let (id, part) = (claims.playback.as_uuid(), claims.to_bytes());
        self.shared().keyring.has_signed(Purpose::PlaybackPass, &[id.as_bytes(), &part], signature)
    }
}
