use axum::extract::State;
use kinora_domain::Upload;
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::idempotency::IdempotentRequest;
use serde_json::Value;

use super::request;
use super::view::UploadView;
use crate::ApiState;
use crate::commit::IdempotentCommit;

/// `POST /on-demand/upload`: registers a direct upload, and responds with the address that accepts its
/// bytes.
///
/// 201 with the signed address. 422 names each wrong field, including those of the media's settings. The
/// upload, its event and its maintenance job are one commit.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    register(&app, caller, idempotent_request, &body, None).await
}

/// `size_max`, in bytes, is the size limit of the file; `None`: no limit.
pub(super) async fn register(
    app: &ApiState,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    body: &Value,
    size_max: Option<u64>,
) -> Result<RenderedResponse, ApiError> {
    let (new, warnings) = request::parse(body, caller.workspace, size_max)?;
    let state = app.clone();
    let render = move |upload: Upload| {
        Data::created(UploadView::new(&upload, &state), warnings.clone()).into_rendered()
    };
    app.service
        .create_upload(&caller, new, IdempotentCommit::new(idempotent_request, &app.idempotency, render))
        .await
}
