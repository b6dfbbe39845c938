use axum::extract::State;
use kinora_domain::{Media, MediaFacts, MediaId, MediaState};
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::source_address::without_secrets;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ApiState;
use crate::error;
use crate::view::TrackView;

/// The source of a media (C-133).
#[derive(Serialize, JsonSchema)]
pub(crate) struct InputInfo {
    configuration: Configuration,
    file: File,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InputAddress")]
struct Configuration {
    url: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InputFile")]
struct File {
    container_format: Option<String>,
    tracks: Vec<TrackView>,
}

/// `GET /on-demand/{mediaId}/input-info`: the source address of a ready media, and the content of its file.
///
/// The address is the one that the client sent; viewers of the dashboard get it without its query. 404
/// unless the media is in the caller's workspace, and while its file is not analysed: before it is
/// ready, and when it failed.
pub(crate) async fn input_info(
    State(app): State<ApiState>,
    caller: ReadCaller,
    PathId(id): PathId<MediaId>,
) -> Result<Data<InputInfo>, ApiError> {
    let media = app.store.media(caller.workspace, id).await?.ok_or_else(error::media_not_found)?;
    match &media.state {
        MediaState::Ready { facts, .. } => Ok(Data::ok(InputInfo::new(&media, facts, caller))),
        _ => Err(error::input_info_not_found()),
    }
}

impl InputInfo {
    fn new(media: &Media, facts: &MediaFacts, caller: ReadCaller) -> Self {
        let shown = |url: &String| if caller.sees_whole_sources { url.clone() } else { without_secrets(url) };
        Self {
            configuration: Configuration { url: media.inputs.first().map(|input| shown(&input.url)) },
            file: File {
                container_format: facts.container.clone(),
                tracks: facts.tracks.iter().map(TrackView::from).collect(),
            },
        }
    }
}
