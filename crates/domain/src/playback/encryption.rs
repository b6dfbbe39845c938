//! What is encrypted on its way to viewers (RFC 8216, 4.3.2.4; D-0087).

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::Random;

/// How what plays through a playback ID is encrypted on its way. It never changes: what caches have would no
/// longer fit what playlists say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encryption {
    /// Not at all.
    #[default]
    None,
    /// Each file as a whole, AES-128-CBC with PKCS#7.
    Aes128,
}

impl Encryption {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::None, Self::Aes128];

    /// The word as clients and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Aes128 => "aes-128",
        }
    }

    /// The encryption with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encryption| encryption.as_str() == text)
    }

    /// The word where it is on: answers say nothing of what is not.
    pub fn as_word(self) -> Option<&'static str> {
        (self != Self::None).then(|| self.as_str())
    }
}

/// The key of one playback ID. `Debug` never shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ContentKey([u8; Self::LEN]);

impl ContentKey {
    /// Of AES-128, in bytes; a block, and an initialisation vector, has as many.
    pub const LEN: usize = 16;

    /// A new key: 128 random bits.
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; Self::LEN];
        random.fill(&mut bytes);
        Self(bytes)
    }

    /// The key with this value, read back from where it was kept.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its value.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The initialisation vector of a file, by its path below the playback ID. No two paths have the same,
    /// and who has not the key cannot tell it beforehand (NIST SP 800-38A, appendix C). A segment that is
    /// encoded anew may have other bytes under its path: D-0087 says what that shows.
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
    fn each_encryption_has_one_word_and_none_is_not_told() {
        let told = Encryption::ALL.map(|encryption| (encryption.as_str(), encryption.as_word()));
        assert_eq!(told, [("none", None), ("aes-128", Some("aes-128"))]);
        assert!(Encryption::ALL.iter().all(|it| Encryption::from_text(it.as_str()) == Some(*it)));
        for none in ["", "AES-128", "aes", "aes128", "aes-256", "sample-aes"] {
            assert_eq!(Encryption::from_text(none), None, "{none}");
        }
    }

    #[test]
    fn every_file_under_every_key_has_a_vector_of_its_own() {
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
    fn the_vector_is_the_beginning_of_the_hmac() {
        // printf 'i/video/0.m4s' | openssl dgst -sha256 -mac HMAC -macopt
        // hexkey:00000000000000000000000000000000
        let iv = ContentKey::from_bytes([0; 16]).iv("i/video/0.m4s");
        let hex: String = iv.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "eb08c33f2ecdf47b9b8cc758f2361a1b");
    }

    #[test]
    fn a_key_is_never_shown() {
        assert_eq!(format!("{:?}", ContentKey::from_bytes([7; 16])), "ContentKey");
    }
}
