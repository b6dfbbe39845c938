//! Playback tokens: JWTs that clients sign with their keys (C-164, C-165, C-166).

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::ParsedPublicKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header};
use kinora_domain::{
    KeyRef, PublicKey, SigningKey, SigningKeyId, TokenAlgorithm, TokenClaims, TokenError, WorkspaceId,
};
use kinora_store::DataVersion;
use kinora_web::error::ApiError;
use kinora_web::public_key;
use moka::sync::Cache;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::DeliveryState;

/// Caches signing keys and verified tokens.
///
/// A write by this process invalidates them at once. A write by another process does within half a second,
/// or at the latest when the entry expires after a second (D-0029).
pub(super) struct TokenCache {
    keys: Cache<(WorkspaceId, SigningKeyId), CachedKey>,
    verified: Cache<[u8; 32], (u64, Verified)>,
}

#[derive(Clone)]
enum CachedKey {
    Found(u64, Arc<VerifyingKey>),
    /// Valid for one version of the database only: every process accepts a key that was just created.
    Missing(DataVersion),
}

struct VerifyingKey {
    key_ref: KeyRef,
    algorithm: Algorithm,
    /// Parsed once: parsing takes a third of the time of a verification.
    key: ParsedPublicKey,
}

/// A token with a valid signature that was not revoked.
#[derive(Clone)]
pub(super) struct Verified {
    pub(super) key: KeyRef,
    pub(super) claims: Arc<TokenClaims>,
}

/// Why a token is not verified.
pub(super) enum VerifyError {
    /// The token is not valid.
    Rejected(TokenError),
    /// The database could not be queried.
    Failed(ApiError),
}

