//! The body that creates an upload: its allowed origin, its time limit, and the settings of the media
//! (C-139).

use std::time::Duration;

use kinora_domain::{
    AccessPolicy, AccessRestrictions, CorsOrigin, Encryption, MediaSettings, NewTrack, NewUpload,
    TimelineEdit, Upload, WorkspaceId,
};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::super::media_settings_request::{Inputs, NewMediaSettings, URL_MAX, inputs, media_settings};
use super::super::timeline_edit::trim_edit;
use super::origin;

/// Parses the body: the new upload, and warnings about settings that are stored and have no effect yet.
/// `size_max` is the size limit of the operation that was called.
pub(super) fn parse(
    body: &Value,
    workspace: WorkspaceId,
    size_max: Option<u64>,
) -> Result<(NewUpload, Vec<String>), ApiError> {
    let problems = Problems::default();
    let mut warnings = Vec::new();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        let origin = cors_origin(&fields);
        let timeout_s = timeout(&fields);
        let (NewMediaSettings { policy, restrictions, encryption, settings }, tracks) =
            media(&fields, &mut warnings);
        Some(NewUpload {
            workspace,
            settings,
            policy,
            restrictions,
            encryption,
            tracks,
            origin: origin?,
            timeout_s,
            size_max,
        })
    });
    problems.into_result(new).map(|new| (new, warnings))
}

fn cors_origin(fields: &Fields<'_>) -> Option<CorsOrigin> {
    if !fields.is_present("corsOrigin") {
        fields.reject("corsOrigin", "must not be null");
        return None;
    }
    let text = fields.text("corsOrigin", CorsOrigin::LEN_MAX)?;
    let origin = origin::parse(text);
    if origin.is_none() {
        fields.reject("corsOrigin", origin::MESSAGE);
    }
    origin
}

fn timeout(fields: &Fields<'_>) -> u32 {
    let (min, max) = (Upload::TIMEOUT_MIN_S, Upload::LIFE_MAX_S);
    let Some(seconds) = fields.number("timeout") else { return Upload::TIMEOUT_DEFAULT_S };
    if seconds.fract() != 0.0 || !(f64::from(min)..=f64::from(max)).contains(&seconds) {
        fields.reject("timeout", format!("must be a whole number of seconds from {min} to {max}"));
        return Upload::TIMEOUT_DEFAULT_S;
    }
    seconds as u32
}

fn media(fields: &Fields<'_>, warnings: &mut Vec<String>) -> (NewMediaSettings, Vec<NewTrack>) {
    let Some(fields) = fields.object("pushMediaSettings") else {
        let new_settings = NewMediaSettings {
            policy: AccessPolicy::Public,
            restrictions: AccessRestrictions::default(),
            encryption: Encryption::None,
            settings: MediaSettings::default(),
        };
        return (new_settings, Vec::new());
    };
    let Inputs { video, tracks, audio, timeline_edit, watermark, .. } = inputs(&fields);
    let range = trim_edit(&fields);
    if let (Some(edit), Some(_)) = (&timeline_edit, &range)
        && (edit.start, edit.end) != (Duration::ZERO, None)
    {
        let field = if fields.is_present("startTime") { "startTime" } else { "endTime" };
        fields.reject(field, "must be set here or in the video input, not in both");
    }
    let timeline_edit = match (timeline_edit, range) {
        (Some(edit), Some(range)) => {
            let edit = TimelineEdit { start: range.start, end: range.end, ..edit };
            if let Err(rejected) = edit.check() {
                let is_of_range = ["startTime", "endTime"].contains(&&*rejected.field);
                let owner = video.as_ref().filter(|_| !is_of_range).unwrap_or(&fields);
                owner.reject(&rejected.field, rejected.problem);
            }
            Some(edit)
        }
        (edit, range) => edit.or(range),
    };
    if let Some(input) = video
        && input.text("url", URL_MAX).is_some_and(|url| !url.is_empty())
    {
        input.reject("url", "must be left out: the source is the file sent to the upload URL");
    }
    let new_settings = media_settings(&fields, warnings);
    let settings = MediaSettings { audio_edit: audio, timeline_edit, watermark, ..new_settings.settings };
    (NewMediaSettings { settings, ..new_settings }, tracks)
}

#[cfg(test)]
mod tests;
