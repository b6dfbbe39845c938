use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use kinora_domain::MediaId;

use crate::api::view::MediaView;
use crate::app::App;
use crate::auth::Reader;
use crate::envelope::{Data, json};
use crate::error::ApiError;
use crate::extract::PathId;

/// `GET /on-demand/{mediaId}`: one media; 404 unless it is in the caller's workspace.
pub(crate) async fn read(
    State(app): State<App>,
    caller: Reader,
    PathId(id): PathId<MediaId>,
) -> Result<Response, ApiError> {
    // Taken before the row is read: a commit in between makes this answer old at once, never new.
    let version = app.store.version().await?;
    if let Some(answer) = app.answers.get(caller.workspace, id, &version) {
        return Ok(json(StatusCode::OK, answer));
    }
    let media = app.store.media(caller.workspace, id).await?.ok_or_else(ApiError::media_not_found)?;
    let answer = Bytes::from(Data::ok(MediaView::new(&media, &app.addresses)).to_json());
    app.answers.put(caller.workspace, id, version, answer.clone());
    Ok(json(StatusCode::OK, answer))
}
