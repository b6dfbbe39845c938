//! Authentication of callers: access tokens by HTTP Basic, or the result of a layer in front
//! (C-103).
//!
//! Begin with [`Access`].

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts as RequestParts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_domain::{AccessTokenId, Clock, Permission, SecretHash, Timestamp, WorkspaceId};
use kinora_service::{Caller, Principal};
use kinora_store::Store;
use sha2::{Digest as _, Sha256};

use crate::error::ApiError;
use crate::serve::ClientAddress;

/// A caller with a valid access token; may read.
#[derive(Debug, Clone, Copy)]
pub struct ReadCaller {
    /// The workspace of the caller. Other workspaces are not visible to it.
    pub workspace: WorkspaceId,
    /// Whether the token may write, and so read values that let others write (C-39).
    pub may_write: bool,
    /// Whether the addresses of sources are shown with their query: not to viewers of the dashboard (D-0164).
    pub sees_whole_sources: bool,
}

/// A caller that may write, for example with a read-write token.
#[derive(Debug, Clone, Copy)]
pub struct WriteCaller(Caller);

impl Deref for WriteCaller {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.0
    }
}

/// A caller and its permission.
///
/// The extractors read it from the `Authorization` header of a request. A layer in front of the routes may
/// authenticate in another way and insert it into the extensions of the request. The header is then not
/// read.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// The principal and its workspace.
    pub caller: Caller,
    /// Its permission in that workspace.
    pub permission: Permission,
}

impl<S: Send + Sync> FromRequestParts<S> for ReadCaller
where
    Authenticator: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut RequestParts, state: &S) -> Result<Self, ApiError> {
        let access = Authenticator::from_ref(state).authenticate(parts).await?;
        let may_write = access.permission == Permission::ReadWrite;
        let is_person = matches!(access.caller.principal, Principal::Person(_));
        Ok(Self {
            workspace: access.caller.workspace,
            may_write,
            sees_whole_sources: may_write || !is_person,
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WriteCaller
where
    Authenticator: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut RequestParts, state: &S) -> Result<Self, ApiError> {
        Authenticator::from_ref(state).authenticate_write_caller(parts).await
    }
}

/// Checks access tokens. Cheap to clone.
#[derive(Clone)]
pub struct Authenticator(Arc<AuthenticatorState>);

struct AuthenticatorState {
    store: Store,
    clock: Arc<dyn Clock>,
    /// Callers of the last second. Rejected credentials are not cached (C-44).
    callers: moka::sync::Cache<[u8; 32], Access>,
    last_used_at: Mutex<HashMap<AccessTokenId, Timestamp>>,
}

impl Authenticator {
    /// A revoked token is rejected within 2 s; half of that is left for everything else.
    const TIME_TO_LIVE: Duration = Duration::from_secs(1);
    /// About 100 bytes each.
    const CALLERS_MAX: u64 = 10_000;
    /// An id has 36 characters, a secret 43; longer credentials cannot be valid.
    const CREDENTIALS_BYTES_MAX: usize = 256;

    /// Authenticates against the access tokens in this store.
    pub fn new(store: Store, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(AuthenticatorState {
            store,
            clock,
            callers: caller_cache(),
            last_used_at: Mutex::default(),
        }))
    }

    /// Stores when access tokens were used since the last call. May run at any time. After a crash the
    /// dates may be older.
    pub async fn write_uses(&self) -> Result<(), kinora_store::Error> {
        let last_used_at =
            std::mem::take(&mut *self.0.last_used_at.lock().expect("nothing panics while holding it"));
        let uses: Vec<_> = last_used_at.into_iter().collect();
        if uses.is_empty() {
            return Ok(());
        }
        self.0.store.write(async move |tx| tx.save_token_uses(&uses).await).await
    }

    /// Authenticates in middleware, so that the inner extractors need no second look-up. 401 as they return
    /// it.
    pub(crate) async fn identify(&self, parts: &mut RequestParts) -> Result<Principal, ApiError> {
        let access = self.authenticate(parts).await?;
        parts.extensions.insert(access);
        Ok(access.caller.principal)
    }

    /// A caller who may write; 401 and 403 otherwise.
    pub(crate) async fn authenticate_write_caller(
        &self,
        parts: &RequestParts,
    ) -> Result<WriteCaller, ApiError> {
        let access = self.authenticate(parts).await?;
        match access.permission {
            Permission::ReadWrite => Ok(WriteCaller(access.caller)),
            Permission::ReadOnly => Err(match access.caller.principal {
                Principal::Person(_) => ApiError::viewer_reads_only(),
                Principal::AccessToken(_) | Principal::CommandLine => ApiError::read_only(),
            }),
        }
    }

    async fn authenticate(&self, parts: &RequestParts) -> Result<Access, ApiError> {
        if let Some(access) = parts.extensions.get() {
            return Ok(*access);
        }
        let header = parts.headers.get(AUTHORIZATION).ok_or_else(ApiError::unauthorized)?.as_bytes();
        if header.len() > Self::CREDENTIALS_BYTES_MAX {
            return Err(ApiError::unauthorized());
        }
        let AuthenticatorState { store, clock, callers, last_used_at } = &*self.0;
        // A hash of the whole header, so that the cache contains no secret.
        let fingerprint: [u8; 32] = Sha256::digest(header).into();
        let from_here = |access: Access| {
            let address = parts.extensions.get().and_then(|ClientAddress(address)| *address);
            Access { caller: Caller { address, ..access.caller }, ..access }
        };
        if let Some(access) = callers.get(&fingerprint) {
            return Ok(from_here(access));
        }
        let (id, secret) = credentials(header).ok_or_else(ApiError::unauthorized)?;
        let token = Box::pin(store.access_token(id)).await?.ok_or_else(ApiError::unauthorized)?;
        if token.revoked_at.is_some() || !token.secret.matches(&SecretHash::of(&secret)) {
            return Err(ApiError::unauthorized());
        }
        let principal = Principal::AccessToken(id);
        // Cached without the address: a token may have several clients.
        let caller = Caller { workspace: token.workspace, principal, address: None };
        let access = Access { caller, permission: token.permission };
        callers.insert(fingerprint, access);
        last_used_at.lock().expect("nothing panics while holding it").insert(id, clock.now());
        Ok(from_here(access))
    }
}

