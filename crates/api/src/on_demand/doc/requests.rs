//! The bodies that media are made and changed with.

use kinora_domain::{
    AccessPolicy, DefaultPolicy, Encryption, MediaQuality, MediaSettings, Mp4Support, Resolution, Restriction,
};
use kinora_web::openapi::Schemas;
use kinora_web::openapi::schema::{default, metadata, object, said, text, words};
use serde_json::{Value, json};

use crate::on_demand::sound_input;
use crate::on_demand::tracks::described_input;
use crate::on_demand::update_request::TIME_S_MAX;
use crate::on_demand::wishes::{INPUTS_MAX, SUMMARY_LENGTHS, URL_MAX};

pub(in crate::on_demand) const DOMAINS: &str =
    "A host such as `example.com`, which holds below it too, or `*.example.com` for its sub-domains alone.";
pub(in crate::on_demand) const USER_AGENTS: &str = "A part of the user agent, in the same letters.";

/// The body of `POST /on-demand`.
pub(super) fn create(schemas: &mut Schemas) -> Value {
    let url = json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://"});
    let url = said(
        url,
        "Where the file is. Its host must lie in the public network, unless the operator allows others.",
    );
    let video =
        object(&["type", "url"], [("type", words(["video"])), ("url", url)].into_iter().chain(cuts()));
    let mut inputs = inputs(video);
    inputs["minItems"] = 1.into();
    let body = object(&["inputs"], [("inputs", inputs)].into_iter().chain(wishes()));
    schemas.named("CreateMedia", body)
}

/// The body of `PATCH /on-demand/{mediaId}`.
pub(super) fn update(schemas: &mut Schemas) -> Value {
    let time = json!({"type": "number", "minimum": 0, "maximum": TIME_S_MAX});
    let time = said(
        time,
        "Seconds since the start: the frame that `thumbnail.jpg` shows where no `time` is asked for.",
    );
    let thumbnail = object(&["time"], [("time", time)]);
    let body = object(
        &[],
        [
            ("title", said(text(MediaSettings::TEXT_MAX), "`null` empties it.")),
            ("creatorId", text(MediaSettings::TEXT_MAX)),
            ("metadata", said(metadata(), "Replaces what was there.")),
            ("thumbnail", said(thumbnail, "`null` goes back to a picture near the middle.")),
        ],
    );
    schemas.named("UpdateMedia", body)
}

/// The body of `PATCH /on-demand/{mediaId}/source-access`.
pub(super) fn source_access(schemas: &mut Schemas) -> Value {
    let wish = said(json!({"type": "boolean"}), "Whether the file itself may be downloaded.");
    schemas.named("SourceAccess", object(&["sourceAccess"], [("sourceAccess", wish)]))
}

/// The body of `PATCH /on-demand/{mediaId}/update-mp4Support`.
pub(super) fn update_mp4_support(schemas: &mut Schemas) -> Value {
    schemas.named("UpdateMp4Support", object(&["mp4Support"], [("mp4Support", mp4_support())]))
}

/// The files that are wanted beside playback.
fn mp4_support() -> Value {
    let description = "`capped_4k`: pictures and sound at `{playbackId}/capped-4k.mp4`. `audioOnly`: the sound at `{playbackId}/audio.m4a`.";
    said(words(Mp4Support::WORDS), description)
}

/// `pushMediaSettings` of a direct upload: the wishes, and an input that has no address.
pub(in crate::on_demand) fn push_media_settings() -> Value {
    let url = said(words([""]), "Left out: the file is what is sent to the upload's address.");
    let video = object(&["type"], [("type", words(["video"])), ("url", url)].into_iter().chain(cuts()));
    object(&[], [("inputs", inputs(video))].into_iter().chain(times()).chain(wishes()))
}

/// One video, what is done to its sound, and subtitles.
fn inputs(video: Value) -> Value {
    let kinds = [video, sound_input::described(), described_input()];
    let inputs = json!({"type": "array", "maxItems": INPUTS_MAX, "items": {"anyOf": kinds}});
    said(
        inputs,
        "What it is made of: one video or sound file; another sound for it, or more over it; subtitles that are shown with it.",
    )
}

