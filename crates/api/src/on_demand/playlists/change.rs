use axum::response::Response;
use kinora_domain::{Playlist, PlaylistId, WorkspaceId};
use kinora_store::Tx;
use kinora_web::condition::{Conditions, Tagged};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;

use super::view::PlaylistView;
use crate::ApiState;
use crate::error;

/// Changes a playlist of a workspace and answers it as `GET` does: what was read, judged by the conditions,
/// changed and saved is one commit.
pub(super) async fn change<F>(
    app: &ApiState,
    (workspace, id): (WorkspaceId, PlaylistId),
    conditions: Conditions,
    mut change: F,
) -> Result<Response, ApiError>
where
    F: AsyncFnMut(&mut Tx, Playlist) -> Result<Playlist, ApiError> + Send + 'static,
{
    // What a smart one chooses takes a long look at the index, which is not for the one writer; no change is
    // one of its rules.
    let chosen = if conditions.is_empty() { app.store.chosen_media_of(workspace, id).await? } else { None };
    let here = app.clone();
    let answer = app
        .store
        .write(async move |tx: &mut Tx| {
            let before = tx.playlist(workspace, id).await?.ok_or_else(error::playlist_not_found)?;
            if !conditions.is_empty() {
                let held = tx.playlist_media(&before).await?;
                conditions.check(|| Data::ok(PlaylistView::new(&before, &held, &here.addresses)))?;
            }
            let after = change(tx, before.clone()).await?;
            tx.save_playlist(&before, &after).await?;
            let media = match &chosen {
                Some(media) => media.clone(),
                None => tx.playlist_media(&after).await?,
            };
            Ok::<_, ApiError>(Tagged::of(&Data::ok(PlaylistView::new(&after, &media, &here.addresses))))
        })
        .await?;
    Ok(answer.into_response())
}
