use axum::extract::State;
use kinora_domain::{KeyPair, SigningKey};
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::once::Once;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ApiState;
use crate::commit::Respond;
use crate::error;

/// The one answer that holds a private key.
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

/// `POST /iam/signing-keys`: makes a key; its private half is in this answer and nowhere else, unless the
/// client named its request: then it is kept sealed, to be answered again. A body is not read.
///
/// 400 when the workspace has as many as it may have, 503 while too many are being made; neither has made
/// one.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
) -> Result<Answer, ApiError> {
    app.service.check_signing_key_limit(&caller).await.map_err(error::of_operation)?;
    let KeyPair { public_key, private_key } = app.key_pairs.make().await?;
    let key = app.service.new_signing_key(&caller, public_key);
    let created = move |key: SigningKey| {
        let answer = CreatedKey {
            id: key.id.to_string(),
            private_key: private_key.reveal(),
            created_at: key.created_at.to_string(),
        };
        Data::created(answer, Vec::new()).into_answer()
    };
    app.service.add_signing_key(&caller, key, Respond::with(once, &app.idempotency, created)).await
}
