//! EBML: reads elements in a buffer, and writes them. RFC 8794.
//!
//! An element is an id, a size and a body. Ids include their length marker, in files and in comparisons.

/// Ids of elements. RFC 8794, 11.2 and 11.3; RFC 9559, 5.1.
pub(crate) mod id {
    pub(crate) const EBML: u32 = 0x1a45_dfa3;
    pub(crate) const DOC_TYPE: u32 = 0x4282;
    pub(crate) const DOC_TYPE_VERSION: u32 = 0x4287;
    pub(crate) const DOC_TYPE_READ_VERSION: u32 = 0x4285;
    pub(crate) const VOID: u32 = 0xec;
    pub(crate) const CRC_32: u32 = 0xbf;

    pub(crate) const SEGMENT: u32 = 0x1853_8067;
    pub(crate) const SEEK_HEAD: u32 = 0x114d_9b74;
    pub(crate) const INFO: u32 = 0x1549_a966;
    pub(crate) const TRACKS: u32 = 0x1654_ae6b;
    pub(crate) const CLUSTER: u32 = 0x1f43_b675;
    pub(crate) const CUES: u32 = 0x1c53_bb6b;
    pub(crate) const ATTACHMENTS: u32 = 0x1941_a469;
    pub(crate) const CHAPTERS: u32 = 0x1043_a770;
    pub(crate) const TAGS: u32 = 0x1254_c367;

    pub(crate) const TIMESTAMP_SCALE: u32 = 0x2a_d7b1;
    pub(crate) const MUXING_APP: u32 = 0x4d80;
    pub(crate) const WRITING_APP: u32 = 0x5741;

    pub(crate) const TIMESTAMP: u32 = 0xe7;
    pub(crate) const SIMPLE_BLOCK: u32 = 0xa3;
    pub(crate) const BLOCK_GROUP: u32 = 0xa0;
    pub(crate) const BLOCK: u32 = 0xa1;
    pub(crate) const BLOCK_DURATION: u32 = 0x9b;
    pub(crate) const DISCARD_PADDING: u32 = 0x75a2;
    pub(crate) const REFERENCE_BLOCK: u32 = 0xfb;

    pub(crate) const TRACK_ENTRY: u32 = 0xae;
    pub(crate) const TRACK_NUMBER: u32 = 0xd7;
    pub(crate) const TRACK_TYPE: u32 = 0x83;
    pub(crate) const FLAG_ENABLED: u32 = 0xb9;
    pub(crate) const FLAG_DEFAULT: u32 = 0x88;
    pub(crate) const FLAG_VISUAL_IMPAIRED: u32 = 0x55ac;
    pub(crate) const FLAG_LACING: u32 = 0x9c;
    pub(crate) const DEFAULT_DURATION: u32 = 0x23_e383;
    pub(crate) const DEFAULT_DECODED_FIELD_DURATION: u32 = 0x23_4e7a;
    pub(crate) const TRACK_TIMESTAMP_SCALE: u32 = 0x23_314f;
    pub(crate) const NAME: u32 = 0x536e;
    pub(crate) const LANGUAGE: u32 = 0x22_b59c;
    pub(crate) const LANGUAGE_BCP_47: u32 = 0x22_b59d;
    pub(crate) const CODEC_ID: u32 = 0x86;
    pub(crate) const CODEC_PRIVATE: u32 = 0x63a2;
    pub(crate) const CODEC_DELAY: u32 = 0x56aa;
    pub(crate) const TRACK_OPERATION: u32 = 0xe2;
    pub(crate) const CONTENT_ENCODINGS: u32 = 0x6d80;
    pub(crate) const CONTENT_ENCODING: u32 = 0x6240;
    pub(crate) const CONTENT_ENCODING_TYPE: u32 = 0x5033;

