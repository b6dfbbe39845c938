use axum::extract::State;
use kinora_domain::{PublicKey, SigningKey, SigningKeyId};
use kinora_web::auth::Writer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use kinora_web::public_key;
use serde_json::Value;

use super::read::PublicKeyView;
use crate::ApiState;
use crate::error;

/// `PUT /iam/signing-keys/{signingKeyId}`: brings in the public half of a key that the client made and keeps.
/// The id is the client's choice.
///
/// 201 when it was not there, 200 when it was, so it may be sent again; 409 when another key of the workspace
/// has the id, 400 when the workspace has as many as it may have, 422 for what is no public key of the kinds
/// that are taken.
pub(super) async fn put(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<SigningKeyId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PublicKeyView>, ApiError> {
    let public_key = parse(&body)?.to_pem();
    let key = SigningKey { id, workspace: caller.workspace, public_key, created_at: app.clock.now() };
    let is_new = app.service.put_signing_key(&caller, key.clone()).await.map_err(error::of_operation)?;
    let view = PublicKeyView::from(&key);
    Ok(if is_new { Data::created(view, Vec::new()) } else { Data::ok(view) })
}

pub(super) fn parse(body: &Value) -> Result<PublicKey, ApiError> {
    let problems = Problems::default();
    let key = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.has("publicKey") {
            fields.refuse("publicKey", "must not be null");
        }
        let key = PublicKey::from_pem(fields.text("publicKey", PublicKey::PEM_BYTES_MAX)?);
        let key = key.map_err(|bad| fields.refuse("publicKey", bad.to_string())).ok()?;
        if let Err(unusable) = public_key::usable(&key) {
            fields.refuse("publicKey", unusable.to_string());
        }
        Some(key)
    });
    problems.into_result(key)
}
