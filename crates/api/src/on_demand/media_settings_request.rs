//! The settings of a media, independent of how its bytes arrive: the fields that a creation and a direct
//! upload share (C-123, C-139, C-11, C-16, C-124, C-33).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use kinora_domain::{
    AccessPolicy, AccessRestrictions, AudioEdit, Encryption, Media, MediaId, MediaQuality, MediaSettings,
    Mp4Support, NewTrack, Resolution, TimelineEdit, Watermark,
};
use kinora_web::access_restrictions::restrictions;
use kinora_web::fields::{Fields, replace_nul};

use super::audio_input::audio_input;
use super::timeline_edit;
use super::tracks::subtitle_input;
use super::watermark::watermark_input;

/// Longest address, in characters; longer ones are not fetched.
pub(super) const URL_MAX: usize = kinora_fetch::URL_BYTES_MAX;
/// Allowed lengths of a summary, in words (C-123).
pub(super) const SUMMARY_LENGTHS: RangeInclusive<u32> = 30..=250;
/// Most inputs of one media; a list of thousands would only make the error long.
pub(super) const INPUTS_MAX: usize = 64;

pub(super) const UNSUPPORTED: &str = "is not supported yet; leave it out";

/// The parsed settings of a media.
pub(super) struct NewMediaSettings {
    pub(super) policy: AccessPolicy,
    pub(super) restrictions: AccessRestrictions,
    pub(super) encryption: Encryption,
    pub(super) settings: MediaSettings,
}

/// Parses all settings except the inputs. Settings that are stored and have no effect yet are named in
/// `warnings`.
pub(super) fn media_settings(fields: &Fields<'_>, warnings: &mut Vec<String>) -> NewMediaSettings {
    let policy = access_policy(fields);
    let settings = settings(fields, warnings);
    reject_unsupported(fields);
    let (restrictions, encryption) = (access_restrictions(fields), encryption(fields));
    NewMediaSettings { policy, restrictions, encryption, settings }
}

/// The inputs of a media.
#[derive(Default)]
pub(super) struct Inputs<'a> {
    /// The one video input.
    pub(super) video: Option<Fields<'a>>,
    /// Subtitle tracks, with unique names.
    pub(super) tracks: Vec<NewTrack>,
    /// The edits of the audio.
    pub(super) audio: Option<AudioEdit>,
    /// The edit of the timeline of the video.
    pub(super) timeline_edit: Option<TimelineEdit>,
    /// The image over the video.
    pub(super) watermark: Option<Watermark>,
    /// The path of the watermark's `type`, for errors that depend on another media.
    pub(super) watermark_path: String,
}

/// All inputs; wrong ones are rejected, each with its own path.
pub(super) fn inputs<'a>(fields: &Fields<'a>) -> Inputs<'a> {
    const { assert!(INPUTS_MAX <= Media::ADDED_TRACKS_MAX) };
    let mut all = Inputs::default();
    let (mut has_audio, mut has_watermark) = (false, false);
    for input in fields.objects("inputs", INPUTS_MAX).unwrap_or_default() {
        let kind =
            input.one_of("type", &["video", "watermark", "audio", "subtitle"], |word| Some(word.to_owned()));
        match kind.as_deref() {
            Some("video") if all.video.is_some() => {
                input.reject("type", "a second video input is not supported yet; leave it out")
            }
            Some("video") => {
                all.timeline_edit = timeline_edit::timeline_edit(&input);
                all.video = Some(input);
            }
            Some("audio") if has_audio => {
                input.reject("type", "only one audio input is allowed; add more audio with its imposeTracks")
            }
            Some("audio") => {
                has_audio = true;
                all.audio = audio_input(&input);
            }
            Some("watermark") if has_watermark => input.reject("type", "only one watermark is allowed"),
            Some("watermark") => {
                has_watermark = true;
                all.watermark_path = input.path("type");
                all.watermark = watermark_input(&input);
            }
            Some("subtitle") => {
                let Some(track) = subtitle_input(&input) else { continue };
                if all.tracks.iter().any(|other: &NewTrack| other.language_name == track.language_name) {
                    input.reject("languageName", "must differ from that of the other subtitle inputs");
                }
                all.tracks.push(track);
            }
            None if !input.is_present("type") => input.reject("type", "must not be null"),
            Some(_) | None => {}
        }
    }
    all
}

