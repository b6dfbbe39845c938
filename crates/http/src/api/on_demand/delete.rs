use axum::extract::State;
use kinora_domain::MediaId;
use kinora_store::{JobKind, NewJob};

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
            let source = media.source();
            tx.delete_media(id).await?;
            tx.push_event(&media.delete(now)).await?;
            if let Some(source) = source {
                tx.enqueue(NewJob::soon(JobKind::DeleteObjects { source }, now)).await?;
            }
            Ok::<_, ApiError>(())
        })
        .await?;
    Ok(Done)
}
