//! Signing keys: clients sign playback tokens with them, and the server verifies the tokens.

mod public_key;

pub use public_key::{BadPublicKey, PublicKey, TokenAlgorithm};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{SigningKeyId, Timestamp, WorkspaceId};

/// A stored key: all but its private half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Its ID, the `kid` of tokens.
    pub id: SigningKeyId,
    /// The only workspace for whose playback IDs it is valid.
    pub workspace: WorkspaceId,
    /// The public half, a `SubjectPublicKeyInfo` as PEM text.
    pub public_key: String,
    /// Creation time.
    pub created_at: Timestamp,
}

/// Identifies a key among all that ever had its ID: clients choose the IDs of imported keys, and may reuse
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyRef {
    /// Its ID.
    pub id: SigningKeyId,
    /// Its creation time.
    pub created_at: Timestamp,
}

impl SigningKey {
    /// Most keys of one workspace. D-0065.
    pub const PER_WORKSPACE_MAX: u64 = 100;
}

/// A generator of key pairs: aws-lc in the binary, any substitute in tests.
pub trait KeyMaker: Send + Sync {
    /// A new RSA key of 2048 bits, from unpredictable randomness. Takes tens of milliseconds of CPU time or
    /// more, so call it on a thread that may block.
    fn generate(&self) -> KeyPair;
}

/// Both halves of a new key.
#[derive(Debug)]
pub struct KeyPair {
    /// The stored half, see [`SigningKey::public_key`].
    pub public_key: String,
    /// The half that is shown only once.
    pub private_key: PrivateKey,
}

impl KeyPair {
    /// The pair from two DER structures: a PKCS#8 `PrivateKeyInfo` (RFC 5208) and a `SubjectPublicKeyInfo`
    /// (RFC 5280, 4.1).
    pub fn from_der(private_key: &[u8], public_key: &[u8]) -> Self {
        Self {
            public_key: pem("PUBLIC KEY", public_key),
            private_key: PrivateKey(pem("PRIVATE KEY", private_key)),
        }
    }
}

/// The private half of a key, for the response to the client; never stored. `Debug` never prints it.
pub struct PrivateKey(String);

impl PrivateKey {
    /// The Base64 of the PEM text, as in the response (C-169).
    pub fn reveal(&self) -> String {
        STANDARD.encode(&self.0)
    }
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey(hidden)")
    }
}

/// Encodes PEM: lines of 64 characters between two labels (RFC 7468, 2).
fn pem(label: &str, der: &[u8]) -> String {
    /// Number of bytes whose Base64 fills a line.
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
    fn private_key_is_base64_of_pem_and_debug_hides_it() {
        let pair = KeyPair::from_der(&[1, 2, 3], &[4, 5, 6]);
        let pem = String::from_utf8(STANDARD.decode(pair.private_key.reveal()).unwrap()).unwrap();
        assert_eq!(pem, "-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----\n");
        assert_eq!(pair.public_key, "-----BEGIN PUBLIC KEY-----\nBAUG\n-----END PUBLIC KEY-----\n");
        let printed = format!("{pair:?}");
        assert!(printed.contains("PrivateKey(hidden)") && !printed.contains("AQID"), "{printed}");
    }
}
