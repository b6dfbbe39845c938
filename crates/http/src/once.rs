//! `Idempotency-Key`: a POST that is sent again is answered again and not done again (contract decision 24, decision 0070).
//!
//! [`recognise`] lies before every operation but those that are not supported, of which nothing is read. It answers at once what was answered
//! before, and refuses what cannot be told apart. The operation writes through [`Once::write`], which keeps the answer in the commit of the
//! change: neither is there without the other. It looks there once more, for another process may have answered meanwhile.

mod key;

pub(crate) use key::LEN_MAX as IDEMPOTENCY_KEY_MAX;

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use kinora_store::{KeptAnswer, RequestKey, Tx};
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::around::{Below, answer_of};
use crate::auth::Writer;
use crate::envelope::json;
use crate::error::ApiError;
use crate::extract::read_body;

/// Says that an answer was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// A POST, so far as it is told apart from others.
pub(crate) struct Once(Option<Arc<Asked>>);

/// A request that named itself.
struct Asked {
    key: RequestKey,
    fingerprint: [u8; 32],
    /// Its answer was kept, or found.
    is_kept: AtomicBool,
}

/// A successful answer, as bytes.
#[derive(Clone)]
pub(crate) struct Answer {
    status: StatusCode,
    body: Bytes,
    is_replayed: bool,
}

impl<S: Send + Sync> FromRequestParts<S> for Once {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.extensions.get().cloned()))
    }
}

impl Once {
    /// Commits what `work` does together with the answer it gives; or answers what was answered before, and does nothing.
    ///
    /// `work` may run again, as every closure of a write. A refusal is not kept: it has changed nothing.
    pub(crate) async fn write<F>(self, app: &App, mut work: F) -> Result<Answer, ApiError>
    where
        F: AsyncFnMut(&mut Tx) -> Result<Answer, ApiError> + Send + 'static,
    {
        let Some(asked) = self.0 else { return app.store.write(work).await };
        let (now, own) = (app.clock.now(), Arc::clone(&asked));
        let answer = app
            .store
            .write(async move |tx| {
                if let Some(kept) = tx.kept_answer(own.key, now).await? {
                    return own.replay(kept);
                }
                let answer = work(tx).await?;
                let kept = KeptAnswer {
                    fingerprint: own.fingerprint,
                    status: answer.status.as_u16(),
                    body: answer.body.to_vec(),
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
        Ok(Answer { status, body: kept.body.into(), is_replayed: true })
    }
}

impl Answer {
    /// This status with this body.
    pub(crate) fn new(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self { status, body: body.into(), is_replayed: false }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = json(self.status, self.body);
        if self.is_replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

/// Requests of this process that have a key and are being answered.
#[derive(Default)]
pub(crate) struct UnderWay(Mutex<HashMap<RequestKey, [u8; 32]>>);

/// One of them; it is no more when this is dropped.
struct Place {
    app: App,
    key: RequestKey,
}

impl Place {
    /// 409 while the same request is being answered, 422 while another one of this key is.
    fn take(app: &App, asked: &Asked) -> Result<Self, ApiError> {
        let mut under_way = app.under_way.0.lock().unwrap_or_else(PoisonError::into_inner);
        match under_way.get(&asked.key) {
            Some(fingerprint) if *fingerprint == asked.fingerprint => Err(ApiError::request_under_way()),
            Some(_) => Err(ApiError::idempotency_key_reused()),
            None => {
                under_way.insert(asked.key, asked.fingerprint);
                Ok(Self { app: app.clone(), key: asked.key })
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.app.under_way.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// Looks whether a POST was answered before. Whoever may not write is refused at once, and leaves nothing here: to ask the operation would
/// be to ask the database again, which might know by then what it did not know just now, and what is done would be kept by nobody.
pub(crate) async fn recognise(app: &App, request: Request, mut below: Below) -> Response {
    if request.method() != Method::POST || !request.headers().contains_key(&key::HEADER) {
        return answer_of(request, &mut below).await;
    }
    let (mut parts, body) = request.into_parts();
    let caller = match Writer::from_request_parts(&mut parts, app).await {
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
        key: RequestKey { workspace: caller.workspace, hash: Sha256::digest(key).into() },
        fingerprint: fingerprint(&parts, caller, &body),
        is_kept: AtomicBool::new(false),
    });
    let _place = match Place::take(app, &asked) {
        Ok(place) => place,
        Err(refusal) => return refusal.into_response(),
    };
    match app.store.kept_answer(asked.key, app.clock.now()).await {
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

/// What tells requests apart: method, path, body and token. The path is the same with and without its version.
fn fingerprint(parts: &Parts, caller: Writer, body: &[u8]) -> [u8; 32] {
    let path = parts.uri.path();
    let path = path.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(path);
    let token = caller.token.to_string();
    let mut hash = Sha256::new();
    for part in [parts.method.as_str(), path, parts.uri.query().unwrap_or(""), &token] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.chain_update(body).finalize().into()
}
