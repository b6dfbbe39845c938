//! The schemas of the bodies that create and change media.

use kinora_domain::{
    AccessPolicy, DefaultPolicy, Encryption, MediaQuality, MediaSettings, Mp4Support, Resolution, Restriction,
};
use kinora_web::openapi::Schemas;
use kinora_web::openapi::schema::{metadata, object, string_enum, text, with_default, with_description};
use serde_json::{Value, json};

use crate::on_demand::audio_input;
use crate::on_demand::media_settings_request::{INPUTS_MAX, SUMMARY_LENGTHS, URL_MAX};
use crate::on_demand::timeline_edit;
use crate::on_demand::tracks::described_input;
use crate::on_demand::update_request::TIME_S_MAX;
use crate::on_demand::watermark;

pub(in crate::on_demand) const DOMAINS_DESCRIPTION: &str =
    "A host such as `example.com`, which includes its subdomains, or `*.example.com` for subdomains only.";
pub(in crate::on_demand) const USER_AGENTS_DESCRIPTION: &str =
    "A part of the `User-Agent` header. Case matters.";

/// The body of `POST /on-demand`.
pub(super) fn create(schemas: &mut Schemas) -> Value {
    let url = json!({"type": "string", "maxLength": URL_MAX, "pattern": "^(https?|fp_mediaId)://"});
    let url = with_description(
        url,
        "URL of the file. Its host must be on the public internet, unless the operator allows other networks. `fp_mediaId://{mediaId}` cuts a clip from a ready media of the workspace; nothing is fetched.",
    );
    let video = object(
        &["type", "url"],
        [("type", string_enum(["video"])), ("url", url)].into_iter().chain(timeline_edit::edit_fields()),
    );
    let mut inputs = inputs(video);
    inputs["minItems"] = 1.into();
    let body = object(&["inputs"], [("inputs", inputs)].into_iter().chain(media_settings()));
    schemas.add("CreateMedia", body)
}

/// The body of `PATCH /on-demand/{mediaId}`.
pub(super) fn update(schemas: &mut Schemas) -> Value {
    let time = json!({"type": "number", "minimum": 0, "maximum": TIME_S_MAX});
    let time = with_description(
        time,
        "Position of the default thumbnail in seconds. `thumbnail.jpg` shows this frame if the request has no `time`.",
    );
    let thumbnail = object(&["time"], [("time", time)]);
    let body = object(
        &[],
        [
            ("title", with_description(text(MediaSettings::TEXT_MAX), "`null` clears it.")),
            ("creatorId", text(MediaSettings::TEXT_MAX)),
            ("metadata", with_description(metadata(), "Replaces all entries.")),
            (
                "optimizeAudio",
                with_description(
                    json!({"type": "boolean"}),
                    "Whether the audio is levelled. Applies at once where it was measured, else after the \
                        measurement. `true` also repeats a measurement that failed, or that had another \
                        target.",
                ),
            ),
            (
                "thumbnail",
                with_description(thumbnail, "`null` restores the default, a frame near the middle."),
            ),
        ],
    );
    schemas.add("UpdateMedia", body)
}

/// The body of `PATCH /on-demand/{mediaId}/source-access`.
pub(super) fn source_access(schemas: &mut Schemas) -> Value {
    let flag = with_description(json!({"type": "boolean"}), "Whether viewers may download the source.");
    schemas.add("SourceAccess", object(&["sourceAccess"], [("sourceAccess", flag)]))
}

/// The body of `PATCH /on-demand/{mediaId}/update-mp4Support`.
pub(super) fn update_mp4_support(schemas: &mut Schemas) -> Value {
    schemas.add("UpdateMp4Support", object(&["mp4Support"], [("mp4Support", mp4_support())]))
}

/// The `mp4Support` field: the files that are offered in addition to playback.
fn mp4_support() -> Value {
    let description = "`capped_4k`: video and audio at `{playbackId}/capped-4k.mp4`. `audioOnly`: audio at `{playbackId}/audio.m4a`.";
    with_description(string_enum(Mp4Support::WORDS), description)
}

/// `pushMediaSettings` of a direct upload: the settings of the media, and an input without a URL.
pub(in crate::on_demand) fn push_media_settings() -> Value {
    let url =
        with_description(string_enum([""]), "Leave it out: the source is the file sent to the upload URL.");
    let video = object(
        &["type"],
        [("type", string_enum(["video"])), ("url", url)].into_iter().chain(timeline_edit::edit_fields()),
    );
    object(
        &[],
        [("inputs", inputs(video))].into_iter().chain(timeline_edit::trim_fields()).chain(media_settings()),
    )
}

/// The `inputs` field: one video, a watermark over it, edits of its audio, and subtitles.
fn inputs(video: Value) -> Value {
    let watermark = watermark::watermark_input_schema();
    let kinds = [video, watermark, audio_input::audio_input_schema(), described_input()];
    let inputs = json!({"type": "array", "maxItems": INPUTS_MAX, "items": {"anyOf": kinds}});
    with_description(
        inputs,
        "The inputs: one video or audio file; optionally a watermark, audio that replaces or overlays its audio, and subtitles.",
    )
}