/// The access policy; `public` by default (C-11).
pub(super) fn access_policy(fields: &Fields<'_>) -> AccessPolicy {
    if let Some(id) = fields.text("drmConfigurationId", MediaSettings::TEXT_MAX)
        && id.parse::<MediaId>().is_err()
    {
        fields.reject("drmConfigurationId", "must be a UUID");
    }
    let word = fields.one_of("accessPolicy", &["public", "private", "drm"], |word| Some(word.to_owned()));
    match word.as_deref() {
        Some("drm") => {
            // Never silently unencrypted: C-16.
            fields.reject(
                "accessPolicy",
                "must be public or private: drm needs a licence service, and this server has none",
            );
            AccessPolicy::Private
        }
        Some(word) => AccessPolicy::from_text(word).unwrap_or(AccessPolicy::Private),
        None => AccessPolicy::Public,
    }
}

/// The encryption; none by default.
pub(super) fn encryption(fields: &Fields<'_>) -> Encryption {
    // An error is reported with its own field.
    fields
        .one_of("encryption", &Encryption::ALL.map(Encryption::as_str), Encryption::from_text)
        .unwrap_or_default()
}

fn settings(fields: &Fields<'_>, warnings: &mut Vec<String>) -> MediaSettings {
    let caps = Resolution::CAPS.map(Resolution::as_str);
    let quality = fields
        .one_of("mediaQuality", &["standard", "pro", "premium"], MediaQuality::from_text)
        .unwrap_or_default();
    if quality != MediaQuality::Standard {
        warnings.push(no_effect_warning(fields, "mediaQuality"));
    }
    MediaSettings {
        title: fields.stored_text("title", MediaSettings::TEXT_MAX),
        creator_id: fields.stored_text("creatorId", MediaSettings::TEXT_MAX),
        metadata: metadata(fields),
        max_resolution: fields
            .one_of("maxResolution", &caps, Resolution::from_text)
            .unwrap_or(Resolution::P1080),
        quality,
        source_access: fields.bool("sourceAccess").unwrap_or(false),
        mp4_support: mp4_support(fields).unwrap_or_default(),
        optimize_audio: fields.bool("optimizeAudio").unwrap_or(false),
        audio_edit: None,
        timeline_edit: None,
        watermark: None,
    }
}

/// The files that are offered in addition to playback.
pub(super) fn mp4_support(fields: &Fields<'_>) -> Option<Mp4Support> {
    fields.one_of("mp4Support", &Mp4Support::WORDS, Mp4Support::from_text)
}

fn no_effect_warning(fields: &Fields<'_>, name: &str) -> String {
    format!("{} is stored and has no effect yet", fields.path(name))
}

/// The client's own key and value pairs.
pub(super) fn metadata(fields: &Fields<'_>) -> Option<BTreeMap<String, String>> {
    fields.object("metadata").map(|metadata| metadata_entries(fields, "metadata", &metadata))
}

fn metadata_entries(parent: &Fields<'_>, name: &str, pairs: &Fields<'_>) -> BTreeMap<String, String> {
    if pairs.entries().count() > MediaSettings::METADATA_ENTRIES_MAX {
        parent.reject(name, format!("must have at most {} entries", MediaSettings::METADATA_ENTRIES_MAX));
        return BTreeMap::new();
    }
    let mut valid_entries = BTreeMap::new();
    for (key, _) in pairs.entries() {
        if key.chars().count() > MediaSettings::TEXT_MAX {
            parent.reject(name, format!("must have keys of at most {} characters", MediaSettings::TEXT_MAX));
        } else if !pairs.is_present(key) {
            pairs.reject(key, "must be a string");
        } else if let Some(value) = pairs.stored_text(key, MediaSettings::TEXT_MAX) {
            valid_entries.insert(replace_nul(key), value);
        }
    }
    valid_entries
}

/// Rejects fields that request more than playback, unless they request the default (C-33).
fn reject_unsupported(fields: &Fields<'_>) {
    for name in ["chapters", "namedEntities"] {
        if fields.bool(name) == Some(true) {
            fields.reject(name, UNSUPPORTED);
        }
    }
    if let Some(moderation) = fields.object("moderation") {
        moderation.one_of("type", &["video", "audio", "av"], |_| Some(()));
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
            fields.reject(name, UNSUPPORTED);
        }
    }
    if let Some(summary) = fields.object("summary") {
        let (min, max) = (*SUMMARY_LENGTHS.start(), *SUMMARY_LENGTHS.end());
        if summary.number("summaryLength").is_some_and(|length| {
            length.fract() != 0.0 || !(f64::from(min)..=f64::from(max)).contains(&length)
        }) {
            summary.reject("summaryLength", format!("must be a whole number from {min} to {max}"));
        }
        if summary.bool("generate") == Some(true) {
            fields.reject("summary", UNSUPPORTED);
        }
    }
}

/// The rules on pages and user agents; a rule that was not sent restricts nothing.
pub(super) fn access_restrictions(fields: &Fields<'_>) -> AccessRestrictions {
    // Errors are reported with their own fields.
    fields.object("accessRestrictions").and_then(|object| restrictions(&object)).unwrap_or_default()
}
