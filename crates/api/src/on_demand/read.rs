use axum::extract::State;
use axum::response::Response;
use kinora_domain::MediaId;
use kinora_web::auth::Reader;
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
    caller: Reader,
    PathId(id): PathId<MediaId>,
    conditions: Preconditions,
) -> Result<Response, ApiError> {
    // Taken before the row is read: a commit in between makes the cached response stale, never too new.
    let version = app.store.version().await?;
    if let Some(answer) = app.responses.get(caller.workspace, id, &version) {
        return conditions.answer(answer);
    }
    let media = Box::pin(app.store.media(caller.workspace, id)).await?.ok_or_else(error::media_not_found)?;
    let answer = TaggedResponse::of(&Data::ok(MediaView::new(&media, &app.addresses)));
    app.responses.put(caller.workspace, id, version, answer.clone());
    conditions.answer(answer)
}
