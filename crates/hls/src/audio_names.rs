//! Names of several audio tracks in a player's menu, each one unique.

use kinora_index::{Index, Track};

use crate::language_names::{Language, language};

/// Characters of the longest name: the capacity of a menu.
const NAME_LEN_MAX: usize = 64;

/// One audio track in a menu.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioName {
    /// BCP 47 tag; `None` when unknown.
    pub language: Option<String>,
    /// Not empty, different from all others, and fit for a quoted string (RFC 8216, 4.2).
    pub name: String,
}

/// Display name of a track that a client added: its own name, else that of the language, else `unknown`.
pub(crate) fn rendition_name(title: &str, language: Option<&Language>, unknown: &str) -> String {
    let given = Some(sanitized_title(title)).filter(|name| !name.is_empty());
    given.or_else(|| language.map(|language| language.name.clone())).unwrap_or_else(|| unknown.to_owned())
}

/// Names the audio tracks of an index, in their order. `unknown` names a track without any metadata.
///
/// The name is that of the language. If several tracks share one, their titles are appended, and then
/// numbers to those that are still equal. A track without a language has its title alone.
pub fn audio_names(index: &Index, unknown: &str) -> Vec<AudioName> {
    let tracks: Vec<&Track> = index.audio_tracks().map(|(track, _)| track).collect();
    let languages: Vec<Option<Language>> = tracks.iter().map(|track| language(&track.language)).collect();
    let mut names: Vec<AudioName> = Vec::with_capacity(tracks.len());
    for (track, language) in tracks.iter().zip(&languages) {
        let is_shared = languages.iter().filter(|other| *other == language).count() > 1;
        let title = track.label.title.as_deref().map(sanitized_title).filter(|title| !title.is_empty());
        let name = match (language, title) {
            (Some(language), Some(title)) if is_shared => format!("{} ({title})", language.name),
            (Some(language), _) => language.name.clone(),
            (None, Some(title)) => title,
            (None, None) => unknown.to_owned(),
        };
        let name = numbered(name, |name| names.iter().all(|other| other.name != *name));
        names.push(AudioName { language: language.as_ref().map(|language| language.tag.clone()), name });
    }
    names
}

/// The name, with a number appended if it is not free.
pub(crate) fn numbered(name: String, is_free: impl Fn(&String) -> bool) -> String {
    let numbered = (2..).map(|number: u32| format!("{name} ({number})"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// A title as one short line. Replaces characters that a quoted string cannot contain, and direction marks.
pub(crate) fn sanitized_title(title: &str) -> String {
    let letter = |letter: char| match letter {
        '"' => '\'',
        // Marks that reverse the text after them could hide the content of a menu. Unicode, UAX 9.
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => ' ',
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    let line: String = title.chars().map(letter).collect();
    let words: Vec<&str> = line.split_whitespace().collect();
    words.join(" ").chars().take(NAME_LEN_MAX).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinora_index::{
        AudioTrack, Container, SampleEntry, SampleObject, SampleTable, SegmentPlan, TrackLabel, TrackMedia,
    };

    fn track(language: &str, title: Option<&str>) -> Track {
        Track {
            source_track: 1,
            timescale: 48_000,
            language: language.to_owned(),
            label: TrackLabel { title: title.map(str::to_owned), ..TrackLabel::default() },
            media: TrackMedia::Audio(AudioTrack {
                sample_entry: SampleEntry::Iso(Vec::new()),
                not_copied: None,
                codec: "mp4a.40.2".to_owned(),
                sample_rate: 48_000,
                channels: 2,
                packet_samples: 1024,
            }),
            samples: [].into_iter().collect::<SampleTable>(),
            configurations: Vec::new(),
            edit_points: Vec::new(),
            shift: 0,
            end: 0,
            bitrate_average: 0,
            bitrate_peak: 0,
        }
    }

    fn check(tracks: &[(&str, Option<&str>)], expected: &[(Option<&str>, &str)]) {
        let index = Index {
            source_len: 0,
            source_sha256: [0; 32],
            container: Container::Mp4,
            objects: vec![SampleObject::source(0)],
            parts: Vec::new(),
            is_truncated: false,
            left_out: Vec::new(),
            overlay: None,
            tracks: tracks.iter().map(|(language, title)| track(language, *title)).collect(),
            plan: SegmentPlan::default(),
        };
        let names = audio_names(&index, "Audio");
        let names: Vec<_> = names.iter().map(|name| (name.language.as_deref(), name.name.as_str())).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn audio_track_name_is_its_language() {
        check(&[("eng", None), ("deu", Some("Stereo"))], &[(Some("en"), "English"), (Some("de"), "German")]);
        check(
            &[("en-GB", None), ("en-US", None)],
            &[(Some("en-GB"), "English (GB)"), (Some("en-US"), "English (US)")],
        );
        check(&[("und", None)], &[(None, "Audio")]);
        check(&[("und", Some("Director"))], &[(None, "Director")]);
        check(&[], &[]);
    }

    #[test]
    fn audio_names_of_one_language_are_unique() {
        check(
            &[("eng", Some("Stereo")), ("eng", Some("Commentary")), ("eng", None), ("ger", None)],
            &[
                (Some("en"), "English (Stereo)"),
                (Some("en"), "English (Commentary)"),
                (Some("en"), "English"),
                (Some("de"), "German"),
            ],
        );
        check(
            &[("eng", None), ("eng", None), ("eng", Some("2")), ("eng", Some("2"))],
            &[
                (Some("en"), "English"),
                (Some("en"), "English (2)"),
                (Some("en"), "English (2) (2)"),
                (Some("en"), "English (2) (3)"),
            ],
        );
        check(&[("und", None), ("zxx", None)], &[(None, "Audio"), (None, "Audio (2)")]);
        check(&[("und", Some("English")), ("eng", None)], &[(None, "English"), (Some("en"), "English (2)")]);
    }

    #[test]
    fn no_title_breaks_a_playlist_or_a_menu() {
        let check = |title: &str, expected: &str| check(&[("und", Some(title))], &[(None, expected)]);
        check("a \"b\"\r\n#EXT-X-ENDLIST\n", "a 'b' #EXT-X-ENDLIST");
        check("\u{202e}drawkcab\u{7}\u{0}", "drawkcab");
        check("\u{2066}\n\u{feff}", "Audio");
        check(&"ä".repeat(200), &"ä".repeat(64));
        check(&["a"; 99].join(" "), &["a"; 32].join(" "));
    }
}
