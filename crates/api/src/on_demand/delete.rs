use axum::extract::State;
use kinora_domain::MediaId;
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::{Data, Done};
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `DELETE /on-demand/{mediaId}`: the media is gone with this answer, its bytes soon after. It cannot be taken back.
///
/// 404 unless it is in the caller's workspace, also the second time; 412 when it is not what `If-Match` names.
pub(crate) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let (now, here) = (app.clock.now(), app.clone());
    app.store
        .write(async move |tx| {
            let media = tx.media(caller.workspace, id).await?.ok_or_else(error::media_not_found)?;
            conditions.check(|| Data::ok(MediaView::new(&media, &here.addresses)))?;
            tx.remove_media(media, now).await?;
            Ok::<_, ApiError>(())
        })
        .await?;
    Ok(Done)
}
