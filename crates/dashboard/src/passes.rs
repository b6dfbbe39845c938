//! Passes: a person plays a media for 15 minutes, under any rules of its playback IDs.

use axum::Extension;
use axum::extract::State;
use kinora_delivery::{Pass, issue_pass};
use kinora_domain::{Media, MediaId, MediaState, PlaybackIdSettings, Resolution};
use kinora_web::auth::Access;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};
use kinora_web::fields::{Fields, Problems};
use serde::Serialize;

use crate::media::find_media;
use crate::{DashboardState, error};

/// A pass.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PassView {
    playback_id: String,
    token: String,
    url: String,
    expires_at: String,
}

/// `POST /media/{mediaId}/pass`: a pass for the player page, through the playback ID that plays the largest
/// resolution. Nothing is stored.
///
/// 404 for a media of another workspace, 409 while it is not ready and without a playback ID.
pub(crate) async fn create(
    State(app): State<DashboardState>,
    Extension(access): Extension<Access>,
    PathId(id): PathId<MediaId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PassView>, ApiError> {
    let problems = Problems::default();
    let object = Fields::of_body(&body, &problems).map(drop);
    problems.into_result(object)?;
    let media = find_media(&app, access, id).await?;
    check_ready(&media)?;
    let playback = largest_playback_id(&media).ok_or_else(error::no_playback_id)?;
    let Pass { token, url, expires_at } = issue_pass(&app.store, &app.base_urls, playback, app.clock.now());
    let view =
        PassView { playback_id: playback.id.to_string(), token, url, expires_at: expires_at.to_string() };
    Ok(Data::created(view, Vec::new()))
}

fn check_ready(media: &Media) -> Result<(), ApiError> {
    match media.state {
        MediaState::Ready { .. } => Ok(()),
        MediaState::Failed { .. } => Err(error::media_not_ready("this media failed and cannot be played")),
        MediaState::Created | MediaState::Downloading { .. } => {
            Err(error::media_not_ready("this media is still being prepared; retry when it is ready"))
        }
    }
}

/// The playback ID with the largest resolution; the first one of several. Without a bound of its own it has
/// that of the media, which is the largest.
fn largest_playback_id(media: &Media) -> Option<&PlaybackIdSettings> {
    let bound = |settings: &PlaybackIdSettings| -> Resolution {
        let max = media.settings.max_resolution;
        settings.resolution.map_or(max, |resolution| resolution.min(max))
    };
    media.playback_ids.iter().rev().max_by_key(|settings| bound(settings))
}
