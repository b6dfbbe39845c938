//! The media of a manual playlist: appended, put in order, taken out. Each answers the playlist as `GET` does.

use std::collections::HashMap;

use axum::extract::State;
use kinora_domain::{Media, MediaId, Playlist, PlaylistId, PlaylistProblem, Timestamp};

use super::media_request::{MEDIA_IDS, media_ids};
use super::view::PlaylistView;
use crate::app::App;
use crate::auth::Writer;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::{JsonBody, PathId};
use crate::fields::Problems;

/// `PATCH /on-demand/playlists/{playlistId}/media`: appends media in the order of the request. One that is in it already stays where
/// it is, so a request that is repeated changes nothing.
///
/// 404 unless the playlist is in the caller's workspace; 422 names each media that is not there or not ready.
pub(super) async fn append(
    State(app): State<App>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PlaylistView>, ApiError> {
    let media = media_ids(&body, 1)?;
    let now = app.clock.now();
    let changed = app
        .store
        .write(async move |tx| {
            let before = tx.playlist(caller.workspace, id).await?.ok_or_else(ApiError::playlist_not_found)?;
            let after = before.clone().append(&media, now).map_err(refused)?;
            check_ready(&media, &tx.media_states(caller.workspace, &media).await?)?;
            tx.save_playlist(&before, &after).await?;
            let media = tx.playlist_media(&after).await?;
            Ok::<_, ApiError>((after, media))
        })
        .await?;
    Ok(answer(&app, &changed))
}

/// `PUT /on-demand/playlists/{playlistId}/media`: puts the media in the order of the request, which names each of them once.
///
/// 404 unless the playlist is in the caller's workspace; 422 when the request names others, or not all.
pub(super) async fn reorder(
    State(app): State<App>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PlaylistView>, ApiError> {
    let media = media_ids(&body, 0)?;
    change(&app, caller, id, move |playlist, now| playlist.reorder(&media, now)).await
}

/// `DELETE /on-demand/playlists/{playlistId}/media`: takes media out.
///
/// 404 unless the playlist is in the caller's workspace; 422 names the first that is not in it, and none is taken out.
pub(super) async fn remove(
    State(app): State<App>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PlaylistView>, ApiError> {
    let media = media_ids(&body, 1)?;
    change(&app, caller, id, move |playlist, now| playlist.remove(&media, now)).await
}

async fn change(
    app: &App,
    caller: Writer,
    id: PlaylistId,
    change: impl Fn(Playlist, Timestamp) -> Result<Playlist, PlaylistProblem> + Send + Sync + 'static,
) -> Result<Data<PlaylistView>, ApiError> {
    let now = app.clock.now();
    let changed = app
        .store
        .write(async move |tx| {
            let before = tx.playlist(caller.workspace, id).await?.ok_or_else(ApiError::playlist_not_found)?;
            let after = change(before.clone(), now).map_err(refused)?;
            tx.save_playlist(&before, &after).await?;
            let media = tx.playlist_media(&after).await?;
            Ok::<_, ApiError>((after, media))
        })
        .await?;
    Ok(answer(app, &changed))
}

fn answer(app: &App, (playlist, media): &(Playlist, Vec<Media>)) -> Data<PlaylistView> {
    Data::ok(PlaylistView::new(playlist, media, &app.addresses))
}

/// Only ready media join a playlist (contract 2.9).
fn check_ready(media: &[MediaId], states: &HashMap<MediaId, String>) -> Result<(), ApiError> {
    let problems = Problems::default();
    for (at, id) in media.iter().enumerate() {
        let message = match states.get(id).map(String::as_str) {
            Some("Ready") => continue,
            Some(state) => format!("must be a media that is Ready; this one is {state}"),
            None => "must be a media of this workspace".to_owned(),
        };
        problems.add(format!("{MEDIA_IDS}[{at}]"), message);
    }
    problems.into_result(Some(()))
}

fn refused(problem: PlaylistProblem) -> ApiError {
    let field = match &problem {
        PlaylistProblem::Smart => "playlistId".to_owned(),
        PlaylistProblem::NotInside { at } => format!("{MEDIA_IDS}[{at}]"),
        PlaylistProblem::Full { .. } | PlaylistProblem::Incomplete { .. } => MEDIA_IDS.to_owned(),
    };
    ApiError::invalid_field(field, problem.to_string())
}
