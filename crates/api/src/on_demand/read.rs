use axum::extract::State;
use axum::response::Response;
use kinora_domain::MediaId;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::preconditions::{Preconditions, TaggedResponse};

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `GET /on-demand/{mediaId}`: one media; 404 unless it is in the caller's workspace.
pub(crate) async fn read(
    State(app): State<ApiState>,
    caller: ReadCaller,
    PathId(id): PathId<MediaId>,
    conditions: Preconditions,
) -> Result<Response, ApiError> {
    // The version is read before the row: a commit in between makes the cached response stale, never too new.
    let version = app.store.version().await?;
    if let Some(response) = app.response_cache.get(caller.workspace, id, &version) {
        return conditions.respond(response);
    }
    let media = Box::pin(app.store.media(caller.workspace, id)).await?.ok_or_else(error::media_not_found)?;
    let answer = TaggedResponse::of(&Data::ok(MediaView::new(&media, &app.base_urls)));
    app.response_cache.put(caller.workspace, id, version, answer.clone());
    conditions.respond(answer)
}
