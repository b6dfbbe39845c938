use axum::extract::State;
use kinora_domain::{MediaId, TrackId};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::{Data, Done};
use kinora_web::error::ApiError;
use kinora_web::extract::PathIds;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `DELETE /on-demand/{mediaId}/tracks/{trackId}`: takes an added track away; its file is removed after the
/// commit.
///
/// 404 unless the media is in the caller's workspace and has the track, also the second time; 412 when the
/// media is not what `If-Match` names; 400 for a track of the media's own file.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathIds(media, track): PathIds<MediaId, TrackId>,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let (now, here) = (app.clock.now(), app.clone());
    app.store
        .write(async move |tx| {
            let media = tx.media(caller.workspace, media).await?.ok_or_else(error::media_not_found)?;
            if media.added_track(track).is_some() {
                conditions.check(|| Data::ok(MediaView::new(&media, &here.addresses)))?;
            }
            let (media, gone, events) = media.remove_track(track, now).map_err(error::track_refused)?;
            tx.save_tracks(&media, &events).await?;
            tx.let_go_of_track(&media, &gone, now).await?;
            Ok::<_, ApiError>(())
        })
        .await?;
    Ok(Done)
}
