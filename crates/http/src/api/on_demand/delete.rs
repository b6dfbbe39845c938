use axum::extract::State;
use kinora_domain::MediaId;

use crate::app::App;
use crate::auth::Writer;
use crate::envelope::Done;
use crate::error::ApiError;
use crate::extract::PathId;

/// `DELETE /on-demand/{mediaId}`: the media is gone with this answer, its bytes soon after. It cannot be taken back.
///
/// 404 unless it is in the caller's workspace, also the second time.
pub(crate) async fn delete(
    State(app): State<App>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
) -> Result<Done, ApiError> {
    let now = app.clock.now();
    app.store
        .write(async move |tx| {
            let media = tx.media(caller.workspace, id).await?.ok_or_else(ApiError::media_not_found)?;
            tx.remove_media(media, now).await?;
            Ok::<_, ApiError>(())
        })
        .await?;
    Ok(Done)
}
