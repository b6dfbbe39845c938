//! Bytes of an unknown encoding as text.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

/// Bytes that are checked for zeros in every second one.
const DETECT_LEN: usize = 4096;

/// The text, with line feeds as line ends and no NUL. Invalid bytes become U+FFFD.
pub(super) fn decode(bytes: &[u8]) -> String {
    normalize_lines(decode_bytes(bytes))
}

fn decode_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Some((encoding, bom_len)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[bom_len..]).0;
    }
    if let Some(encoding) = unmarked_utf16(bytes) {
        return encoding.decode_without_bom_handling(bytes).0;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    // As a browser does for a page without an encoding: windows-1252 and its relatives, and the encodings of
    // East Asia.
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny).decode_without_bom_handling(bytes).0
}

/// UTF-16 without its byte order mark. Times, numbers and line ends are ASCII in every language, so many
/// bytes of one half are zero; text of any other encoding has none.
fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let (pairs, _) = bytes[..bytes.len().min(DETECT_LEN)].as_chunks::<2>();
    let zeros = |half: usize| pairs.iter().filter(|pair| pair[half] == 0).count();
    let (first, second) = (zeros(0), zeros(1));
    let is_many = |count: usize, other: usize| count > pairs.len() / 8 && other < count / 4;
    if is_many(first, second) {
        Some(UTF_16BE)
    } else if is_many(second, first) {
        Some(UTF_16LE)
    } else {
        None
    }
}

/// The first step of the WebVTT parser. WebVTT, 4.1.
fn normalize_lines(text: Cow<'_, str>) -> String {
    if !text.contains(['\r', '\0']) {
        return text.into_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        plain.push(match letter {
            '\r' => {
                letters.next_if_eq(&'\n');
                '\n'
            }
            '\0' => '\u{fffd}',
            letter => letter,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "1\n00:00:01,000 --> 00:00:02,000\nГде Пётр? Ça va — “là”.\n";

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn unicode_is_decoded_with_and_without_bom() {
        let marked = |mark: &[u8], bytes: Vec<u8>| [mark, &bytes].concat();
        for bytes in [
            TEXT.as_bytes().to_vec(),
            marked(b"\xef\xbb\xbf", TEXT.into()),
            utf16(TEXT, u16::to_le_bytes),
            utf16(TEXT, u16::to_be_bytes),
            marked(b"\xff\xfe", utf16(TEXT, u16::to_le_bytes)),
            marked(b"\xfe\xff", utf16(TEXT, u16::to_be_bytes)),
        ] {
            assert_eq!(decode(&bytes), TEXT, "{:?}", &bytes[..8]);
        }
    }

    #[test]
    fn legacy_encodings_are_detected() {
        let check = |encoding: &'static Encoding, text: &str| {
            let text = format!("1\n00:00:01,000 --> 00:00:02,000\n{text}\n");
            let (bytes, _, is_lossy) = encoding.encode(&text);
            assert!(!is_lossy && std::str::from_utf8(&bytes).is_err());
            assert_eq!(decode(&bytes), text, "{}", encoding.name());
        };
        check(encoding_rs::WINDOWS_1252, "Où est l’été ? C’est déjà Noël, garçon.");
        check(encoding_rs::WINDOWS_1252, "Können Sie mir bitte sagen, wo die Straße nach Köln ist?");
        check(encoding_rs::WINDOWS_1251, "Здравствуйте, как у вас дела сегодня вечером?");
        check(encoding_rs::WINDOWS_1250, "Příliš žluťoučký kůň úpěl ďábelské ódy.");
        check(encoding_rs::SHIFT_JIS, "こんにちは、元気ですか。今日はいい天気ですね。");
        check(encoding_rs::GBK, "你好,今天的天气很好,我们去公园吧。");
        check(encoding_rs::EUC_KR, "안녕하세요. 오늘 날씨가 정말 좋네요.");
    }

    #[test]
    fn line_endings_become_lf_and_nul_is_replaced() {
        assert_eq!(decode(b"a\r\nb\rc\n\r\n\rd"), "a\nb\nc\n\n\nd");
        assert_eq!(decode(b"a\0b"), "a\u{fffd}b");
        assert_eq!(decode(b""), "");
        assert_eq!(decode(b"\xff"), decode(b"\xff"));
    }
}
