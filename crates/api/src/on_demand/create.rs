use axum::extract::State;
use kinora_domain::Media;
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::idempotency::IdempotentRequest;

use super::create_request;
use crate::ApiState;
use crate::commit::IdempotentCommit;
use crate::view::CreatedMedia;

/// `POST /on-demand`: registers a media and begins to fetch it.
///
/// 201 with the playback ID, which is usable at once. 422 names each wrong field. The media, its event and
/// its job are one commit.
pub(crate) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    let (new, warnings) = create_request::parse(&body, caller.workspace)?;
    let render =
        move |media: Media| Data::created(CreatedMedia::from(&media), warnings.clone()).into_rendered();
    app.service
        .create_media(&caller, new, IdempotentCommit::new(idempotent_request, &app.idempotency, render))
        .await
}
