//! Playback tokens: JWTs that clients sign with their keys (C-164, C-165).

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::ParsedPublicKey;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header};
use kinora_domain::{
    KeyMark, PublicKey, SigningKey, SigningKeyId, TokenAlgorithm, TokenClaims, TokenRefusal, WorkspaceId,
};
use kinora_store::Version;
use kinora_web::error::ApiError;
use kinora_web::public_key;
use moka::sync::Cache;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};

use crate::DeliveryState;

/// What was found out a moment ago. Whatever is written by this process makes it old at once; what others
/// write, within half a second, or within the second that it lives (D-0029).
pub(super) struct Tokens {
    keys: Cache<(WorkspaceId, SigningKeyId), Remembered>,
    verified: Cache<[u8; 32], (u64, Verified)>,
}

#[derive(Clone)]
enum Remembered {
    There(u64, Arc<VerifyingKey>),
    /// Never answered from an old version: a key that was just made counts everywhere.
    Gone(Version),
}

struct VerifyingKey {
    mark: KeyMark,
    algorithm: Algorithm,
    /// Read once: to read it anew takes a third of what a verification takes.
    key: ParsedPublicKey,
}

/// A token whose signature holds and that was not taken back.
#[derive(Clone)]
pub(super) struct Verified {
    pub(super) key: KeyMark,
    pub(super) claims: Arc<TokenClaims>,
}

/// Why a token is not verified.
pub(super) enum VerifyError {
    /// The token is to blame.
    Refused(TokenRefusal),
    /// The database could not be asked.
    Failed(ApiError),
}

