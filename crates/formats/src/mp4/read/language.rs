//! The language of a track, out of the 16 bits of `mdhd`.

use crate::index::Container;

/// ISO 639-2: not known.
const UNDETERMINED: &str = "und";
/// In QuickTime numbers below this are Macintosh language codes, others three packed letters. QuickTime File Format, language codes.
const MACINTOSH_CODES: u16 = 0x400;
/// The first Macintosh language codes, in ISO 639-2/T.
const MACINTOSH: [&str; 34] = [
    "eng", "fra", "deu", "ita", "nld", "swe", "spa", "dan", "por", "nor", "heb", "jpn", "ara", "fin", "ell",
    "isl", "mlt", "tur", "hrv", "zho", "urd", "hin", "tha", "kor", "lit", "pol", "hun", "est", "lav", "sme",
    "fao", "fas", "rus", "zho",
];

/// The ISO 639-2/T code, `und` when there is none.
pub(super) fn language(code: u16, container: Container) -> String {
    if container == Container::Mov && code < MACINTOSH_CODES {
        return MACINTOSH.get(usize::from(code)).copied().unwrap_or(UNDETERMINED).into();
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
            assert_eq!(language(code, container), expected, "{code:#x} {container:?}");
        }
    }
}
