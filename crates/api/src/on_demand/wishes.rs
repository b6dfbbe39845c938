//! What can be wished of a media, however its bytes come: the fields that a creation and the settings of a
//! direct upload share (C-123, C-139, C-11, C-16, C-124, C-33).

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use kinora_domain::{
    AccessPolicy, AccessRestrictions, Encryption, Media, MediaId, MediaQuality, MediaSettings, Mp4Support,
    NewTrack, Resolution, SoundEdit,
};
use kinora_web::fields::{Fields, as_kept};

use super::rules::restrictions;
use super::sound_input::sound_input;
use super::tracks::subtitle_input;

/// Longest address, in characters: no more is fetched.
pub(super) const URL_MAX: usize = kinora_fetch::URL_BYTES_MAX;
/// How long a summary may be asked to be, in words (C-123).
pub(super) const SUMMARY_LENGTHS: RangeInclusive<u32> = 30..=250;
/// Most inputs of one media; a list of thousands would only make the refusal long.
pub(super) const INPUTS_MAX: usize = 64;

pub(super) const NOT_YET: &str = "is not supported yet; leave it out";

/// What was wished of a media.
pub(super) struct Wishes {
    pub(super) policy: AccessPolicy,
    pub(super) restrictions: AccessRestrictions,
    pub(super) encryption: Encryption,
    pub(super) settings: MediaSettings,
}

/// Reads all of them but the inputs. Those that are stored and have no effect yet are named in `warnings`.
pub(super) fn wishes(fields: &Fields<'_>, warnings: &mut Vec<String>) -> Wishes {
    let policy = access_policy(fields);
    let settings = settings(fields, warnings);
    extras(fields);
    let (restrictions, encryption) = (access_restrictions(fields), encryption(fields));
    Wishes { policy, restrictions, encryption, settings }
}

/// What a media is made of.
#[derive(Default)]
pub(super) struct Inputs<'a> {
    /// The one video input.
    pub(super) video: Option<Fields<'a>>,
    /// Subtitles, no two with the same name.
    pub(super) tracks: Vec<NewTrack>,
    /// What is done to the sound.
    pub(super) sound: Option<SoundEdit>,
}

/// The inputs that are supported; the others are refused, each by its own path.
pub(super) fn inputs<'a>(fields: &Fields<'a>) -> Inputs<'a> {
    const { assert!(INPUTS_MAX <= Media::ADDED_TRACKS_MAX) };
    let Inputs { mut video, mut tracks, mut sound } = Inputs::default();
    let mut has_sound = false;
    for input in fields.objects("inputs", INPUTS_MAX).unwrap_or_default() {
        let kind =
            input.word("type", &["video", "watermark", "audio", "subtitle"], |word| Some(word.to_owned()));
        match kind.as_deref() {
            Some("video") if video.is_some() => {
                input.refuse("type", "a second video input is not supported yet; leave it out")
            }
            Some("video") => {
                cuts(&input);
                video = Some(input);
            }
            Some("audio") if has_sound => {
                input.refuse("type", "a second audio input cannot be; use its imposeTracks")
            }
            Some("audio") => {
                has_sound = true;
                sound = sound_input(&input);
            }
            Some("subtitle") => {
                let Some(track) = subtitle_input(&input) else { continue };
                if tracks.iter().any(|other: &NewTrack| other.language_name == track.language_name) {
                    input.refuse("languageName", "must not be that of another subtitle input");
                }
                tracks.push(track);
            }
            Some(kind) => input.refuse("type", format!("{kind} inputs are not supported yet; leave it out")),
            None if !input.has("type") => input.refuse("type", "must not be null"),
            None => {}
        }
    }
    Inputs { video, tracks, sound }
}

/// What would show something else than the file as it is.
fn cuts(input: &Fields<'_>) {
    times(input);
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
}

