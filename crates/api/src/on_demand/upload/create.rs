use axum::extract::State;
use kinora_domain::Upload;
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::once::Once;
use serde_json::Value;

use super::request;
use super::view::UploadView;
use crate::ApiState;
use crate::commit::Respond;

/// `POST /on-demand/upload`: registers a direct upload and answers the address that takes its bytes.
///
/// 201 with the signed address. 422 names each wrong field, those of the media's settings too. The upload,
/// its event and the job that looks after it are one commit.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    register(&app, caller, once, &body, None).await
}

/// `POST /on-demand/uploads`: the same for a file of at most 500 MB.
pub(super) async fn create_limited(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    register(&app, caller, once, &body, Some(Upload::DEPRECATED_SIZE_MAX)).await
}

async fn register(
    app: &ApiState,
    caller: Writer,
    once: Once,
    body: &Value,
    size_max: Option<u64>,
) -> Result<Answer, ApiError> {
    let (new, warnings) = request::parse(body, caller.workspace, size_max)?;
    let here = app.clone();
    let created =
        move |upload: Upload| Data::created(UploadView::new(&upload, &here), warnings.clone()).into_answer();
    app.service.create_upload(&caller, new, Respond::with(once, &app.idempotency, created)).await
}
