//! The body of `POST /on-demand` (C-10, C-123, C-125): its inputs. The settings, which uploads have too, are
//! in `media_settings_request.rs`.

use kinora_domain::{AudioEdit, MediaSettings, NewMedia, NewTrack, WorkspaceId};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::media_settings_request::{Inputs, NewMediaSettings, URL_MAX, inputs, media_settings};

/// Parses the body: the new media, and warnings about settings that are stored and have no effect yet.
pub(super) fn parse(body: &Value, workspace: WorkspaceId) -> Result<(NewMedia, Vec<String>), ApiError> {
    let problems = Problems::default();
    let mut warnings = Vec::new();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        let NewMediaSettings { policy, restrictions, encryption, settings } =
            media_settings(&fields, &mut warnings);
        let (url, tracks, audio_edit) = sources(&fields)?;
        let settings = MediaSettings { audio_edit, ..settings };
        Some(NewMedia { workspace, settings, url, policy, restrictions, encryption, tracks })
    });
    problems.into_result(new).map(|new| (new, warnings))
}

/// The address of the one video input, the added tracks, and the edits of the audio.
fn sources(fields: &Fields<'_>) -> Option<(String, Vec<NewTrack>, Option<AudioEdit>)> {
    if !fields.is_present("inputs") {
        fields.reject("inputs", "must not be null");
        return None;
    }
    let is_empty = fields.list("inputs")?.is_empty();
    let Inputs { video, tracks, audio } = inputs(fields);
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
    if url.starts_with("fp_mediaId://") {
        input.reject("url", "must be an http or https URL: clips of an existing media are not supported yet");
        return None;
    }
    if let Err(problem) = kinora_fetch::parse_source_url(url) {
        input.reject("url", problem.to_string());
    }
    Some((url.to_owned(), tracks, audio))
}

#[cfg(test)]
mod tests;
