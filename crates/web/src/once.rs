//! `Idempotency-Key`: a POST that is sent again is answered again and not done again
//! (C-24, D-0070).
//!
//! [`recognise`] lies before every operation but those that are not supported, of which nothing is read. It
//! answers at once what was answered before, and refuses what cannot be told apart. The operation writes
//! through [`Once::write`], which keeps the answer in the commit of the change: neither is there without the
//! other. It looks there once more, for another process may have answered meanwhile.

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
use kinora_store::{KeptAnswer, RequestKey, Store, Tx};
use sha2::{Digest as _, Sha256};

use crate::around::{Below, answer_of};
use crate::auth::Authenticator;
use crate::envelope::Answer;
use crate::error::ApiError;
use crate::extract::read_body;
use crate::routes::Mount;

/// A POST, so far as it is told apart from others.
pub struct Once(Option<Arc<Asked>>);

/// A request that named itself.
struct Asked {
    key: RequestKey,
    fingerprint: [u8; 32],
    /// Its answer was kept, or found.
    is_kept: AtomicBool,
}

impl<S: Send + Sync> FromRequestParts<S> for Once {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut RequestParts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

impl Once {
    /// Commits what `work` does together with the answer it gives; or answers what was answered before, and
    /// does nothing.
    ///
    /// `work` may run again, as every closure of a write. A refusal is not kept: it has changed nothing.
    pub async fn write<F>(self, idempotency: &Idempotency, mut work: F) -> Result<Answer, ApiError>
    where
        F: AsyncFnMut(&mut Tx) -> Result<Answer, ApiError> + Send + 'static,
    {
        let Parts { store, clock, .. } = &*idempotency.0;
        let Some(asked) = self.0 else { return store.write(work).await };
        let (now, own) = (clock.now(), Arc::clone(&asked));
        let answer = store
            .write(async move |tx| {
                if let Some(kept) = tx.kept_answer(own.key, now).await? {
                    return own.replay(kept);
                }
                let answer = work(tx).await?;
                let kept = KeptAnswer {
                    fingerprint: own.fingerprint,
                    status: answer.status().as_u16(),
                    body: answer.body().to_vec(),
                };
                if tx.keep_answer(own.key, &kept, now).await? {
                    Ok(answer)
                } else {
                    Err(ApiError::too_many_kept_answers())
                }
            })
            .await?;
        asked.is_kept.store(true, Ordering::Relaxed);
        Ok(answer)
    }
}

impl Asked {
    /// What was answered before, if this is what was asked then.
    fn replay(&self, kept: KeptAnswer) -> Result<Answer, ApiError> {
        if kept.fingerprint != self.fingerprint {
            return Err(ApiError::idempotency_key_reused());
        }
        let status = StatusCode::from_u16(kept.status).map_err(|error| ApiError::internal(&error))?;
        Ok(Answer::replayed(status, kept.body))
    }
}

/// Stores responses by their idempotency key, and knows the requests that run. Cheap to clone.
#[derive(Clone)]
pub struct Idempotency(Arc<Parts>);

struct Parts {
    store: Store,
    clock: Arc<dyn Clock>,
    authenticator: Authenticator,
    /// Requests of this process with a key that are being answered, with their fingerprints.
    running: Mutex<HashMap<RequestKey, [u8; 32]>>,
}

impl Idempotency {
    /// Of the responses in this store.
    pub fn new(store: Store, clock: Arc<dyn Clock>, authenticator: Authenticator) -> Self {
        Self(Arc::new(Parts { store, clock, authenticator, running: Mutex::default() }))
    }
}

/// One of them; it is no more when this is dropped.
struct Place {
    idempotency: Idempotency,
    key: RequestKey,
}

impl Place {
    /// 409 while the same request is being answered, 422 while another one of this key is.
    fn take(idempotency: &Idempotency, asked: &Asked) -> Result<Self, ApiError> {
        let mut running = idempotency.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        match running.get(&asked.key) {
            Some(fingerprint) if *fingerprint == asked.fingerprint => Err(ApiError::request_under_way()),
            Some(_) => Err(ApiError::idempotency_key_reused()),
            None => {
                running.insert(asked.key, asked.fingerprint);
                Ok(Self { idempotency: idempotency.clone(), key: asked.key })
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.idempotency.0.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// Looks whether a POST was answered before. Whoever may not write is refused at once, and leaves nothing
/// here: to ask the operation would be to ask the database again, which might know by then what it did not
/// know just now, and what is done would be kept by nobody.
pub async fn recognise(
    idempotency: &Idempotency,
    mount: &Mount,
    request: Request,
    mut below: Below,
) -> Response {
    if request.method() != Method::POST || !request.headers().contains_key(&key::HEADER) {
        return answer_of(request, &mut below).await;
    }
    let (mut parts, body) = request.into_parts();
    let caller = match idempotency.0.authenticator.writer(&parts).await {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_response(),
    };
    let told = async {
        let key = key::read(&parts.headers)?;
        let body = Bytes::from(read_body(body).await?);
        Ok::<_, ApiError>((key, body))
    };
    let (key, body) = match told.await {
        Ok(told) => told,
        Err(refusal) => return refusal.into_response(),
    };
    let asked = Arc::new(Asked {
        key: request_key(&caller, &key),
        fingerprint: fingerprint(mount, &parts, caller.principal, &body),
        is_kept: AtomicBool::new(false),
    });
    let _place = match Place::take(idempotency, &asked) {
        Ok(place) => place,
        Err(refusal) => return refusal.into_response(),
    };
    match idempotency.0.store.kept_answer(asked.key, idempotency.0.clock.now()).await {
        Ok(Some(kept)) => return asked.replay(kept).into_response(),
        Ok(None) => {}
        Err(error) => return ApiError::from(error).into_response(),
    }
    parts.extensions.insert(Arc::clone(&asked));
    let response = answer_of(Request::from_parts(parts, body.into()), &mut below).await;
    let is_forgotten = response.status().is_success() && !asked.is_kept.load(Ordering::Relaxed);
    debug_assert!(!is_forgotten, "a POST answers without keeping its answer");
    if is_forgotten {
        tracing::error!("a request with an idempotency key was answered, and the answer was not kept");
    }
    response
}

/// Whose key it is. The access tokens of a workspace share their keys, so that a client notices one that is
/// used twice; every other principal has keys of its own.
///
/// Rows are found by it: what it is for an access token never changes.
fn request_key(caller: &Caller, key: &str) -> RequestKey {
    let hash = match caller.principal {
        Principal::AccessToken(_) => Sha256::digest(key),
        // No key has a NUL in it: no key of a token is the same text.
        principal @ Principal::CommandLine => Sha256::digest(format!("{principal}\0{key}")),
    };
    RequestKey { workspace: caller.workspace, hash: hash.into() }
}

/// What tells requests apart: method, path, body and principal. The path is the same at every mount, as with
/// and without `/v1`.
fn fingerprint(mount: &Mount, parts: &RequestParts, principal: Principal, body: &[u8]) -> [u8; 32] {
    let (path, principal) = (mount.path(parts.uri.path()), principal.to_string());
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
        Caller { workspace: "019a492c-41f3-7001-8203-040506070800".parse().expect("an id"), principal }
    }

    fn fingerprint_of(prefix: &str, sent: &str, principal: Principal) -> [u8; 32] {
        let request = Request::post(sent).body(axum::body::Body::empty()).expect("a request");
        fingerprint(&Mount::at(prefix), &request.into_parts().0, principal, b"{}")
    }

    /// Rows of earlier versions are found and compared by these bytes.
    #[test]
    fn stored_keys_of_access_tokens_stay_valid() {
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
    fn principals_beside_access_tokens_have_keys_of_their_own() {
        let of_token = request_key(&caller(principal()), "a");
        assert_ne!(request_key(&caller(Principal::CommandLine), "a"), of_token);
        assert_ne!(
            request_key(&caller(Principal::CommandLine), "a"),
            request_key(&caller(Principal::CommandLine), "b")
        );
    }
}
