//! Encryption of files on the way to viewers (RFC 8216, 4.3.2.4; D-0087).

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::Random;

/// The encryption of the files of a playback ID on the way to viewers. It never changes, because cached
/// files would no longer match the playlists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// No encryption.
    #[default]
    None,
    /// Each file is encrypted as a whole, AES-128-CBC with PKCS#7.
    Aes128,
}

impl Encryption {
    /// All values.
    pub const ALL: [Self; 2] = [Self::None, Self::Aes128];

    /// The name in requests, responses and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Aes128 => "aes-128",
        }
    }

    /// The encryption with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encryption| encryption.as_str() == text)
    }

    /// The name, or `None` without encryption: responses omit the field then.
    pub fn name_if_encrypted(self) -> Option<&'static str> {
        (self != Self::None).then(|| self.as_str())
    }
}

/// The key of one playback ID. `Debug` never prints it.
#[derive(Clone, PartialEq, Eq)]
pub struct ContentKey([u8; Self::LEN]);

impl ContentKey {
    /// Length of an AES-128 key, in bytes. A block and an initialisation vector have the same length.
    pub const LEN: usize = 16;

    /// A new key: 128 random bits.
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; Self::LEN];
        random.fill(&mut bytes);
        Self(bytes)
    }

    /// The key with this value, as read from the store.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its value.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The initialisation vector of a file, derived from its path below the playback ID. Different paths
    /// have different vectors, and a vector is unpredictable without the key (NIST SP 800-38A, appendix C).
    /// A segment that is encoded again may have other bytes under the same path: D-0087 describes what this
    /// reveals.
    pub fn iv(&self, path: &str) -> [u8; Self::LEN] {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        let full = mac.chain_update(path).finalize().into_bytes();
        *full.first_chunk().expect("HMAC-SHA256 has 32 bytes")
    }
}

impl std::fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ContentKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encryption_names_round_trip_and_none_is_omitted() {
        let names = Encryption::ALL.map(|encryption| (encryption.as_str(), encryption.name_if_encrypted()));
        assert_eq!(names, [("none", None), ("aes-128", Some("aes-128"))]);
        assert!(Encryption::ALL.iter().all(|it| Encryption::from_text(it.as_str()) == Some(*it)));
        for none in ["", "AES-128", "aes", "aes128", "aes-256", "sample-aes"] {
            assert_eq!(Encryption::from_text(none), None, "{none}");
        }
    }

    #[test]
    fn every_file_and_key_has_unique_iv() {
        let mut seen = std::collections::HashSet::new();
        for byte in [0, 1] {
            let key = ContentKey::from_bytes([byte; 16]);
            for path in
                ["i/video/0.m4s", "i/video/1.m4s", "i/iframes/0.m4s", "j/video/0.m4s", "i/video/init.mp4"]
            {
                assert!(seen.insert(key.iv(path)), "{byte} {path}");
                assert_eq!(key.iv(path), key.iv(path), "it is the same each time");
            }
        }
    }

    #[test]
    fn iv_is_the_truncated_hmac_of_the_path() {
        // printf 'i/video/0.m4s' | openssl dgst -sha256 -mac HMAC -macopt
        // hexkey:00000000000000000000000000000000
        let iv = ContentKey::from_bytes([0; 16]).iv("i/video/0.m4s");
        let hex: String = iv.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "eb08c33f2ecdf47b9b8cc758f2361a1b");
    }

    #[test]
    fn debug_hides_the_content_key() {
        assert_eq!(format!("{:?}", ContentKey::from_bytes([7; 16])), "ContentKey");
    }
}
