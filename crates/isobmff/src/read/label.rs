//! The label of a track: its title, and for which viewers it is.

use kinora_index::{TITLE_LEN_MAX, TrackLabel};

use super::super::boxes::{BoxRef, FieldReader, children};

/// Maximum number of boxes of `udta` that are read: writers put a handful there.
const USER_DATA_BOXES_MAX: usize = 64;
/// The tag for audio description in files of Apple's tools. QuickTime File Format, `tagc`.
const AUDIO_DESCRIPTION_TAG: &[u8] = b"public.accessibility.describes-video";
/// The tag for audio description in other files: a scheme and a role. ISO/IEC 23009-1, 5.8.5.5.
const AUDIO_DESCRIPTION_ROLE: [&[u8]; 2] = [b"urn:mpeg:dash:role:2011", b"description"];

/// The label of a track.
///
/// The title is `udta.name`. The name of the handler (`hdlr`) is no title: it is the name of the muxer.
pub(super) fn label(trak: &BoxRef<'_>, is_enabled: bool) -> TrackLabel {
    let mut label = TrackLabel { is_enabled, ..TrackLabel::default() };
    let Some(udta) = trak.child(b"udta") else { return label };
    for data in children(udta.body).take(USER_DATA_BOXES_MAX) {
        match &data.kind.0 {
            b"name" => label.title = label.title.take().or_else(|| parse_title(data.body)),
            b"tagc" => label.describes_video |= before_zero_byte(data.body) == AUDIO_DESCRIPTION_TAG,
            b"kind" => label.describes_video |= scheme_and_value(data.body) == Some(AUDIO_DESCRIPTION_ROLE),
            _ => {}
        }
    }
    label
}

/// The text up to its first zero byte, cut to [`TITLE_LEN_MAX`] bytes; `None` if it is empty or not UTF-8.
pub fn parse_title(bytes: &[u8]) -> Option<String> {
    let title = std::str::from_utf8(before_zero_byte(bytes)).ok()?.trim();
    let end = title.floor_char_boundary(TITLE_LEN_MAX);
    Some(title[..end].to_owned()).filter(|title| !title.is_empty())
}

/// Scheme and value. ISO/IEC 14496-12, 8.10.4.
fn scheme_and_value(body: &[u8]) -> Option<[&[u8]; 2]> {
    let mut fields = FieldReader::new(body);
    fields.version_and_flags()?;
    let mut texts = fields.rest.split(|&byte| byte == 0);
    Some([texts.next()?, texts.next()?])
}

/// The bytes before the first zero byte.
fn before_zero_byte(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::FourCc;

    fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32 + 8).to_be_bytes()[..], kind, body].concat()
    }

    fn read(user_data: &[Vec<u8>]) -> (Option<String>, bool) {
        let trak = boxed(b"udta", &user_data.concat());
        let label = label(&BoxRef { kind: FourCc(*b"trak"), body: &trak }, true);
        assert!(label.is_enabled);
        (label.title, label.describes_video)
    }

    fn check_title(bytes: &[u8], expected: Option<&str>) {
        assert_eq!(read(&[boxed(b"name", bytes)]), (expected.map(str::to_owned), false), "{bytes:?}");
    }

    #[test]
    fn track_title_is_trimmed_and_limited_in_length() {
        check_title(b"Commentary", Some("Commentary"));
        check_title(b" Commentary \0 and more", Some("Commentary"));
        check_title("Müller".as_bytes(), Some("Müller"));
        // The writer of playlists removes characters that a playlist cannot contain.
        check_title(b"a \"b\"\nc", Some("a \"b\"\nc"));
        check_title(b"", None);
        check_title(b" \t\0", None);
        check_title(&[0xff, 0xfe, 0x41], None);
        check_title(&[b'a'; 4096], Some(&"a".repeat(TITLE_LEN_MAX)));
        check_title("ä".repeat(4096).as_bytes(), Some(&"ä".repeat(TITLE_LEN_MAX / 2)));
        check_title(["a", &"ä".repeat(99)].concat().as_bytes(), Some(&["a", &"ä".repeat(63)].concat()));
    }

    #[test]
    fn audio_description_is_detected_by_tag_or_role() {
        let tag = |text: &[u8]| boxed(b"tagc", text);
        let kind = |text: &[u8]| boxed(b"kind", &[&[0; 4], text].concat());
        let check = |data: Vec<u8>, expected: bool| assert_eq!(read(&[data]), (None, expected));
        check(tag(b"public.accessibility.describes-video"), true);
        check(tag(b"public.accessibility.describes-video\0"), true);
        check(tag(b"public.main-program-content"), false);
        check(kind(b"urn:mpeg:dash:role:2011\0description\0"), true);
        check(kind(b"urn:mpeg:dash:role:2011\0description"), true);
        check(kind(b"urn:mpeg:dash:role:2011\0main\0"), false);
        check(kind(b"urn:mpeg:dash:role:2011"), false);
        check(boxed(b"kind", b""), false);
        assert_eq!(read(&[]), (None, false));
    }
}
