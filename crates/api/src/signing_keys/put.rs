use axum::extract::State;
use kinora_domain::{PublicKey, SigningKey, SigningKeyId};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use kinora_web::public_key;
use serde_json::Value;

use super::read::PublicKeyView;
use crate::ApiState;
use crate::error;

/// `PUT /iam/signing-keys/{signingKeyId}`: imports the public half of a key that the client made and stores.
/// The client chooses the id.
///
/// 201 when the key is new, 200 when it exists, so the request may be repeated; 409 when another key of the
/// workspace has the id, 400 when the workspace has reached the limit of keys, 422 for a value that is not a
/// public key of a supported kind.
pub(super) async fn put(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<SigningKeyId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PublicKeyView>, ApiError> {
    let public_key = parse(&body)?.to_pem();
    let key = SigningKey { id, workspace: caller.workspace, public_key, created_at: app.clock.now() };
    let is_new = app.service.put_signing_key(&caller, key.clone()).await.map_err(error::from_operation)?;
    let view = PublicKeyView::from(&key);
    Ok(if is_new { Data::created(view, Vec::new()) } else { Data::ok(view) })
}

pub(super) fn parse(body: &Value) -> Result<PublicKey, ApiError> {
    let problems = Problems::default();
    let key = Fields::of_body(body, &problems).and_then(|fields| {
        if !fields.is_present("publicKey") {
            fields.reject("publicKey", "must not be null");
        }
        let key = PublicKey::from_pem(fields.text("publicKey", PublicKey::PEM_BYTES_MAX)?);
        let key = key.map_err(|error| fields.reject("publicKey", error.to_string())).ok()?;
        if let Err(unusable) = public_key::parse_verifying_key(&key) {
            fields.reject("publicKey", unusable.to_string());
        }
        Some(key)
    });
    problems.into_result(key)
}
