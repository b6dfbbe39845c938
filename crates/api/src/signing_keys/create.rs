use axum::extract::State;
use kinora_domain::{KeyPair, SigningKey};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::idempotency::IdempotentRequest;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ApiState;
use crate::commit::IdempotentCommit;
use crate::error;

/// A new signing key. Only this response has the private key.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CreatedSigningKey")]
pub(super) struct CreatedKey {
    #[schemars(with = "schema::Id")]
    id: String,
    private_key: String,
    #[schemars(with = "schema::Instant")]
    created_at: String,
}

/// `POST /iam/signing-keys`: makes a key. Its private half is in this response and nowhere else, unless the
/// client sent an idempotency key: then it is sealed in the stored response. A body is not read.
///
/// 400 when the workspace has reached the limit of keys, 503 while too many are being made; neither makes a
/// key.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
) -> Result<RenderedResponse, ApiError> {
    app.service.check_signing_key_limit(&caller).await.map_err(error::from_operation)?;
    let KeyPair { public_key, private_key } = app.key_pairs.make().await?;
    let key = app.service.new_signing_key(&caller, public_key);
    let render = move |key: SigningKey| {
        let view = CreatedKey {
            id: key.id.to_string(),
            private_key: private_key.reveal(),
            created_at: key.created_at.to_string(),
        };
        Data::created(view, Vec::new()).into_rendered()
    };
    app.service
        .add_signing_key(&caller, key, IdempotentCommit::new(idempotent_request, &app.idempotency, render))
        .await
}
