//! The body of `POST /on-demand`: every field of the contract is known and checked (contract 2.3, decisions 10, 11, 16, 32, 33).

use std::collections::BTreeMap;

use kinora_domain::{AccessPolicy, MediaId, MediaQuality, MediaSettings, NewMedia, Resolution, WorkspaceId};
use serde_json::Value;

use crate::error::ApiError;
use crate::fields::{Fields, Problems};

/// Longest address, in characters: what browsers and proxies agree on.
const URL_MAX: usize = 8192;
/// Most inputs of one media; a list of thousands would only make the refusal long.
const INPUTS_MAX: usize = 64;
/// Most entries of one list of domains or user agents.
const RULES_MAX: usize = 1000;

const NOT_YET: &str = "is not supported yet; leave it out";

/// What the client asked for, with the wishes that are stored and have no effect yet.
pub(super) fn parse(body: &Value, workspace: WorkspaceId) -> Result<(NewMedia, Vec<String>), ApiError> {
    let problems = Problems::default();
    let mut warnings = Vec::new();
    let new = Fields::of_body(body, &problems).and_then(|fields| {
        let policy = access_policy(&fields);
        let settings = settings(&fields, &mut warnings);
        extras(&fields);
        access_restrictions(&fields);
        let url = inputs(&fields)?;
        Some(NewMedia { workspace, settings, url, policy })
    });
    problems.into_result(new).map(|new| (new, warnings))
}

fn access_policy(fields: &Fields<'_>) -> AccessPolicy {
    if let Some(id) = fields.text("drmConfigurationId", MediaSettings::TEXT_MAX)
        && id.parse::<MediaId>().is_err()
    {
        fields.refuse("drmConfigurationId", "must be a UUID");
    }
    let word = fields.word("accessPolicy", &["public", "private", "drm"], |word| Some(word.to_owned()));
    match word.as_deref() {
        Some("drm") => {
            // Never silently clear: contract decision 16.
            fields.refuse(
                "accessPolicy",
                "drm needs a licence service, and none is configured; use public or private",
            );
            AccessPolicy::Private
        }
        Some(word) => AccessPolicy::from_text(word).unwrap_or(AccessPolicy::Private),
        None => AccessPolicy::Public,
    }
}

fn settings(fields: &Fields<'_>, warnings: &mut Vec<String>) -> MediaSettings {
    let caps = Resolution::CAPS.map(Resolution::as_str);
    let quality = fields
        .word("mediaQuality", &["standard", "pro", "premium"], MediaQuality::from_text)
        .unwrap_or_default();
    if quality != MediaQuality::Standard {
        warnings.push("mediaQuality is stored and has no effect yet".to_owned());
    }
    let optimize_audio = fields.bool("optimizeAudio").unwrap_or(false);
    if optimize_audio {
        warnings.push("optimizeAudio is stored and has no effect yet".to_owned());
    }
    MediaSettings {
        title: fields.text("title", MediaSettings::TEXT_MAX).map(str::to_owned),
        creator_id: fields.text("creatorId", MediaSettings::TEXT_MAX).map(str::to_owned),
        metadata: fields.object("metadata").map(|metadata| free_pairs(fields, "metadata", &metadata)),
        max_resolution: fields
            .word("maxResolution", &caps, Resolution::from_text)
            .unwrap_or(Resolution::P1080),
        quality,
        source_access: fields.bool("sourceAccess").unwrap_or(false),
        optimize_audio,
    }
}

fn free_pairs(parent: &Fields<'_>, name: &str, pairs: &Fields<'_>) -> BTreeMap<String, String> {
    if pairs.entries().count() > MediaSettings::METADATA_ENTRIES_MAX {
        parent.refuse(name, format!("must have at most {} entries", MediaSettings::METADATA_ENTRIES_MAX));
        return BTreeMap::new();
    }
    let mut read = BTreeMap::new();
    for (key, _) in pairs.entries() {
        if key.chars().count() > MediaSettings::TEXT_MAX {
            parent.refuse(name, format!("must have keys of at most {} characters", MediaSettings::TEXT_MAX));
        } else if !pairs.has(key) {
            pairs.refuse(key, "must be a string");
        } else if let Some(value) = pairs.text(key, MediaSettings::TEXT_MAX) {
            read.insert(key.clone(), value.to_owned());
        }
    }
    read
}

