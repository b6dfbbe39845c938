//! `Idempotency-Key`: a POST with a key runs once, and a retry gets the stored response (C-24, D-0070).
//!
//! [`check_idempotency_key`] runs before every operation except unsupported ones, for which nothing is read.
//! It returns a stored response at once. It rejects a key that is in use, or that another request used. The
//! operation writes through [`IdempotentRequest::write`], which stores the response in the transaction of
//! the change: both are committed, or neither. It checks for a stored response again, because another
//! process may have responded meanwhile.

mod key;

pub use key::LEN_MAX as IDEMPOTENCY_KEY_MAX;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts as RequestParts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use kinora_domain::Clock;
use kinora_service::{Caller, Principal};
use kinora_store::{IdempotencyKey, Store, StoredResponse, Tx};
use sha2::{Digest as _, Sha256};

use crate::auth::Authenticator;
use crate::envelope::RenderedResponse;
use crate::error::ApiError;
use crate::extract::read_body;
use crate::middleware::{Next, next_response};
use crate::routes::Mount;

/// The idempotency key and fingerprint of a POST, if it has a key.
pub struct IdempotentRequest(Option<Arc<KeyedRequest>>);

/// A request with an idempotency key.
struct KeyedRequest {
    key: IdempotencyKey,
    fingerprint: [u8; 32],
    /// Its response was stored, or found in the store.
    is_stored: AtomicBool,
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotentRequest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut RequestParts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

impl IdempotentRequest {
    /// Commits the changes of `work` together with its response; or returns the stored response and changes
    /// nothing.
    ///
    /// `work` may run again, like every closure of a write. An error is not stored: it has changed nothing.
    pub async fn write<F>(self, idempotency: &Idempotency, mut work: F) -> Result<RenderedResponse, ApiError>
    where
        F: AsyncFnMut(&mut Tx) -> Result<RenderedResponse, ApiError> + Send + 'static,
    {
        let IdempotencyState { store, clock, .. } = &*idempotency.0;
        let Some(keyed) = self.0 else { return store.write(work).await };
        let (now, keyed_request) = (clock.now(), Arc::clone(&keyed));
        let response = store
            .write(async move |tx| {
                if let Some(stored) = tx.stored_response(keyed_request.key, now).await? {
                    return keyed_request.replay(stored);
                }
                let answer = work(tx).await?;
                let new_stored = StoredResponse {
                    fingerprint: keyed_request.fingerprint,
                    status: answer.status().as_u16(),
                    body: answer.body().to_vec(),
                };
                if tx.store_response(keyed_request.key, &new_stored, now).await? {
                    Ok(answer)
                } else {
                    Err(ApiError::too_many_stored_responses())
                }
            })
            .await?;
        keyed.is_stored.store(true, Ordering::Relaxed);
        Ok(response)
    }
}

impl KeyedRequest {
    /// The stored response, if the request is the same; else 422.
    fn replay(&self, stored: StoredResponse) -> Result<RenderedResponse, ApiError> {
        if stored.fingerprint != self.fingerprint {
            return Err(ApiError::idempotency_key_reused());
        }
        let status = StatusCode::from_u16(stored.status).map_err(|error| ApiError::internal(&error))?;
        Ok(RenderedResponse::replayed(status, stored.body))
    }
}

/// Stores responses by their idempotency key, and tracks the requests in progress. Cheap to clone.
#[derive(Clone)]
pub struct Idempotency(Arc<IdempotencyState>);

struct IdempotencyState {
    store: Store,
    clock: Arc<dyn Clock>,
    authenticator: Authenticator,
    /// Requests of this process with a key that are in progress, with their fingerprints.
    running: Mutex<HashMap<IdempotencyKey, [u8; 32]>>,
}

impl Idempotency {
    /// Uses the responses in this store.
    pub fn new(store: Store, clock: Arc<dyn Clock>, authenticator: Authenticator) -> Self {
        Self(Arc::new(IdempotencyState { store, clock, authenticator, running: Mutex::default() }))
    }
}

/// An entry of `running`, which the drop removes.
struct RunningRequest {
    idempotency: Idempotency,
    key: IdempotencyKey,
}

impl RunningRequest {
    /// 409 while an identical request is in progress, 422 while another one uses this key.
    fn start(idempotency: &Idempotency, keyed: &KeyedRequest) -> Result<Self, ApiError> {
        let mut running = idempotency.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get(&keyed.key) {
            Some(fingerprint) if *fingerprint == keyed.fingerprint => Err(ApiError::request_in_progress()),
            Some(_) => Err(ApiError::idempotency_key_reused()),
            None => {
                running.insert(keyed.key, keyed.fingerprint);
                Ok(Self { idempotency: idempotency.clone(), key: keyed.key })
            }
        }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.idempotency.0.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// Returns the stored response of a POST that was sent before.
///
/// A caller without write access is rejected here, and its request does not reach the operation. The
/// operation would read the token again: if the result differed, its response would not be stored.
pub async fn check_idempotency_key(
    idempotency: &Idempotency,
    mount: &Mount,
    request: Request,
    mut next: Next,
) -> Response {
    if request.method() != Method::POST || !request.headers().contains_key(&key::HEADER) {
        return next_response(request, &mut next).await;
    }
    let (mut parts, body) = request.into_parts();
    let caller = match idempotency.0.authenticator.authenticate_write_caller(&parts).await {
        Ok(caller) => caller,
        Err(rejection) => return rejection.into_response(),
    };
    let parsed = async {
        let key = key::parse(&parts.headers)?;
        let body = Bytes::from(read_body(body).await?);
        Ok::<_, ApiError>((key, body))
    };
    let (key, body) = match parsed.await {
        Ok(key_and_body) => key_and_body,
        Err(refusal) => return refusal.into_response(),
    };
    let keyed = Arc::new(KeyedRequest {
        key: request_key(&caller, &key),
        fingerprint: fingerprint(mount, &parts, caller.principal, &body),
        is_stored: AtomicBool::new(false),
    });
    let _running = match RunningRequest::start(idempotency, &keyed) {
        Ok(running) => running,
        Err(refusal) => return refusal.into_response(),
    };
    match idempotency.0.store.stored_response(keyed.key, idempotency.0.clock.now()).await {
        Ok(Some(stored)) => return keyed.replay(stored).into_response(),
        Ok(None) => {}
        Err(error) => return ApiError::from(error).into_response(),
    }
    parts.extensions.insert(Arc::clone(&keyed));
    let response = next_response(Request::from_parts(parts, body.into()), &mut next).await;
    let is_unstored = response.status().is_success() && !keyed.is_stored.load(Ordering::Relaxed);
    debug_assert!(!is_unstored, "a POST answers without keeping its answer");
    if is_unstored {
        tracing::error!("the response to a request with an idempotency key was not stored");
    }
    response
}

/// The scope of a key. The access tokens of a workspace share their keys, so that a client notices a key
/// that is used twice. Every other principal has keys of its own.
///
/// Rows are looked up by it, so the hash for an access token never changes.
fn request_key(caller: &Caller, key: &str) -> IdempotencyKey {
    let hash = match caller.principal {
        Principal::AccessToken(_) => Sha256::digest(key),
        // A key contains no NUL, so no key of a token is the same text.
        principal @ (Principal::CommandLine | Principal::Person(_)) => {
            Sha256::digest(format!("{principal}\0{key}"))
        }
    };
    IdempotencyKey { workspace: caller.workspace, hash: hash.into() }
}

/// The fingerprint of a request: method, path, body and principal. The path is the same at every mount, as
/// with and without `/v1`.
fn fingerprint(mount: &Mount, parts: &RequestParts, principal: Principal, body: &[u8]) -> [u8; 32] {
    let (path, principal) = (mount.path_below_prefix(parts.uri.path()), principal.to_string());
    let mut hash = Sha256::new();
    for part in [parts.method.as_str(), path, parts.uri.query().unwrap_or(""), &principal] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.chain_update(body).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal() -> Principal {
        Principal::AccessToken("019a492c-41f3-7001-8203-040506070809".parse().expect("an id"))
    }

    fn caller(principal: Principal) -> Caller {
        let workspace = "019a492c-41f3-7001-8203-040506070800".parse().expect("an id");
        Caller { workspace, principal, address: None }
    }

    fn fingerprint_of(prefix: &str, sent: &str, principal: Principal) -> [u8; 32] {
        let request = Request::post(sent).body(axum::body::Body::empty()).expect("a request");
        fingerprint(&Mount::at(prefix), &request.into_parts().0, principal, b"{}")
    }

    /// Rows of earlier versions are looked up and compared by these bytes.
    #[test]
    fn stored_keys_of_access_tokens_remain_valid() {
        assert_eq!(request_key(&caller(principal()), "a").hash, <[u8; 32]>::from(Sha256::digest("a")));
        let mut before = Sha256::new();
        for part in ["POST", "/on-demand/7", "q=1", "019a492c-41f3-7001-8203-040506070809"] {
            before.update((part.len() as u64).to_be_bytes());
            before.update(part);
        }
        let before: [u8; 32] = before.chain_update(b"{}").finalize().into();
        for (prefix, sent) in [("", "/on-demand/7?q=1"), ("/v1", "/v1/on-demand/7?q=1")] {
            assert_eq!(fingerprint_of(prefix, sent, principal()), before, "{sent}");
        }
    }

    #[test]
    fn fingerprint_depends_on_the_principal_and_not_on_the_mount() {
        let at_v1 = fingerprint_of("/v1", "/v1/on-demand/7", principal());
        assert_eq!(fingerprint_of("/x/{id}", "/x/on-demand/on-demand/7", principal()), at_v1);
        assert_ne!(fingerprint_of("/v1", "/v1/on-demand/8", principal()), at_v1);
        assert_ne!(fingerprint_of("/v1", "/v1/on-demand/7", Principal::CommandLine), at_v1);
    }

    #[test]
    fn idempotency_keys_are_separate_per_principal() {
        let of_token = request_key(&caller(principal()), "a");
        assert_ne!(request_key(&caller(Principal::CommandLine), "a"), of_token);
        assert_ne!(
            request_key(&caller(Principal::CommandLine), "a"),
            request_key(&caller(Principal::CommandLine), "b")
        );
        let person = |last| {
            let id = format!("019a492c-41f3-7001-8203-04050607080{last}").parse().expect("an id");
            request_key(&caller(Principal::Person(id)), "a")
        };
        assert_ne!(person(1), person(2));
        assert_ne!(person(1), of_token);
    }
}