    pub(crate) const VIDEO: u32 = 0xe0;
    pub(crate) const FLAG_INTERLACED: u32 = 0x9a;
    pub(crate) const PIXEL_WIDTH: u32 = 0xb0;
    pub(crate) const PIXEL_HEIGHT: u32 = 0xba;
    pub(crate) const PIXEL_CROP_BOTTOM: u32 = 0x54aa;
    pub(crate) const PIXEL_CROP_TOP: u32 = 0x54bb;
    pub(crate) const PIXEL_CROP_LEFT: u32 = 0x54cc;
    pub(crate) const PIXEL_CROP_RIGHT: u32 = 0x54dd;
    pub(crate) const DISPLAY_WIDTH: u32 = 0x54b0;
    pub(crate) const DISPLAY_HEIGHT: u32 = 0x54ba;
    pub(crate) const DISPLAY_UNIT: u32 = 0x54b2;
    pub(crate) const COLOUR: u32 = 0x55b0;
    pub(crate) const MATRIX_COEFFICIENTS: u32 = 0x55b1;
    pub(crate) const RANGE: u32 = 0x55b9;
    pub(crate) const TRANSFER_CHARACTERISTICS: u32 = 0x55ba;
    pub(crate) const PRIMARIES: u32 = 0x55bb;
    pub(crate) const PROJECTION: u32 = 0x7670;
    pub(crate) const PROJECTION_POSE_ROLL: u32 = 0x7675;

    pub(crate) const AUDIO: u32 = 0xe1;
    pub(crate) const SAMPLING_FREQUENCY: u32 = 0xb5;
    pub(crate) const CHANNELS: u32 = 0x9f;
    pub(crate) const BIT_DEPTH: u32 = 0x6264;
}

/// Maximum length of an id and of a size. RFC 8794, 11.2.4 and 11.2.5, as Matroska fixes them: RFC 9559, 5.
pub(crate) const ID_LEN_MAX: usize = 4;
pub(crate) const SIZE_LEN_MAX: usize = 8;

/// The header of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) id: u32,
    /// Bytes of the body; `None` if the writer did not know them. RFC 8794, 6.2.
    pub(crate) size: Option<u64>,
    /// Bytes of id and size.
    pub(crate) len: usize,
}

/// The result of reading the first bytes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParsedHeader {
    Whole(Header),
    /// More bytes are needed.
    Incomplete,
    /// The bytes are no element.
    Invalid,
}

impl Header {
    /// Parses the header at the front of some bytes.
    pub(crate) fn parse(bytes: &[u8]) -> ParsedHeader {
        let Some(&first) = bytes.first() else { return ParsedHeader::Incomplete };
        let id_len = first.leading_zeros() as usize + 1;
        if id_len > ID_LEN_MAX {
            return ParsedHeader::Invalid;
        }
        let Some(id) = bytes.get(..id_len) else { return ParsedHeader::Incomplete };
        let id = id.iter().fold(0, |id, &byte| id << 8 | u32::from(byte));
        match vint(&bytes[id_len..]) {
            Vint::Whole { value, len } => ParsedHeader::Whole(Header {
                id,
                size: (!is_all_ones(value, len)).then_some(value),
                len: id_len + len,
            }),
            Vint::Incomplete => ParsedHeader::Incomplete,
            Vint::Invalid => ParsedHeader::Invalid,
        }
    }
}

/// A number of variable length. RFC 8794, 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vint {
    Whole { value: u64, len: usize },
    Incomplete,
    Invalid,
}

/// Reads the number at the front of some bytes, without its length marker.
pub(crate) fn vint(bytes: &[u8]) -> Vint {
    let Some(&first) = bytes.first() else { return Vint::Incomplete };
    let len = first.leading_zeros() as usize + 1;
    if len > SIZE_LEN_MAX {
        return Vint::Invalid;
    }
    let Some(bytes) = bytes.get(..len) else { return Vint::Incomplete };
    let value = bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    Vint::Whole { value: value & vint_max(len), len }
}