/// What asks for something beside playback: refused unless it asks for what is so anyway (contract decision 33).
fn extras(fields: &Fields<'_>) {
    let mp4 = fields.word("mp4Support", &["none", "capped_4k", "audioOnly", "audioOnly,capped_4k"], |word| {
        Some(word == "none")
    });
    if mp4 == Some(false) {
        fields.refuse("mp4Support", "only none is supported yet");
    }
    for name in ["chapters", "namedEntities"] {
        if fields.bool(name) == Some(true) {
            fields.refuse(name, NOT_YET);
        }
    }
    if let Some(moderation) = fields.object("moderation") {
        moderation.word("type", &["video", "audio", "av"], |_| Some(()));
    }
    for name in ["subtitles", "createSubtitles"] {
        if let Some(subtitles) = fields.object(name) {
            for text in ["languageName", "languageCode", "name"] {
                subtitles.text(text, MediaSettings::TEXT_MAX);
            }
            subtitles.object("metadata");
        }
    }
    for name in ["subtitles", "createSubtitles", "moderation"] {
        if fields.object(name).is_some_and(|object| object.entries().any(|(_, value)| !value.is_null())) {
            fields.refuse(name, NOT_YET);
        }
    }
    if let Some(summary) = fields.object("summary") {
        if summary
            .number("summaryLength")
            .is_some_and(|length| length.fract() != 0.0 || !(30.0..=250.0).contains(&length))
        {
            summary.refuse("summaryLength", "must be a whole number from 30 to 250");
        }
        if summary.bool("generate") == Some(true) {
            fields.refuse("summary", NOT_YET);
        }
    }
}

/// Restrictions are accepted only when they restrict nothing: a rule that is not enforced would show a video to the wrong people.
fn access_restrictions(fields: &Fields<'_>) {
    let Some(restrictions) = fields.object("accessRestrictions") else { return };
    for name in ["domains", "userAgents"] {
        let Some(rule) = restrictions.object(name) else { continue };
        let is_deny = rule.word("defaultPolicy", &["allow", "deny"], |word| Some(word == "deny"));
        let mut is_restricting = is_deny == Some(true);
        for list in ["allow", "deny"] {
            let Some(items) = rule.list(list) else { continue };
            if items.len() > RULES_MAX {
                rule.refuse(list, format!("must have at most {RULES_MAX} items"));
            }
            for (at, _) in items.iter().enumerate().filter(|(_, item)| !item.is_string()) {
                rule.refuse(&format!("{list}[{at}]"), "must be a string");
            }
            is_restricting |= !items.is_empty();
        }
        if is_restricting {
            restrictions.refuse(name, NOT_YET);
        }
    }
}

/// The one video input's address.
fn inputs(fields: &Fields<'_>) -> Option<String> {
    if !fields.has("inputs") {
        fields.refuse("inputs", "must not be null");
        return None;
    }
    let inputs = fields.objects("inputs", INPUTS_MAX)?;
    let mut url = None;
    for input in &inputs {
        let kind =
            input.word("type", &["video", "watermark", "audio", "subtitle"], |word| Some(word.to_owned()));
        match kind.as_deref() {
            Some("video") if url.is_some() => {
                input.refuse("type", "a second video input is not supported yet; leave it out")
            }
            Some("video") => url = Some(video_input(input).unwrap_or_default()),
            Some(kind) => input.refuse("type", format!("{kind} inputs are not supported yet; leave it out")),
            None if !input.has("type") => input.refuse("type", "must not be null"),
            None => {}
        }
    }
    if inputs.is_empty() {
        fields.refuse("inputs", "must have one input of type video");
    } else if url.is_none() {
        fields.refuse("inputs", "must have an input of type video");
    }
    url
}

fn video_input(input: &Fields<'_>) -> Option<String> {
    for name in ["startTime", "endTime"] {
        if input.number(name).is_some() {
            input.refuse(name, NOT_YET);
        }
    }
    for name in ["introUrl", "outroUrl"] {
        if input.text(name, URL_MAX).is_some_and(|url| !url.is_empty()) {
            input.refuse(name, NOT_YET);
        }
    }
    for name in ["expungeSegments", "segments"] {
        if input.list(name).is_some_and(|list| !list.is_empty()) {
            input.refuse(name, NOT_YET);
        }
    }
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
    Some(url.to_owned())
}

#[cfg(test)]
mod tests;
