use axum::extract::State;
use kinora_domain::{SigningKey, SigningKeyId, WorkspaceId};
use kinora_store::Tx;
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::once::Once;
use kinora_web::openapi::schema;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ApiState;
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

/// `POST /iam/signing-keys`: makes a key; its private half is in this answer and nowhere else, unless the client named its request: then it is kept sealed, to be
/// answered again. A body is not read.
///
/// 400 when the workspace has as many as it may have, 503 while too many are being made; neither has made one.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
) -> Result<Answer, ApiError> {
    let workspace = caller.workspace;
    // Asked before the work is done, and again in the commit: others make keys meanwhile.
    check_count(app.store.signing_key_count(workspace).await?)?;
    let pair = app.key_pairs.make().await?;
    let key = new_key(&app, workspace, pair.public_key);
    let answer = CreatedKey {
        id: key.id.to_string(),
        private_key: pair.private_key.reveal(),
        created_at: key.created_at.to_string(),
    };
    let answer = Data::created(answer, Vec::new()).into_answer();
    let work = async move |tx: &mut Tx| {
        check_count(tx.signing_key_count(workspace).await?)?;
        tx.insert_signing_key(&key).await?;
        Ok(answer.clone())
    };
    once.write(&app.idempotency, work).await
}

fn new_key(app: &ApiState, workspace: WorkspaceId, public_key: String) -> SigningKey {
    let now = app.clock.now();
    SigningKey { id: SigningKeyId::new(now, &*app.random), workspace, public_key, created_at: now }
}

/// Whether one more may be added to so many.
pub(super) fn check_count(count: u64) -> Result<(), ApiError> {
    if count < SigningKey::PER_WORKSPACE_MAX {
        Ok(())
    } else {
        Err(error::too_many_signing_keys(SigningKey::PER_WORKSPACE_MAX))
    }
}