impl From<TokenError> for VerifyError {
    fn from(rejection: TokenError) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<ApiError> for VerifyError {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

/// The claims that are read from a payload.
#[derive(Deserialize)]
struct Claims {
    aud: Option<Audience>,
    exp: Option<f64>,
    nbf: Option<f64>,
    jti: Option<String>,
}

/// The claim `aud`: one or several values (RFC 7519, 4.1.3).
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// The claims that are read from a payload before its signature is verified.
#[derive(Deserialize)]
struct Unverified {
    kid: Option<String>,
}

impl TokenCache {
    const TIME_TO_LIVE: Duration = Duration::from_secs(1);
    /// A key has at most 1 KiB.
    const KEYS_MAX: u64 = 10_000;
    /// Claims have some hundred bytes, and at most the 8 KiB of a token.
    const VERIFIED_MAX: u64 = 10_000;

    pub(super) fn new() -> Self {
        let keys = Cache::builder().max_capacity(Self::KEYS_MAX).time_to_live(Self::TIME_TO_LIVE).build();
        let verified =
            Cache::builder().max_capacity(Self::VERIFIED_MAX).time_to_live(Self::TIME_TO_LIVE).build();
        Self { keys, verified }
    }
}

/// Verifies that a token was signed by a key of this workspace and was not revoked; returns its claims.
///
/// The claims themselves are not checked here.
pub(super) async fn verify(
    app: &DeliveryState,
    workspace: WorkspaceId,
    token: &str,
) -> Result<Verified, VerifyError> {
    if token.len() > TokenClaims::TOKEN_BYTES_MAX {
        return Err(TokenError::TooLong.into());
    }
    // Read before the rows: a commit in between makes the cached entry stale, never too new.
    let generation = app.store.generation();
    let fingerprint = Sha256::new().chain_update(workspace.as_uuid()).chain_update(token).finalize().into();
    let tokens = &app.authorization.tokens;
    if let Some((at, verified)) = tokens.verified.get(&fingerprint)
        && at == generation
    {
        return Ok(verified);
    }
    let (header, id) = decode_header(token)?;
    let key = find_key(app, workspace, id).await?.ok_or(TokenError::UnknownKey)?;
    let claims = Arc::new(key.verify(token, &header)?);
    if let Some(jti) = claims.id.as_deref()
        && Box::pin(app.store.is_token_revoked(workspace, jti)).await.map_err(ApiError::from)?
    {
        return Err(TokenError::Revoked.into());
    }
    let verified = Verified { key: key.key_ref, claims };
    tokens.verified.insert(fingerprint, (generation, verified.clone()));
    Ok(verified)
}

/// Whether a workspace has exactly this key. Another key that was later imported under the same id does not
/// count.
pub(super) async fn has_key(
    app: &DeliveryState,
    workspace: WorkspaceId,
    key: KeyRef,
) -> Result<bool, ApiError> {
    Ok(find_key(app, workspace, key.id).await?.is_some_and(|verifying_key| verifying_key.key_ref == key))
}

async fn find_key(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: SigningKeyId,
) -> Result<Option<Arc<VerifyingKey>>, ApiError> {
    let keys = &app.authorization.tokens.keys;
    let generation = app.store.generation();
    let cached = keys.get(&(workspace, id));
    if let Some(CachedKey::Found(at, key)) = &cached
        && *at == generation
    {
        return Ok(Some(Arc::clone(key)));
    }
    let version = app.store.version().await?;
    if let Some(CachedKey::Missing(at)) = &cached
        && *at == version
    {
        return Ok(None);
    }
    let row = Box::pin(app.store.signing_key(workspace, id)).await?;
    let key = row.and_then(|key| VerifyingKey::of(&key)).map(Arc::new);
    let remembered = match &key {
        Some(key) => CachedKey::Found(generation, Arc::clone(key)),
        None => CachedKey::Missing(version),
    };
    keys.insert((workspace, id), remembered);
    Ok(key)
}

/// The header of a token, and the id of its key: from the header, else from the payload (C-166).
fn decode_header(token: &str) -> Result<(Header, SigningKeyId), TokenError> {
    let header = jsonwebtoken::decode_header(token).map_err(|error| match error.kind() {
        ErrorKind::Json(error) if error.is_data() => TokenError::BadHeader,
        _ => TokenError::Malformed,
    })?;
    // RFC 7515, 4.1.11: unknown critical extensions must be rejected. None are supported here.
    if header.crit.is_some() {
        return Err(TokenError::BadHeader);
    }
    let named = match &header.kid {
        Some(kid) => Some(kid.clone()),
        None => parse_claims::<Unverified>(token)?.kid,
    };
    let id = named.and_then(|kid| kid.parse().ok()).ok_or(TokenError::UnknownKey)?;
    Ok((header, id))
}

/// The claims of a payload, which must be a JSON object (RFC 7519, 3). Without this check a list would be
/// accepted too, in the order of the fields.
fn parse_claims<T: DeserializeOwned>(token: &str) -> Result<T, TokenError> {
    let object = jsonwebtoken::dangerous::insecure_decode_claims::<serde_json::Map<_, _>>(token);
    let object = object.map_err(|_| TokenError::Malformed)?;
    T::deserialize(serde_json::Value::Object(object)).map_err(|_| TokenError::BadClaim)
}

impl VerifyingKey {
    fn of(row: &SigningKey) -> Option<Self> {
        let key_ref = KeyRef { id: row.id, created_at: row.created_at };
        let key = PublicKey::from_pem(&row.public_key).ok()?;
        let algorithm = match key.algorithm {
            TokenAlgorithm::Rs256 => Algorithm::RS256,
            TokenAlgorithm::Es256 => Algorithm::ES256,
            TokenAlgorithm::EdDsa => Algorithm::EdDSA,
        };
        Some(Self { key_ref, algorithm, key: public_key::parse_verifying_key(&key).ok()? })
    }

    /// The claims of a token, after its signature was verified with this key.
    fn verify(&self, token: &str, header: &Header) -> Result<TokenClaims, TokenError> {
        // The algorithm must be that of the key, not the token's choice.
        if header.alg != self.algorithm {
            return Err(TokenError::WrongAlgorithm);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenError::Malformed)?;
        self.key.verify_sig(message.as_bytes(), &signature).map_err(|_| TokenError::BadSignature)?;
        // Safe, since the signature is verified. Times are checked later, against the clock that everything
        // else uses.
        let Claims { aud, exp, nbf, jti } = parse_claims(token)?;
        // A token that cannot be revoked gives no access.
        if jti.as_ref().is_some_and(|jti| !TokenClaims::is_revocable_id(jti)) {
            return Err(TokenError::BadClaim);
        }
        let audience = match aud {
            None => Vec::new(),
            Some(Audience::One(one)) => vec![one],
            Some(Audience::Many(many)) => many,
        };
        Ok(TokenClaims { audience, expires_at_s: exp, not_before_s: nbf, id: jti })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token may be verified by a key that was itself cached for as long: together the 2 s of C-13.
    #[test]
    fn cached_key_and_token_expire_within_1_s() {
        let tokens = TokenCache::new();
        for ttl in [tokens.keys.policy().time_to_live(), tokens.verified.policy().time_to_live()] {
            assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
        }
    }
}
