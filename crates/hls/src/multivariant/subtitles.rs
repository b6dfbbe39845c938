//! Subtitles beside the variants (RFC 8216, 4.3.4.1).

use std::fmt::Write as _;

use crate::{
    audio_names::{given_name, numbered},
    language::language,
};

/// The group that every variant refers to.
pub(super) const SUBTITLES_GROUP: &str = "subtitles";

/// Subtitles that there are.
#[derive(Debug, Clone, Copy)]
pub struct SubtitleOffer<'a> {
    /// BCP 47 tag, as a client wrote it.
    pub language_code: &'a str,
    /// What a client calls it.
    pub name: &'a str,
    /// Address of the playlist, without quotes or line ends.
    pub uri: &'a str,
}

/// A line of a multivariant playlist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubtitleRendition {
    /// Address of the playlist.
    pub uri: String,
    /// BCP 47 tag; `None` for one that names no language.
    pub language: Option<String>,
    /// What a player shows: not empty, and different from all others.
    pub name: String,
    /// A player may choose it by the viewer's language: the first of each. RFC 8216, 4.3.4.1.1.
    pub is_autoselected: bool,
}

impl SubtitleRendition {
    /// The lines of these subtitles, in their order. None is shown before a viewer, or the settings of a
    /// device, ask for it.
    pub fn of(offers: &[SubtitleOffer<'_>]) -> Vec<Self> {
        let mut renditions: Vec<Self> = Vec::with_capacity(offers.len());
        for offer in offers {
            let language = language(offer.language_code);
            let name = given_name(offer.name, language.as_ref(), "Subtitles");
            let name = numbered(name, |name| renditions.iter().all(|other| other.name != *name));
            let language = language.map(|language| language.tag);
            let is_autoselected = renditions.iter().all(|other| other.language != language);
            renditions.push(Self { uri: offer.uri.to_owned(), language, name, is_autoselected });
        }
        renditions
    }

    /// Appends its line.
    pub(super) fn render(&self, text: &mut String) {
        // Writing to a String cannot fail: what `write!` answers is of no use.
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

    fn lines(offers: &[(&str, &str)]) -> String {
        let offers: Vec<_> = offers
            .iter()
            .map(|&(language_code, name)| SubtitleOffer { language_code, name, uri: "s/playlist.m3u8" })
            .collect();
        let mut text = String::new();
        SubtitleRendition::of(&offers).iter().for_each(|rendition| rendition.render(&mut text));
        text
    }

    #[test]
    fn each_has_its_language_and_a_name_of_its_own() {
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
