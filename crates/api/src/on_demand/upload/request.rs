//! The body that makes an upload: where it may come from, how long it may take, and what is wished of the
//! media (C-139).

use kinora_domain::{
    AccessPolicy, AccessRestrictions, CorsOrigin, Encryption, MediaSettings, NewTrack, NewUpload, Upload,
    WorkspaceId,
};
use kinora_web::error::ApiError;
use kinora_web::fields::{Fields, Problems};
use serde_json::Value;

use super::super::wishes::{Inputs, URL_MAX, Wishes, inputs, times, wishes};
use super::origin;

/// What the client asked for, with the wishes that are stored and have no effect yet. `size_max` is that of
/// the path.
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
        let (Wishes { policy, restrictions, encryption, settings }, tracks) = media(&fields, &mut warnings);
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
    if !fields.has("corsOrigin") {
        fields.refuse("corsOrigin", "must not be null");
        return None;
    }
    let text = fields.text("corsOrigin", CorsOrigin::LEN_MAX)?;
    let origin = origin::parse(text);
    if origin.is_none() {
        fields.refuse("corsOrigin", origin::MUST);
    }
    origin
}

fn timeout(fields: &Fields<'_>) -> u32 {
    let (min, max) = (Upload::TIMEOUT_MIN_S, Upload::LIFE_MAX_S);
    let Some(seconds) = fields.number("timeout") else { return Upload::TIMEOUT_DEFAULT_S };
    if seconds.fract() != 0.0 || !(f64::from(min)..=f64::from(max)).contains(&seconds) {
        fields.refuse("timeout", format!("must be a whole number of seconds from {min} to {max}"));
        return Upload::TIMEOUT_DEFAULT_S;
    }
    seconds as u32
}

fn media(fields: &Fields<'_>, warnings: &mut Vec<String>) -> (Wishes, Vec<NewTrack>) {
    let Some(fields) = fields.object("pushMediaSettings") else {
        let wishes = Wishes {
            policy: AccessPolicy::Public,
            restrictions: AccessRestrictions::default(),
            encryption: Encryption::None,
            settings: MediaSettings::default(),
        };
        return (wishes, Vec::new());
    };
    times(&fields);
    let Inputs { video, tracks, sound } = inputs(&fields);
    if let Some(input) = video
        && input.text("url", URL_MAX).is_some_and(|url| !url.is_empty())
    {
        input.refuse("url", "must be left out: the file is what is sent to the upload's address");
    }
    let wishes = wishes(&fields, warnings);
    let settings = MediaSettings { sound, ..wishes.settings };
    (Wishes { settings, ..wishes }, tracks)
}

#[cfg(test)]
mod tests;