fn is_all_ones(value: u64, len: usize) -> bool {
    value == vint_max(len)
}

/// The largest number of this many bytes. As a size it means an unknown size.
fn vint_max(len: usize) -> u64 {
    (1 << (7 * len)) - 1
}

/// One element inside a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    pub(crate) id: u32,
    pub(crate) body: &'a [u8],
    /// Header and body.
    pub(crate) whole: &'a [u8],
}

/// Iterates over the consecutive elements in `bytes`.
///
/// Ends at the first invalid header. An element that is longer than its parent is cut at the parent's end.
pub(crate) fn elements(bytes: &[u8]) -> Elements<'_> {
    Elements { rest: bytes }
}

/// See [`elements`].
#[derive(Debug, Clone)]
pub(crate) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let ParsedHeader::Whole(header) = Header::parse(self.rest) else {
            self.rest = &[];
            return None;
        };
        let left = self.rest.len() - header.len;
        let size =
            header.size.and_then(|size| usize::try_from(size).ok()).map_or(left, |size| size.min(left));
        let (whole, rest) = self.rest.split_at(header.len + size);
        self.rest = rest;
        Some(Element { id: header.id, body: &whole[header.len..], whole })
    }
}

impl<'a> Element<'a> {
    /// The first child with this id.
    pub(crate) fn child(&self, id: u32) -> Option<Element<'a>> {
        elements(self.body).find(|child| child.id == id)
    }

    /// The first child with this id as an unsigned number; `None` if it is missing or too long.
    pub(crate) fn uint(&self, id: u32) -> Option<u64> {
        self.child(id).and_then(|child| child.as_uint())
    }

    /// Its body as an unsigned number. An empty body is 0. RFC 8794, 7.2.
    pub(crate) fn as_uint(&self) -> Option<u64> {
        let is_short = self.body.len() <= 8;
        is_short.then(|| self.body.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// Its body as a floating-point number. RFC 8794, 7.3.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self.body.len() {
            0 => Some(0.0),
            4 => Some(f32::from_be_bytes(self.body.try_into().ok()?).into()),
            8 => Some(f64::from_be_bytes(self.body.try_into().ok()?)),
            _ => None,
        }
    }

    /// Its body as text, up to the first zero byte. RFC 8794, 7.4 and 7.5.
    pub(crate) fn as_text(&self) -> Option<&'a str> {
        let text = self.body.split(|&byte| byte == 0).next().unwrap_or_default();
        std::str::from_utf8(text).ok()
    }
}

/// Appends one element with a size of eight bytes: the length of the size then does not depend on the body.
pub(crate) fn write(bytes: &mut Vec<u8>, id: u32, body: &[u8]) {
    write_header(bytes, id, body.len() as u64);
    bytes.extend_from_slice(body);
}

/// Appends the header of an element whose body of `size` bytes follows. `size` is below 2^56 - 1.
pub(crate) fn write_header(bytes: &mut Vec<u8>, id: u32, size: u64) {
    write_id(bytes, id);
    bytes.extend_from_slice(&(size | 1 << 56).to_be_bytes());
}

/// Appends the header of an element of unknown size.
pub(crate) fn write_unknown_header(bytes: &mut Vec<u8>, id: u32) {
    write_id(bytes, id);
    bytes.push(0xff);
}

/// Appends an element with an unsigned number.
pub(crate) fn write_uint(bytes: &mut Vec<u8>, id: u32, value: u64) {
    let value = value.to_be_bytes();
    let zeros = value.iter().take(7).take_while(|&&byte| byte == 0).count();
    write_id(bytes, id);
    bytes.push(0x80 | (8 - zeros) as u8);
    bytes.extend_from_slice(&value[zeros..]);
}

