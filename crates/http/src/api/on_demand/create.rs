use axum::extract::State;
use kinora_domain::Media;

use super::create_request;
use crate::api::view::CreatedMedia;
use crate::app::App;
use crate::auth::Writer;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::JsonBody;

/// `POST /on-demand`: registers a media and begins to fetch it.
///
/// 201 with the playback ID, which is usable at once. 422 names each wrong field. The media, its event and its job are one commit.
pub(crate) async fn create(
    State(app): State<App>,
    caller: Writer,
    JsonBody(body): JsonBody,
) -> Result<Data<CreatedMedia>, ApiError> {
    let (new, warnings) = create_request::parse(&body, caller.workspace)?;
    let now = app.clock.now();
    let (media, event) = Media::create(new, now, &*app.random);
    let answer = CreatedMedia::from(&media);
    app.store.write(async move |tx| tx.register_media(&media, &event, now).await).await?;
    Ok(Data::created(answer, warnings))
}