/// What can be wished of a media, however its bytes come.
fn wishes() -> Vec<(&'static str, Value)> {
    let flag = |description: &str| default(said(json!({"type": "boolean"}), description), false);
    let (shortest, longest) = (*SUMMARY_LENGTHS.start(), *SUMMARY_LENGTHS.end());
    let summary = object(
        &[],
        [
            ("generate", json!({"type": "boolean", "const": false})),
            ("summaryLength", json!({"type": "integer", "minimum": shortest, "maximum": longest})),
        ],
    );
    let mut wishes = vec![
        (
            "title",
            said(
                text(MediaSettings::TEXT_MAX),
                "Shown to people, also by the player page of a public playback ID.",
            ),
        ),
        ("creatorId", said(text(MediaSettings::TEXT_MAX), "Your own id of who made it.")),
        ("metadata", said(metadata(), "Your own key and value pairs.")),
        ("accessPolicy", policy()),
        (
            "drmConfigurationId",
            said(json!({"type": "string", "format": "uuid"}), "Without effect: there is no licence service."),
        ),
        ("accessRestrictions", said(restrictions(), "Where, and in what, the first playback ID is watched.")),
        ("encryption", encryption()),
        (
            "maxResolution",
            default(
                said(
                    words(Resolution::CAPS.map(Resolution::as_str)),
                    "Nothing larger is streamed; a larger source is encoded.",
                ),
                Resolution::P1080.as_str(),
            ),
        ),
        (
            "mediaQuality",
            default(
                said(
                    words(MediaQuality::ALL.map(MediaQuality::as_str)),
                    "Stored; there is one quality so far.",
                ),
                MediaQuality::default().as_str(),
            ),
        ),
        ("sourceAccess", flag("Whether the file itself may be downloaded.")),
        ("optimizeAudio", flag("Stored; loudness is not normalised so far.")),
        ("mp4Support", default(mp4_support(), Mp4Support::default().as_str())),
        ("summary", said(summary, "Not made yet.")),
    ];
    for name in ["chapters", "namedEntities"] {
        wishes.push((name, said(json!({"type": "boolean", "const": false}), "Not made yet.")));
    }
    for name in ["subtitles", "createSubtitles", "moderation"] {
        wishes
            .push((name, said(json!({"type": "object", "maxProperties": 0}), "Not made yet; leave it out.")));
    }
    wishes
}

/// Who may watch.
pub(in crate::on_demand) fn policy() -> Value {
    let policies = words(AccessPolicy::ALL.map(AccessPolicy::as_str));
    let description = "`public`: whoever has the playback ID. `private`: whoever has a token that a signing key of the workspace signed. `drm` is refused: there is no \
                       licence service.";
    default(said(policies, description), AccessPolicy::Public.as_str())
}

/// How what plays is encrypted.
pub(in crate::on_demand) fn encryption() -> Value {
    let ways = words(Encryption::ALL.map(Encryption::as_str));
    let description = "`aes-128`: every segment is encrypted on its way (RFC 8216, METHOD=AES-128), so that what caches and CDNs keep plays for nobody without the key, which is \
                       given to those alone who may watch. Files in one piece and the original are then refused; pictures and subtitles stay in clear. It is no DRM, and is \
                       never changed: make another playback ID.";
    default(said(ways, description), Encryption::None.as_str())
}

/// What would show something else than the file as it is.
fn cuts() -> impl Iterator<Item = (&'static str, Value)> {
    let empty = |name| (name, said(words([""]), "Not supported yet; leave it out."));
    let none =
        |name| (name, said(json!({"type": "array", "maxItems": 0}), "Not supported yet; leave it out."));
    let cuts = [empty("introUrl"), empty("outroUrl"), none("expungeSegments"), none("segments")];
    times().into_iter().chain(cuts)
}

/// Where the media would begin and end within the file.
fn times() -> [(&'static str, Value); 2] {
    ["startTime", "endTime"]
        .map(|name| (name, said(json!({"type": "null"}), "Not supported yet; leave it out.")))
}

/// Where, and in what, something is watched.
pub(in crate::on_demand) fn restrictions() -> Value {
    object(&[], [("domains", rule(DOMAINS)), ("userAgents", rule(USER_AGENTS))])
}

/// A rule, whose entries are described by these words.
pub(in crate::on_demand) fn rule(entries: &str) -> Value {
    let entry = json!({"type": "string", "minLength": 1, "maxLength": Restriction::ENTRY_CHARS_MAX});
    let list = json!({"type": "array", "maxItems": Restriction::ENTRIES_MAX, "items": said(entry, entries)});
    let policies = words(DefaultPolicy::ALL.map(DefaultPolicy::as_str));
    object(
        &[],
        [
            (
                "defaultPolicy",
                default(
                    said(policies, "What holds for whoever is on neither list."),
                    DefaultPolicy::default().as_str(),
                ),
            ),
            ("allow", said(list.clone(), "Let in where the default is `deny`.")),
            ("deny", said(list, "Kept out where the default is `allow`.")),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kinora_web::openapi::schema::reading::check_fields;

    use super::*;
    use crate::example;
    use crate::on_demand::{create_request, update_request};

    #[test]
    fn what_is_read_of_a_media_is_described_and_nothing_else() {
        let workspace = example::WORKSPACE.parse().unwrap();
        check_fields(create, |body| drop(create_request::parse(body, workspace)));
        check_fields(update, |body| drop(update_request::parse(body)));
    }
}
