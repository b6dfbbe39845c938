//! Access tokens: the credentials of API clients.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::{AccessTokenId, Random, Timestamp, Who, WorkspaceId, name};

/// The permission of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// All requests in its workspace.
    ReadWrite,
    /// Only GET.
    ReadOnly,
}

impl Permission {
    /// The name in the dashboard and in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadWrite => "read-write",
            Self::ReadOnly => "read-only",
        }
    }

    /// The permission with this name.
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::ReadWrite, Self::ReadOnly].into_iter().find(|permission| permission.as_str() == text)
    }
}

/// The secret key of a token, shown only once, at creation. `Debug` never prints it.
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

    /// The hash to store.
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
    /// The hash of the secret that a client sent.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// The hash with this value, as read from the store.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its value, for the store.
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

/// A credential for one workspace.
#[derive(Debug, Clone)]
pub struct AccessToken {
    /// Its public half: the user name in HTTP Basic.
    pub id: AccessTokenId,
    /// The only workspace it gives access to.
    pub workspace: WorkspaceId,
    /// Its name, for people. `None`: a version without names created it.
    pub name: Option<String>,
    /// Who created it, with their name at that time. `None`: a version that did not record it.
    pub made_by: Option<Who>,
    /// Its permission there.
    pub permission: Permission,
    /// The hash of its secret.
    pub secret: SecretHash,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of its last use, with an error of some minutes.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked. Requests with it are rejected since then.
    pub revoked_at: Option<Timestamp>,
}

impl AccessToken {
    /// Longest name, in characters. Our own limit, equal to that of a person.
    pub const NAME_MAX: usize = name::MAX;

    /// The name without surrounding spaces. The error is a sentence for the client.
    pub fn parse_name(text: &str) -> Result<String, &'static str> {
        name::parse(text)
    }

    /// The name in the audit log; empty if it has none.
    pub fn display_name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
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
    fn secret_matches_only_its_hash_and_debug_hides_it() {
        let secret = Secret::new(&Sevens);
        assert_eq!(secret.reveal().len(), 43);
        assert!(secret.hash().matches(&SecretHash::of(secret.reveal())));
        assert!(!secret.hash().matches(&SecretHash::of("another")));
        assert_eq!(format!("{secret:?} {:?}", secret.hash()), "Secret(hidden) SecretHash(hidden)");
    }
}
