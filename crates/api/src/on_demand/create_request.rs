//! The body of `POST /on-demand`: every field of the contract is known and checked
//! (C-123 to C-125, C-10, C-11, C-16, C-33).

use kinora_domain::{MediaSettings, NewMedia, NewTrack, SoundEdit, WorkspaceId};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::wishes::{Inputs, URL_MAX, Wishes, inputs, wishes};

/// What the client asked for, with the wishes that are stored and have no effect yet.
pub(super) fn parse(body: &Value, workspace: WorkspaceId) -> Result<(NewMedia, Vec<String>), ApiError> {
    let problems = Problems::default();
    let mut warnings = Vec::new();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        let Wishes { policy, restrictions, encryption, settings } = wishes(&fields, &mut warnings);
        let (url, tracks, sound) = sources(&fields)?;
        let settings = MediaSettings { sound, ..settings };
        Some(NewMedia { workspace, settings, url, policy, restrictions, encryption, tracks })
    });
    problems.into_result(new).map(|new| (new, warnings))
}

/// The one video input's address, what is added to it, and what is done to its sound.
fn sources(fields: &Fields<'_>) -> Option<(String, Vec<NewTrack>, Option<SoundEdit>)> {
    if !fields.has("inputs") {
        fields.refuse("inputs", "must not be null");
        return None;
    }
    let is_empty = fields.list("inputs")?.is_empty();
    let Inputs { video, tracks, sound } = inputs(fields);
    let Some(input) = video else {
        let must =
            if is_empty { "must have one input of type video" } else { "must have an input of type video" };
        fields.refuse("inputs", must);
        return None;
    };
    if !input.has("url") {
        input.refuse("url", "must not be null");
        return None;
    }
    let url = input.text("url", URL_MAX)?;
    if url.starts_with("fp_mediaId://") {
        input.refuse("url", "clips of an existing media are not supported yet");
        return None;
    }
    if let Err(problem) = kinora_fetch::parse_source_url(url) {
        input.refuse("url", problem.to_string());
    }
    Some((url.to_owned(), tracks, sound))
}

#[cfg(test)]
mod tests;
