//! Subtitle renditions of a multivariant playlist (RFC 8216, 4.3.4.1).

use std::fmt::Write as _;

use crate::{
    audio_names::{numbered, rendition_name},
    language_names::language,
};

/// The subtitle group of every variant.
pub(super) const SUBTITLES_GROUP: &str = "subtitles";

/// Subtitles of a media.
#[derive(Debug, Clone, Copy)]
pub struct SubtitleTrack<'a> {
    /// BCP 47 tag, as a client wrote it.
    pub language_code: &'a str,
    /// Name that a client gave.
    pub name: &'a str,
    /// Address of the playlist, without quotes or line ends.
    pub uri: &'a str,
}

/// A rendition in a multivariant playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtitleRendition {
    /// Address of the playlist.
    pub uri: String,
    /// BCP 47 tag; `None` for a code without a language.
    pub language: Option<String>,
    /// Name in the player's menu: not empty, and different from all others.
    pub name: String,
    /// A player may select it by the viewer's language: the first of each. RFC 8216, 4.3.4.1.1.
    pub is_autoselected: bool,
}

impl SubtitleRendition {
    /// The renditions of these subtitles, in their order. None is shown unless the viewer, or the settings
    /// of a device, select it.
    pub fn of(tracks: &[SubtitleTrack<'_>]) -> Vec<Self> {
        let mut renditions: Vec<Self> = Vec::with_capacity(tracks.len());
        for track in tracks {
            let language = language(track.language_code);
            let name = rendition_name(track.name, language.as_ref(), "Subtitles");
            let name = numbered(name, |name| renditions.iter().all(|other| other.name != *name));
            let language = language.map(|language| language.tag);
            let is_autoselected = renditions.iter().all(|other| other.language != language);
            renditions.push(Self { uri: track.uri.to_owned(), language, name, is_autoselected });
        }
        renditions
    }

    /// Appends its line.
    pub(super) fn render(&self, text: &mut String) {
        // Writing to a String cannot fail: the result of `write!` is ignored.
        let _ = write!(text, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"{SUBTITLES_GROUP}\"");
        if let Some(language) = &self.language {
            let _ = write!(text, ",LANGUAGE=\"{language}\"");
        }
        let autoselect = if self.is_autoselected { "YES" } else { "NO" };
        let _ = writeln!(
            text,
            ",NAME=\"{}\",DEFAULT=NO,AUTOSELECT={autoselect},FORCED=NO,URI=\"{}\"",
            self.name, self.uri
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(tracks: &[(&str, &str)]) -> String {
        let offers: Vec<_> = tracks
            .iter()
            .map(|&(language_code, name)| SubtitleTrack { language_code, name, uri: "s/playlist.m3u8" })
            .collect();
        let mut text = String::new();
        SubtitleRendition::of(&offers).iter().for_each(|rendition| rendition.render(&mut text));
        text
    }

    #[test]
    fn subtitle_renditions_have_language_and_unique_name() {
        assert_eq!(
            lines(&[
                ("en-us", "English"),
                ("de", "Deutsch"),
                ("en-US", "English"),
                ("und", ""),
                ("fra", "\"\r\n#EXT\u{202e}")
            ]),
            "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\",LANGUAGE=\"en-US\",NAME=\"English\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI=\"s/playlist.m3u8\"\n\
             #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\",LANGUAGE=\"de\",NAME=\"Deutsch\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI=\"s/playlist.m3u8\"\n\
             #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\",LANGUAGE=\"en-US\",NAME=\"English (2)\",DEFAULT=NO,AUTOSELECT=NO,FORCED=NO,URI=\"s/playlist.m3u8\"\n\
             #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\",NAME=\"Subtitles\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI=\"s/playlist.m3u8\"\n\
             #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"subtitles\",LANGUAGE=\"fr\",NAME=\"' #EXT\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI=\"s/playlist.m3u8\"\n"
        );
        assert_eq!(lines(&[]), "");
    }
}
