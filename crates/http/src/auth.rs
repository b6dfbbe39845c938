//! Who is calling: access tokens by HTTP Basic.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts as RequestParts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_domain::{AccessTokenId, Permission, SecretHash, Timestamp, WorkspaceId};
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::error::ApiError;

/// Whoever holds a valid access token; may read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader {
    /// The one workspace that exists for this caller.
    pub(crate) workspace: WorkspaceId,
    /// Whether the token may change what it reads, and so read what lets others do so (contract decision 39).
    pub(crate) may_write: bool,
}

/// Whoever holds a read-write token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer {
    /// The one workspace that exists for this caller.
    pub(crate) workspace: WorkspaceId,
    /// Which token it is.
    pub(crate) token: AccessTokenId,
}

impl FromRequestParts<App> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut RequestParts, app: &App) -> Result<Self, ApiError> {
        let caller = authenticate(parts, app).await?;
        Ok(Self { workspace: caller.workspace, may_write: caller.permission == Permission::ReadWrite })
    }
}

impl FromRequestParts<App> for Writer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut RequestParts, app: &App) -> Result<Self, ApiError> {
        let caller = authenticate(parts, app).await?;
        match caller.permission {
            Permission::ReadWrite => Ok(Self { workspace: caller.workspace, token: caller.token }),
            Permission::ReadOnly => Err(ApiError::read_only()),
        }
    }
}

/// Callers that were let in a moment ago. Refusals are not remembered (contract decision 44).
pub(crate) struct Callers {
    known: moka::sync::Cache<[u8; 32], Caller>,
    uses: Mutex<HashMap<AccessTokenId, Timestamp>>,
}

#[derive(Debug, Clone, Copy)]
struct Caller {
    workspace: WorkspaceId,
    token: AccessTokenId,
    permission: Permission,
}

impl Callers {
    /// A revoked token is refused within 2 s; half of that is left for everything else.
    const REMEMBERED_FOR: Duration = Duration::from_secs(1);
    /// About 100 bytes each.
    const REMEMBERED_MAX: u64 = 10_000;
    /// An id has 36 characters, a secret 43; more cannot be one of ours.
    const CREDENTIALS_BYTES_MAX: usize = 256;

    pub(crate) fn new() -> Self {
        let known = moka::sync::Cache::builder()
            .max_capacity(Self::REMEMBERED_MAX)
            .time_to_live(Self::REMEMBERED_FOR)
            .build();
        Self { known, uses: Mutex::default() }
    }

    pub(crate) fn take_uses(&self) -> Vec<(AccessTokenId, Timestamp)> {
        std::mem::take(&mut *self.uses.lock().expect("nothing panics while holding it")).into_iter().collect()
    }
}

/// Who calls, for what lies before the operations: those need not ask again. 401 as they answer it.
pub(crate) async fn identify(parts: &mut RequestParts, app: &App) -> Result<AccessTokenId, ApiError> {
    let caller = authenticate(parts, app).await?;
    parts.extensions.insert(caller);
    Ok(caller.token)
}

async fn authenticate(parts: &RequestParts, app: &App) -> Result<Caller, ApiError> {
    if let Some(caller) = parts.extensions.get() {
        return Ok(*caller);
    }
    let header = parts.headers.get(AUTHORIZATION).ok_or_else(ApiError::unauthorized)?.as_bytes();
    if header.len() > Callers::CREDENTIALS_BYTES_MAX {
        return Err(ApiError::unauthorized());
    }
    // A hash of the whole header, so that no secret lies in the cache.
    let fingerprint: [u8; 32] = Sha256::digest(header).into();
    if let Some(caller) = app.callers.known.get(&fingerprint) {
        return Ok(caller);
    }
    let (id, secret) = credentials(header).ok_or_else(ApiError::unauthorized)?;
    let token = Box::pin(app.store.access_token(id)).await?.ok_or_else(ApiError::unauthorized)?;
    if token.revoked_at.is_some() || !token.secret.matches(&SecretHash::of(&secret)) {
        return Err(ApiError::unauthorized());
    }
    let caller = Caller { workspace: token.workspace, token: id, permission: token.permission };
    app.callers.known.insert(fingerprint, caller);
    app.callers.uses.lock().expect("nothing panics while holding it").insert(id, app.clock.now());
    Ok(caller)
}

/// The id and the secret of an `Authorization` value (RFC 7617: the scheme in any case, one colon ends the user name).
fn credentials(header: &[u8]) -> Option<(AccessTokenId, String)> {
    let text = std::str::from_utf8(header).ok()?;
    let (scheme, encoded) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (id, secret) = decoded.split_once(':')?;
    Some((id.parse().ok()?, secret.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of the 2 s in which a revoked token is refused (contract decision 13).
    #[test]
    fn cached_caller_expires_within_1_s() {
        let ttl = Callers::new().known.policy().time_to_live();
        assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
    }

    #[test]
    fn credentials_are_read_from_http_basic_and_nothing_else() {
        let id = "019a492c-41f3-7001-8203-040506070809";
        let header = |scheme: &str, text: &str| format!("{scheme} {}", STANDARD.encode(text)).into_bytes();
        let read = |header: Vec<u8>| credentials(&header).map(|(id, secret)| (id.to_string(), secret));
        let whole = Some((id.to_owned(), "se:cret".to_owned()));
        assert_eq!(read(header("Basic", &format!("{id}:se:cret"))), whole);
        assert_eq!(read(header("bAsIc", &format!("{id}:se:cret"))), whole);
        assert_eq!(read(header("Bearer", &format!("{id}:se:cret"))), None);
        assert_eq!(read(header("Basic", id)), None);
        assert_eq!(read(header("Basic", "me:secret")), None);
        assert_eq!(read(b"Basic !!!".to_vec()), None);
        assert_eq!(read(b"Basic".to_vec()), None);
        assert_eq!(read(vec![0xff, 0xfe]), None);
    }
}
