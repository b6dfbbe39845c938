//! The language of a track: the tag of `elng`, else the 16 bits of `mdhd`.

use kinora_index::Container;

use super::super::boxes::{BoxRef, FieldReader};

/// Maximum length of a tag. RFC 5646, 4.4.1: longer tags are not needed.
const TAG_LEN_MAX: usize = 35;

/// ISO 639-2: undetermined.
const UNDETERMINED: &str = "und";
/// The first code of three packed letters; in QuickTime, numbers below are Macintosh language codes.
/// QuickTime File Format, language codes.
const PACKED_CODE_MIN: u16 = 0x400;
/// The first Macintosh language codes, in ISO 639-2/T.
const MACINTOSH_LANGUAGES: [&str; 34] = [
    "eng", "fra", "deu", "ita", "nld", "swe", "spa", "dan", "por", "nor", "heb", "jpn", "ara", "fin", "ell",
    "isl", "mlt", "tur", "hrv", "zho", "urd", "hin", "tha", "kor", "lit", "pol", "hun", "est", "lav", "sme",
    "fao", "fas", "rus", "zho",
];

/// The BCP 47 tag of `elng`, else the ISO 639-2/T code of `mdhd`, `und` if there is none.
pub(super) fn language(mdia: &BoxRef<'_>, code: u16, container: Container) -> String {
    elng_language(mdia).map_or_else(|| mdhd_language(code, container), str::to_owned)
}

/// The tag of `elng`, if it has the form of a tag and names a language. ISO/IEC 14496-12, 8.4.6; RFC 5646,
/// 2.1.
fn elng_language<'a>(mdia: &BoxRef<'a>) -> Option<&'a str> {
    let mut fields = FieldReader::new(mdia.child(b"elng")?.body);
    fields.version_and_flags()?;
    let tag = fields.rest.split(|&byte| byte == 0).next()?;
    language_tag(std::str::from_utf8(tag).ok()?)
}

/// The text, if it has the form of a tag and names a language. RFC 5646, 2.1.
pub fn language_tag(tag: &str) -> Option<&str> {
    if tag.len() > TAG_LEN_MAX {
        return None;
    }
    let mut subtags = tag.split('-');
    let primary = subtags.next()?;
    let is_language =
        (2..=3).contains(&primary.len()) && primary.bytes().all(|letter| letter.is_ascii_alphabetic());
    let is_tag =
        |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_known = !primary.eq_ignore_ascii_case(UNDETERMINED);
    (is_language && is_known && subtags.all(is_tag)).then_some(tag)
}

fn mdhd_language(code: u16, container: Container) -> String {
    if container == Container::Mov && code < PACKED_CODE_MIN {
        return MACINTOSH_LANGUAGES.get(usize::from(code)).copied().unwrap_or(UNDETERMINED).into();
    }
    // ISO/IEC 14496-12, 8.4.2: three letters of 5 bits, each less 0x60.
    let letters = [code >> 10, code >> 5, code].map(|bits| (bits & 0x1f) as u8 + 0x60);
    match std::str::from_utf8(&letters) {
        Ok(letters) if letters.bytes().all(|letter| letter.is_ascii_lowercase()) => letters.into(),
        _ => UNDETERMINED.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::FourCc;

    #[test]
    fn codes_become_languages() {
        use Container::{Mov, Mp4};
        for (code, container, expected) in [
            (0x55c4, Mp4, "und"),
            (0x15c7, Mp4, "eng"),
            (0x15c7, Mov, "eng"),
            (0x10b5, Mp4, "deu"),
            (0, Mp4, "und"),
            (0, Mov, "eng"),
            (2, Mov, "deu"),
            (0x3ff, Mov, "und"),
            (0x7fff, Mov, "und"),
            (0xffff, Mp4, "und"),
        ] {
            assert_eq!(mdhd_language(code, container), expected, "{code:#x} {container:?}");
        }
    }

    #[test]
    fn elng_tag_overrides_mdhd_code() {
        let check = |text: &[u8], expected: &str| {
            let elng = [&(text.len() as u32 + 12).to_be_bytes()[..], b"elng\0\0\0\0", text].concat();
            let mdia = BoxRef { kind: FourCc(*b"mdia"), body: &elng };
            assert_eq!(language(&mdia, 0x10b5, Container::Mp4), expected, "{text:?}");
        };
        check(b"de-CH\0", "de-CH");
        check(b"zh-Hant-TW\0", "zh-Hant-TW");
        check(b"fil", "fil");
        check(b"ENG\0", "ENG");
        let longest = format!("en-{}", ["12345678"; 4].join("-"));
        check(&longest.as_bytes()[..35], &longest[..35]);
        check(format!("{longest}-x").as_bytes(), "deu");
        for garbage in [
            &b""[..],
            b"\0",
            b"und\0",
            b"UND-DE",
            b"e",
            b"english",
            b"en--US",
            b"en-",
            b"-en",
            b"12-US",
            b"en US",
            b"en\"",
            b"en-123456789",
            b"\xff\xfe",
            b"d\xc3\xa4",
            b"x-klingon",
        ] {
            check(garbage, "deu");
        }
    }
}