/// The media settings that `POST /on-demand` and direct uploads share.
fn media_settings() -> Vec<(&'static str, Value)> {
    let flag =
        |description: &str| with_default(with_description(json!({"type": "boolean"}), description), false);
    let (shortest, longest) = (*SUMMARY_LENGTHS.start(), *SUMMARY_LENGTHS.end());
    let summary = object(
        &[],
        [
            ("generate", json!({"type": "boolean", "const": false})),
            ("summaryLength", json!({"type": "integer", "minimum": shortest, "maximum": longest})),
        ],
    );
    let mut fields = vec![
        (
            "title",
            with_description(
                text(MediaSettings::TEXT_MAX),
                "Title for people. The player page of a public playback ID shows it.",
            ),
        ),
        ("creatorId", with_description(text(MediaSettings::TEXT_MAX), "Your own id of the creator.")),
        ("metadata", with_description(metadata(), "Your own key-value pairs.")),
        ("accessPolicy", policy()),
        (
            "drmConfigurationId",
            with_description(
                json!({"type": "string", "format": "uuid"}),
                "Has no effect: this server has no licence service.",
            ),
        ),
        (
            "accessRestrictions",
            with_description(restrictions(), "Domain and user agent rules of the first playback ID."),
        ),
        ("encryption", encryption()),
        (
            "maxResolution",
            with_default(
                with_description(
                    string_enum(Resolution::CAPS.map(Resolution::as_str)),
                    "Largest resolution that is streamed. A larger source is encoded.",
                ),
                Resolution::P1080.as_str(),
            ),
        ),
        (
            "mediaQuality",
            with_default(
                with_description(
                    string_enum(MediaQuality::ALL.map(MediaQuality::as_str)),
                    "Stored, but has no effect yet.",
                ),
                MediaQuality::default().as_str(),
            ),
        ),
        ("sourceAccess", flag("Whether viewers may download the source.")),
        (
            "optimizeAudio",
            flag(
                "Whether the audio is levelled to -16 LUFS, or to the target of the workspace. Measured once \
                    the media is ready; until then the audio plays as it is. \
                    `video.media.optimizeAudio.ready` reports the end of the measurement.",
            ),
        ),
        ("mp4Support", with_default(mp4_support(), Mp4Support::default().as_str())),
        ("summary", with_description(summary, "Not supported yet.")),
    ];
    for name in ["chapters", "namedEntities"] {
        fields
            .push((name, with_description(json!({"type": "boolean", "const": false}), "Not supported yet.")));
    }
    for name in ["subtitles", "createSubtitles", "moderation"] {
        fields.push((
            name,
            with_description(
                json!({"type": "object", "maxProperties": 0}),
                "Not supported yet; leave it out.",
            ),
        ));
    }
    fields
}

/// The `accessPolicy` field.
pub(in crate::on_demand) fn policy() -> Value {
    let policies = string_enum(AccessPolicy::ALL.map(AccessPolicy::as_str));
    let description = "`public`: the playback ID is enough to play. `private`: playback needs a token signed \
        by a signing key of the workspace. `drm` is rejected: this server has no licence service.";
    with_default(with_description(policies, description), AccessPolicy::Public.as_str())
}

/// The `encryption` field.
pub(in crate::on_demand) fn encryption() -> Value {
    let modes = string_enum(Encryption::ALL.map(Encryption::as_str));
    let description = "`aes-128`: every segment is encrypted for delivery (RFC 8216, METHOD=AES-128). Copies \
        in caches and CDNs do not play without the key, which only authorised viewers get. Single files and \
        the source cannot be downloaded then; thumbnails and subtitles are not encrypted. This is not DRM. \
        The value cannot be changed: create another playback ID.";
    with_default(with_description(modes, description), Encryption::None.as_str())
}

/// The `accessRestrictions` field: the rules on pages and user agents.
pub(in crate::on_demand) fn restrictions() -> Value {
    object(&[], [("domains", rule(DOMAINS_DESCRIPTION)), ("userAgents", rule(USER_AGENTS_DESCRIPTION))])
}

/// The schema of a rule, with this description of its entries.
pub(in crate::on_demand) fn rule(entry_description: &str) -> Value {
    let entry = json!({"type": "string", "minLength": 1, "maxLength": Restriction::ENTRY_CHARS_MAX});
    let list = json!({"type": "array", "maxItems": Restriction::ENTRIES_MAX, "items": with_description(entry, entry_description)});
    let policies = string_enum(DefaultPolicy::ALL.map(DefaultPolicy::as_str));
    object(
        &[],
        [
            (
                "defaultPolicy",
                with_default(
                    with_description(policies, "Applies to clients on neither list."),
                    DefaultPolicy::default().as_str(),
                ),
            ),
            ("allow", with_description(list.clone(), "Allowed if the default is `deny`.")),
            ("deny", with_description(list, "Denied if the default is `allow`.")),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::check_fields::check_fields;

    use super::*;
    use crate::example;
    use crate::on_demand::{create_request, update_request};

    #[test]
    fn media_schema_has_exactly_the_parsed_fields() {
        let workspace = example::WORKSPACE.parse().unwrap();
        check_fields(create, |body| drop(create_request::parse(body, workspace)));
        check_fields(update, |body| drop(update_request::parse(body)));
    }
}
