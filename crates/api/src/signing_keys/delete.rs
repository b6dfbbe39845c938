use axum::extract::State;
use kinora_domain::SigningKeyId;
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Success;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use crate::ApiState;
use crate::error;

/// `DELETE /iam/signing-keys/{signingKeyId}`: tokens that the key signed are rejected from this response on.
/// The deletion cannot be undone.
///
/// 404 unless it is in the caller's workspace, also the second time.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<SigningKeyId>,
) -> Result<Success, ApiError> {
    app.service.delete_signing_key(&caller, id).await.map_err(error::from_operation)?;
    Ok(Success)
}
