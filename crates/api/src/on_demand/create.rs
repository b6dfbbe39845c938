use axum::extract::State;
use kinora_domain::Media;
use kinora_store::Tx;
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::once::Once;

use super::create_request;
use crate::ApiState;
use crate::view::CreatedMedia;

/// `POST /on-demand`: registers a media and begins to fetch it.
///
/// 201 with the playback ID, which is usable at once. 422 names each wrong field. The media, its event and its job are one commit.
pub(crate) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    let (new, warnings) = create_request::parse(&body, caller.workspace)?;
    let now = app.clock.now();
    let (media, event) = Media::create(new, now, &*app.random);
    let answer = Data::created(CreatedMedia::from(&media), warnings).into_answer();
    let work = async move |tx: &mut Tx| {
        tx.register_media(&media, &event, now).await?;
        Ok(answer.clone())
    };
    once.write(&app.idempotency, work).await
}
