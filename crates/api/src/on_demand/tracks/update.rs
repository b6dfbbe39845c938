use axum::extract::State;
use kinora_domain::{MediaId, TrackId};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathIds};

use super::request;
use super::view::TrackAnswer;
use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}/tracks/{trackId}`: gives a track another name or language, and with an address
/// another file, which is fetched. What is not sent stays.
///
/// Answers the track, which keeps its id. 404 unless the media is in the caller's workspace and has the
/// track, 412 when the media is not what `If-Match` names, 400 for a track of the media's own file and for a
/// language name that another track has, 422 names each wrong field. The change, its events and its job are
/// one commit; what changes nothing is not told.
pub(super) async fn update(
    State(app): State<ApiState>,
    caller: Writer,
    PathIds(media, track): PathIds<MediaId, TrackId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Data<TrackAnswer>, ApiError> {
    let update = request::parse_update(&body)?;
    let (now, here) = (app.clock.now(), app.clone());
    let random = app.random.clone();
    let answer = app
        .store
        .write(async move |tx| {
            let media = tx.media(caller.workspace, media).await?.ok_or_else(error::media_not_found)?;
            let before = media.added_track(track).cloned();
            if before.is_some() {
                conditions.check(|| Data::ok(MediaView::new(&media, &here.addresses)))?;
            }
            let (media, events) =
                media.update_track(track, update.clone(), now, &*random).map_err(error::track_refused)?;
            let (before, after) = before.zip(media.added_track(track)).expect("it was just changed");
            if let Some(events) = events {
                tx.save_tracks(&media, &events).await?;
                if before.source() != after.source() {
                    tx.let_go_of_track(&media, &before, now).await?;
                    tx.fetch_track(&media, after, now).await?;
                }
            }
            Ok::<_, ApiError>(TrackAnswer::from(after))
        })
        .await?;
    Ok(Data::ok(answer))
}