impl From<TokenRefusal> for VerifyError {
    fn from(refusal: TokenRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<ApiError> for VerifyError {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

/// What is read of a payload.
#[derive(Deserialize)]
struct Claims {
    aud: Option<Audience>,
    exp: Option<f64>,
    nbf: Option<f64>,
    jti: Option<String>,
}

/// RFC 7519, 4.1.3: one or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// What is read of a payload before its signature is known to hold.
#[derive(Deserialize)]
struct Unverified {
    kid: Option<String>,
}

impl Tokens {
    const REMEMBERED_FOR: Duration = Duration::from_secs(1);
    /// A key has at most 1 KiB.
    const KEYS_MAX: u64 = 10_000;
    /// Claims have some hundred bytes, and at most the 8 KiB of a token.
    const VERIFIED_MAX: u64 = 10_000;

    pub(super) fn new() -> Self {
        let keys = Cache::builder().max_capacity(Self::KEYS_MAX).time_to_live(Self::REMEMBERED_FOR).build();
        let verified =
            Cache::builder().max_capacity(Self::VERIFIED_MAX).time_to_live(Self::REMEMBERED_FOR).build();
        Self { keys, verified }
    }
}

/// Whether a token was signed by a key of this workspace and not taken back, and what it says. What it says
/// is not held against anything.
pub(super) async fn verify(
    app: &DeliveryState,
    workspace: WorkspaceId,
    token: &str,
) -> Result<Verified, VerifyError> {
    if token.len() > TokenClaims::TOKEN_BYTES_MAX {
        return Err(TokenRefusal::TooLong.into());
    }
    // Taken before rows are read: a commit in between makes what is remembered old at once, never new.
    let generation = app.store.generation();
    let fingerprint = Sha256::new().chain_update(workspace.as_uuid()).chain_update(token).finalize().into();
    let tokens = &app.gate.tokens;
    if let Some((at, verified)) = tokens.verified.get(&fingerprint)
        && at == generation
    {
        return Ok(verified);
    }
    let (header, id) = head(token)?;
    let key = find(app, workspace, id).await?.ok_or(TokenRefusal::UnknownKey)?;
    let claims = Arc::new(key.read(token, &header)?);
    if let Some(jti) = claims.id.as_deref()
        && Box::pin(app.store.is_token_revoked(workspace, jti)).await.map_err(ApiError::from)?
    {
        return Err(TokenRefusal::Revoked.into());
    }
    let verified = Verified { key: key.mark, claims };
    tokens.verified.insert(fingerprint, (generation, verified.clone()));
    Ok(verified)
}

/// Whether a workspace has this very key: another one that was brought in under its id later is not it.
pub(super) async fn has_key(
    app: &DeliveryState,
    workspace: WorkspaceId,
    key: KeyMark,
) -> Result<bool, ApiError> {
    Ok(find(app, workspace, key.id).await?.is_some_and(|found| found.mark == key))
}

async fn find(
    app: &DeliveryState,
    workspace: WorkspaceId,
    id: SigningKeyId,
) -> Result<Option<Arc<VerifyingKey>>, ApiError> {
    let keys = &app.gate.tokens.keys;
    let generation = app.store.generation();
    let remembered = keys.get(&(workspace, id));
    if let Some(Remembered::There(at, key)) = &remembered
        && *at == generation
    {
        return Ok(Some(Arc::clone(key)));
    }
    let version = app.store.version().await?;
    if let Some(Remembered::Gone(at)) = &remembered
        && *at == version
    {
        return Ok(None);
    }
    let found = Box::pin(app.store.signing_key(workspace, id)).await?;
    let key = found.and_then(|key| VerifyingKey::of(&key)).map(Arc::new);
    let remembered = match &key {
        Some(key) => Remembered::There(generation, Arc::clone(key)),
        None => Remembered::Gone(version),
    };
    keys.insert((workspace, id), remembered);
    Ok(key)
}

/// The header of a token and the key that it names: there, else in its payload (C-166).
fn head(token: &str) -> Result<(Header, SigningKeyId), TokenRefusal> {
    let header = jsonwebtoken::decode_header(token).map_err(|error| match error.kind() {
        ErrorKind::Json(error) if error.is_data() => TokenRefusal::BadHeader,
        _ => TokenRefusal::Malformed,
    })?;
    // RFC 7515, 4.1.11: whoever does not understand what is critical refuses. Nothing is understood here.
    if header.crit.is_some() {
        return Err(TokenRefusal::BadHeader);
    }
    let named = match &header.kid {
        Some(kid) => Some(kid.clone()),
        None => claims::<Unverified>(token)?.kid,
    };
    let id = named.and_then(|kid| kid.parse().ok()).ok_or(TokenRefusal::UnknownKey)?;
    Ok((header, id))
}

/// What a payload says: a JSON object (RFC 7519, 3). A list would be read as well, in the order of the
/// fields.
fn claims<T: DeserializeOwned>(token: &str) -> Result<T, TokenRefusal> {
    let object = jsonwebtoken::dangerous::insecure_decode_claims::<serde_json::Map<_, _>>(token);
    let object = object.map_err(|_| TokenRefusal::Malformed)?;
    T::deserialize(serde_json::Value::Object(object)).map_err(|_| TokenRefusal::BadClaim)
}

impl VerifyingKey {
    fn of(row: &SigningKey) -> Option<Self> {
        let mark = KeyMark { id: row.id, created_at: row.created_at };
        let key = PublicKey::from_pem(&row.public_key).ok()?;
        let algorithm = match key.algorithm {
            TokenAlgorithm::Rs256 => Algorithm::RS256,
            TokenAlgorithm::Es256 => Algorithm::ES256,
            TokenAlgorithm::EdDsa => Algorithm::EdDSA,
        };
        Some(Self { mark, algorithm, key: public_key::usable(&key).ok()? })
    }

    /// What a token says that this key signed.
    fn read(&self, token: &str, header: &Header) -> Result<TokenClaims, TokenRefusal> {
        // The algorithm is the key's, whatever the token says.
        if header.alg != self.algorithm {
            return Err(TokenRefusal::WrongAlgorithm);
        }
        let (message, signature) = token.rsplit_once('.').ok_or(TokenRefusal::Malformed)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenRefusal::Malformed)?;
        self.key.verify_sig(message.as_bytes(), &signature).map_err(|_| TokenRefusal::BadSignature)?;
        // No longer insecure. Times are held against the clock that everything else is held against.
        let Claims { aud, exp, nbf, jti } = claims(token)?;
        // By what cannot be revoked, nothing is opened.
        if jti.as_ref().is_some_and(|jti| !TokenClaims::is_id(jti)) {
            return Err(TokenRefusal::BadClaim);
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

    /// A token may be verified by a key that was cached for as long: together the 2 s of
    /// C-13.
    #[test]
    fn cached_key_and_token_expire_within_1_s() {
        let tokens = Tokens::new();
        for ttl in [tokens.keys.policy().time_to_live(), tokens.verified.policy().time_to_live()] {
            assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
        }
    }
}
