//! Signing keys: with what a client signs playback tokens, and we verify them.

mod public_key;

pub use public_key::{BadPublicKey, PublicKey, TokenAlgorithm};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{SigningKeyId, Timestamp, WorkspaceId};

/// What is kept of a key: everything but its private half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Its id, which tokens name as `kid`.
    pub id: SigningKeyId,
    /// The one workspace whose playback IDs it opens.
    pub workspace: WorkspaceId,
    /// The public half, a `SubjectPublicKeyInfo` as PEM text.
    pub public_key: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A key, told apart from another one that has its id: ids of keys that are brought in are chosen by clients,
/// who may choose one again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyMark {
    /// Its id.
    pub id: SigningKeyId,
    /// Since when it is there.
    pub created_at: Timestamp,
}

impl SigningKey {
    /// Most keys of one workspace. D-0065.
    pub const PER_WORKSPACE_MAX: u64 = 100;
}

/// Makes key pairs. Aws-lc in the binary, whatever a test wants in tests.
pub trait KeyMaker: Send + Sync {
    /// A new RSA key of 2048 bits, from randomness that nobody can guess. Takes a processor for tens of
    /// milliseconds or more, so it is called on a thread where blocking is allowed.
    fn make(&self) -> KeyPair;
}

/// Both halves of a new key.
#[derive(Debug)]
pub struct KeyPair {
    /// The half that is kept, as [`SigningKey::public_key`].
    pub public_key: String,
    /// The half that is shown once.
    pub private_key: PrivateKey,
}

impl KeyPair {
    /// The pair of these DER texts: a PKCS#8 `PrivateKeyInfo` (RFC 5208) and a `SubjectPublicKeyInfo` (RFC
    /// 5280, 4.1).
    pub fn from_der(private_key: &[u8], public_key: &[u8]) -> Self {
        Self {
            public_key: pem("PUBLIC KEY", public_key),
            private_key: PrivateKey(pem("PRIVATE KEY", private_key)),
        }
    }
}

/// The private half of a key, on its way to the client who asked for it; never kept. `Debug` never shows it.
pub struct PrivateKey(String);

impl PrivateKey {
    /// The Base64 of the PEM text, as the client gets it (C-169).
    pub fn reveal(&self) -> String {
        STANDARD.encode(&self.0)
    }
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey(hidden)")
    }
}

/// Textual encoding: lines of 64 characters between two labels (RFC 7468, 2).
fn pem(label: &str, der: &[u8]) -> String {
    /// Bytes whose Base64 fills a line.
    const LINE: usize = 48;
    let lines: String = der.chunks(LINE).map(|line| STANDARD.encode(line) + "\n").collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_has_lines_of_64_characters_between_its_labels() {
        let check = |len: usize, lines: &[&str]| {
            let der: Vec<u8> = (0..len).map(|at| u8::try_from(at).unwrap()).collect();
            let expected =
                [&["-----BEGIN PUBLIC KEY-----"][..], lines, &["-----END PUBLIC KEY-----", ""]].concat();
            assert_eq!(pem("PUBLIC KEY", &der), expected.join("\n"), "{len} bytes");
        };
        // The lines are those of `base64 -w 64`.
        let full = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v";
        check(2, &["AAE="]);
        check(48, &[full]);
        check(49, &[full, "MA=="]);
        check(52, &[full, "MDEyMw=="]);
    }

    #[test]
    fn a_private_key_is_the_base64_of_its_pem_and_is_never_printed() {
        let pair = KeyPair::from_der(&[1, 2, 3], &[4, 5, 6]);
        let pem = String::from_utf8(STANDARD.decode(pair.private_key.reveal()).unwrap()).unwrap();
        assert_eq!(pem, "-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----\n");
        assert_eq!(pair.public_key, "-----BEGIN PUBLIC KEY-----\nBAUG\n-----END PUBLIC KEY-----\n");
        let printed = format!("{pair:?}");
        assert!(printed.contains("PrivateKey(hidden)") && !printed.contains("AQID"), "{printed}");
    }
}