/// Where the media would begin and end within the file.
pub(super) fn times(fields: &Fields<'_>) {
    for name in ["startTime", "endTime"] {
        if fields.number(name).is_some() {
            fields.refuse(name, NOT_YET);
        }
    }
}

/// `public` unless another one was asked for (C-11).
pub(super) fn access_policy(fields: &Fields<'_>) -> AccessPolicy {
    if let Some(id) = fields.text("drmConfigurationId", MediaSettings::TEXT_MAX)
        && id.parse::<MediaId>().is_err()
    {
        fields.refuse("drmConfigurationId", "must be a UUID");
    }
    let word = fields.word("accessPolicy", &["public", "private", "drm"], |word| Some(word.to_owned()));
    match word.as_deref() {
        Some("drm") => {
            // Never silently clear: C-16.
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

/// None unless it was asked for.
pub(super) fn encryption(fields: &Fields<'_>) -> Encryption {
    // What is wrong with it is told by its own field.
    fields
        .word("encryption", &Encryption::ALL.map(Encryption::as_str), Encryption::from_text)
        .unwrap_or_default()
}

fn settings(fields: &Fields<'_>, warnings: &mut Vec<String>) -> MediaSettings {
    let caps = Resolution::CAPS.map(Resolution::as_str);
    let quality = fields
        .word("mediaQuality", &["standard", "pro", "premium"], MediaQuality::from_text)
        .unwrap_or_default();
    if quality != MediaQuality::Standard {
        warnings.push(stored(fields, "mediaQuality"));
    }
    let optimize_audio = fields.bool("optimizeAudio").unwrap_or(false);
    if optimize_audio {
        warnings.push(stored(fields, "optimizeAudio"));
    }
    MediaSettings {
        title: fields.kept_text("title", MediaSettings::TEXT_MAX),
        creator_id: fields.kept_text("creatorId", MediaSettings::TEXT_MAX),
        metadata: metadata(fields),
        max_resolution: fields
            .word("maxResolution", &caps, Resolution::from_text)
            .unwrap_or(Resolution::P1080),
        quality,
        source_access: fields.bool("sourceAccess").unwrap_or(false),
        mp4_support: mp4_support(fields).unwrap_or_default(),
        optimize_audio,
        sound: None,
    }
}

/// The files that are wanted beside playback.
pub(super) fn mp4_support(fields: &Fields<'_>) -> Option<Mp4Support> {
    fields.word("mp4Support", &Mp4Support::WORDS, Mp4Support::from_text)
}

fn stored(fields: &Fields<'_>, name: &str) -> String {
    format!("{} is stored and has no effect yet", fields.path(name))
}

/// The client's own key and value pairs.
pub(super) fn metadata(fields: &Fields<'_>) -> Option<BTreeMap<String, String>> {
    fields.object("metadata").map(|metadata| free_pairs(fields, "metadata", &metadata))
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
        } else if let Some(value) = pairs.kept_text(key, MediaSettings::TEXT_MAX) {
            read.insert(as_kept(key), value);
        }
    }
    read
}

/// What asks for something beside playback: refused unless it asks for what is so anyway
/// (C-33).
fn extras(fields: &Fields<'_>) {
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
        let (min, max) = (*SUMMARY_LENGTHS.start(), *SUMMARY_LENGTHS.end());
        if summary.number("summaryLength").is_some_and(|length| {
            length.fract() != 0.0 || !(f64::from(min)..=f64::from(max)).contains(&length)
        }) {
            summary.refuse("summaryLength", format!("must be a whole number from {min} to {max}"));
        }
        if summary.bool("generate") == Some(true) {
            fields.refuse("summary", NOT_YET);
        }
    }
}

/// Where and in what it may be watched; what was not sent restricts nothing.
pub(super) fn access_restrictions(fields: &Fields<'_>) -> AccessRestrictions {
    // What is wrong with them is told by their own fields.
    fields.object("accessRestrictions").and_then(|asked| restrictions(&asked)).unwrap_or_default()
}
