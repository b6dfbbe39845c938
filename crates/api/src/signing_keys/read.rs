use axum::extract::State;
use kinora_domain::{SigningKey, SigningKeyId};
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ApiState;
use crate::error;

/// The public key of a signing key.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SigningKey")]
pub(super) struct PublicKeyView {
    #[schemars(with = "schema::Id")]
    workspace_id: String,
    #[schemars(with = "schema::Id")]
    signing_key_id: String,
    public_key: String,
}

/// `GET /iam/signing-keys/{signingKeyId}`: the public half of one key; 404 unless it is in the caller's
/// workspace.
pub(super) async fn read(
    State(app): State<ApiState>,
    caller: ReadCaller,
    PathId(id): PathId<SigningKeyId>,
) -> Result<Data<PublicKeyView>, ApiError> {
    let key = app.store.signing_key(caller.workspace, id).await?;
    let key = key.ok_or_else(error::signing_key_not_found)?;
    Ok(Data::ok(PublicKeyView::from(&key)))
}

impl From<&SigningKey> for PublicKeyView {
    fn from(key: &SigningKey) -> Self {
        Self {
            workspace_id: key.workspace.to_string(),
            signing_key_id: key.id.to_string(),
            public_key: key.public_key.clone(),
        }
    }
}
