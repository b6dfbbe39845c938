//! The body of `POST /on-demand` (C-10, C-123, C-125): its inputs. The settings, which uploads have too, are
//! in `media_settings_request.rs`, and the edits in `timeline_edit.rs`.

use kinora_domain::{
    AudioEdit, MediaId, MediaSettings, NewMedia, NewTrack, TimelineEdit, Watermark, WorkspaceId,
};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::media_settings_request::{Inputs, NewMediaSettings, URL_MAX, inputs, media_settings};
use super::timeline_edit::{MEDIA_SCHEME, clipped_media};

/// A parsed body.
#[derive(Debug)]
pub(super) struct CreateRequest {
    pub(super) new: NewMedia,
    /// Warnings about settings that are stored and have no effect yet.
    pub(super) warnings: Vec<String>,
    /// The path of the video input, for errors that depend on another media.
    pub(super) video_path: String,
    /// The path of the type of the watermark input.
    pub(super) watermark_path: String,
}

/// Parses the body.
pub(super) fn parse(body: &Value, workspace: WorkspaceId) -> Result<CreateRequest, ApiError> {
    let problems = Problems::default();
    let mut warnings = Vec::new();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        let NewMediaSettings { policy, restrictions, encryption, settings } =
            media_settings(&fields, &mut warnings);
        let sources = sources(&fields)?;
        let Sources { url, clip_of, tracks, audio_edit, timeline_edit, watermark, .. } = sources;
        let settings = MediaSettings { audio_edit, timeline_edit, watermark, ..settings };
        let new = NewMedia { workspace, settings, url, clip_of, policy, restrictions, encryption, tracks };
        Some((new, sources.video_path, sources.watermark_path))
    });
    let (new, video_path, watermark_path) = problems.into_result(new)?;
    Ok(CreateRequest { new, warnings, video_path, watermark_path })
}

/// The inputs of a media from a URL.
struct Sources {
    video_path: String,
    url: String,
    clip_of: Option<MediaId>,
    tracks: Vec<NewTrack>,
    audio_edit: Option<AudioEdit>,
    timeline_edit: Option<TimelineEdit>,
    watermark: Option<Watermark>,
    watermark_path: String,
}

fn sources(fields: &Fields<'_>) -> Option<Sources> {
    if !fields.is_present("inputs") {
        fields.reject("inputs", "must not be null");
        return None;
    }
    let is_empty = fields.list("inputs")?.is_empty();
    let Inputs { video, tracks, audio: audio_edit, timeline_edit, watermark, watermark_path } =
        inputs(fields);
    let Some(input) = video else {
        let must =
            if is_empty { "must have one input of type video" } else { "must have an input of type video" };
        fields.reject("inputs", must);
        return None;
    };
    if !input.is_present("url") {
        input.reject("url", "must not be null");
        return None;
    }
    let url = input.text("url", URL_MAX)?;
    let clip_of = clipped_media(&input, url);
    if !url.starts_with(MEDIA_SCHEME)
        && let Err(problem) = kinora_fetch::parse_source_url(url)
    {
        input.reject("url", problem.to_string());
    }
    let (video_path, url) = (input.path(""), url.to_owned());
    Some(Sources { video_path, url, clip_of, tracks, audio_edit, timeline_edit, watermark, watermark_path })
}

#[cfg(test)]
mod tests;
