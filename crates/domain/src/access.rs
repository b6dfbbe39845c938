//! Access tokens: who may call the API.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::{AccessTokenId, Random, Timestamp, WorkspaceId};

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// Everything in its workspace.
    ReadWrite,
    /// Only GET.
    ReadOnly,
}

impl Permission {
    /// The word as people and rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
        }
    }

    /// The permission with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::ReadWrite, Self::ReadOnly].into_iter().find(|permission| permission.as_str() == text)
    }
}

/// The secret key of a token, shown once when it is made. `Debug` never shows it.
pub struct Secret(String);

impl Secret {
    /// A new secret: 256 random bits.
    pub fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 32];
        random.fill(&mut bytes);
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The text a client sends as the password of HTTP Basic.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// SHA-256 of a secret. A slow hash protects guessable passwords, not 256 random bits.
#[derive(Clone, Copy)]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// The hash of what a client sent.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// The hash with this value, read back from where it was kept.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its value, to be kept.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether both are hashes of the same secret, in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretHash(hidden)")
    }
}

/// A key to one workspace.
#[derive(Debug, Clone)]
pub struct AccessToken {
    /// Its public half.
    pub id: AccessTokenId,
    /// The one workspace it opens.
    pub workspace: WorkspaceId,
    /// What it may do there.
    pub permission: Permission,
    /// What is kept of its secret.
    pub secret: SecretHash,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to within some minutes.
    pub last_used_at: Option<Timestamp>,
    /// Since when it is refused.
    pub revoked_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sevens;

    impl Random for Sevens {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(7);
        }
    }

    #[test]
    fn a_secret_matches_its_own_hash_only_and_is_never_printed() {
        let secret = Secret::new(&Sevens);
        assert_eq!(secret.reveal().len(), 43);
        assert!(secret.hash().matches(&SecretHash::of(secret.reveal())));
        assert!(!secret.hash().matches(&SecretHash::of("another")));
        assert_eq!(format!("{secret:?} {:?}", secret.hash()), "Secret(hidden) SecretHash(hidden)");
    }
}