fn caller_cache() -> moka::sync::Cache<[u8; 32], Access> {
    moka::sync::Cache::builder()
        .max_capacity(Authenticator::CALLERS_MAX)
        .time_to_live(Authenticator::TIME_TO_LIVE)
        .build()
}

/// The id and the secret of an `Authorization` value (RFC 7617: the scheme in any case, one colon ends the
/// user name).
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

    /// Half of the 2 s in which a revoked token is rejected (C-103).
    #[test]
    fn cached_caller_expires_within_1_s() {
        let ttl = caller_cache().policy().time_to_live();
        assert!(ttl.is_some_and(|ttl| ttl <= Duration::from_secs(1)), "{ttl:?}");
    }

    #[test]
    fn credentials_are_parsed_only_from_http_basic() {
        let id = "019a492c-41f3-7001-8203-040506070809";
        let header = |scheme: &str, text: &str| format!("{scheme} {}", STANDARD.encode(text)).into_bytes();
        let read = |header: Vec<u8>| credentials(&header).map(|(id, secret)| (id.to_string(), secret));
        let expected = Some((id.to_owned(), "se:cret".to_owned()));
        assert_eq!(read(header("Basic", &format!("{id}:se:cret"))), expected);
        assert_eq!(read(header("bAsIc", &format!("{id}:se:cret"))), expected);
        assert_eq!(read(header("Bearer", &format!("{id}:se:cret"))), None);
        assert_eq!(read(header("Basic", id)), None);
        assert_eq!(read(header("Basic", "me:secret")), None);
        assert_eq!(read(b"Basic !!!".to_vec()), None);
        assert_eq!(read(b"Basic".to_vec()), None);
        assert_eq!(read(vec![0xff, 0xfe]), None);
    }
}