fn write_id(bytes: &mut Vec<u8>, id: u32) {
    let zeros = (id.leading_zeros() / 8) as usize;
    bytes.extend_from_slice(&id.to_be_bytes()[zeros..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headers_are_read_as_the_standard_writes_them() {
        let check =
            |bytes: &[u8], expected: ParsedHeader| assert_eq!(Header::parse(bytes), expected, "{bytes:x?}");
        let whole = |id, size, len| ParsedHeader::Whole(Header { id, size, len });
        check(&[0xec, 0x82, 9], whole(id::VOID, Some(2), 2));
        check(&[0x1a, 0x45, 0xdf, 0xa3, 0x40, 2], whole(id::EBML, Some(2), 6));
        check(&[0x42, 0x82, 0x01, 0, 0, 0, 0, 0, 0, 5], whole(id::DOC_TYPE, Some(5), 10));
        check(&[0xec, 0xff], whole(id::VOID, None, 2));
        check(&[0xec, 0x01, 255, 255, 255, 255, 255, 255, 255], whole(id::VOID, None, 9));
        check(&[0xec, 0x40, 0x7f], whole(id::VOID, Some(127), 3));
        for short in [&[][..], &[0xec], &[0x1a, 0x45], &[0xec, 0x40], &[0x42, 0x82, 0x01, 0, 0]] {
            check(short, ParsedHeader::Incomplete);
        }
        check(&[0x08, 0, 0, 0, 0], ParsedHeader::Invalid);
        check(&[0], ParsedHeader::Invalid);
        check(&[0xec, 0], ParsedHeader::Invalid);
    }

    #[test]
    fn ebml_elements_end_at_invalid_bytes() {
        let ids = |bytes: &[u8]| elements(bytes).map(|one| (one.id, one.body.len())).collect::<Vec<_>>();
        assert_eq!(ids(&[]), []);
        assert_eq!(ids(&[0xec, 0x81, 7, 0xbf, 0x80]), [(id::VOID, 1), (id::CRC_32, 0)]);
        assert_eq!(ids(&[0xec, 0x81, 7, 0, 0xbf, 0x80]), [(id::VOID, 1)], "nonsense between");
        assert_eq!(ids(&[0xec, 0x88, 7]), [(id::VOID, 1)], "longer than what holds it");
        assert_eq!(ids(&[0xec, 0xff, 7, 8]), [(id::VOID, 2)], "of unknown size");
    }

    #[test]
    fn ebml_number_of_wrong_length_is_none() {
        fn element(body: &[u8]) -> Element<'_> {
            Element { id: id::VOID, body, whole: body }
        }
        assert_eq!(element(&[]).as_uint(), Some(0));
        assert_eq!(element(&[1, 0]).as_uint(), Some(256));
        assert_eq!(element(&[0xff; 8]).as_uint(), Some(u64::MAX));
        assert_eq!(element(&[0; 9]).as_uint(), None);
        assert_eq!(element(&[]).as_float(), Some(0.0));
        assert_eq!(element(&44_100f32.to_be_bytes()).as_float(), Some(44_100.0));
        assert_eq!(element(&0.5f64.to_be_bytes()).as_float(), Some(0.5));
        assert_eq!(element(&[0; 3]).as_float(), None);
        assert_eq!(element(b"eng\0x").as_text(), Some("eng"));
        assert_eq!(element(&[0xff]).as_text(), None);
    }

    proptest! {
        #[test]
        fn ebml_element_round_trips(value: u64, body in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = Vec::new();
            write_uint(&mut bytes, id::DEFAULT_DURATION, value);
            write(&mut bytes, id::CLUSTER, &body);
            let all: Vec<_> = elements(&bytes).collect();
            prop_assert_eq!(all[0].id, id::DEFAULT_DURATION);
            prop_assert_eq!(all[0].as_uint(), Some(value));
            prop_assert_eq!((all[1].id, all[1].body), (id::CLUSTER, &body[..]));
            prop_assert_eq!(all.len(), 2);
        }

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(elements(&bytes).map(|one| one.whole.len()).sum::<usize>() <= bytes.len());
        }
    }
}
