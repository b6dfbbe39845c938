//! Detects the kind of a file from its first bytes.
//!
//! Only the content counts: names and media types of a source are untrusted.

use kinora_index::Container;

/// First bytes that are enough for detection. Longer heads are cut to it, so that the result never depends
/// on how bytes arrive.
pub const HEAD_LEN: usize = 4096;
/// Bytes of a transport stream packet, and of one with a time code before it. ISO/IEC 13818-1, 2.4.3; BDAV.
const TS_PACKET_LENS: [usize; 2] = [188, 192];
/// Minimum number of consecutive sync bytes in a transport stream.
const TS_PACKETS: usize = 3;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it, and FileKind::name says it in words")]
pub enum FileKind {
    Media(Container),
    H264,
    Hevc,
    Mpeg4Visual,
    RealMedia,
    RealAudio,
    Musepack,
    TrueAudio,
    Dsf,
    HlsPlaylist,
    Ffconcat,
    Sdp,
    Dash,
    Html,
    Xml,
    Json,
    Subtitles,
    Jpeg,
    Png,
    Gif,
    Webp,
    Heif,
    Svg,
    Pdf,
    Zip,
    Gzip,
    Text,
    Empty,
    Unknown,
}

/// How a kind of file is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Contains video or audio, in a container of this kind.
    Media(Container),
    /// Contains video or audio in an unsupported form.
    Unsupported,
    /// Everything else; also playlists and scripts that only refer to media.
    NotMedia,
}

impl FileKind {
    /// Its common name with its article: "an HLS playlist"; for media the name of the container: "mp4".
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Media(container) => container.name(),
            FileKind::H264 => "H.264 video without a container",
            FileKind::Hevc => "HEVC video without a container",
            FileKind::Mpeg4Visual => "MPEG-4 video without a container",
            FileKind::RealMedia => "a RealMedia file",
            FileKind::RealAudio => "a RealAudio file",
            FileKind::Musepack => "a Musepack file",
            FileKind::TrueAudio => "a True Audio file",
            FileKind::Dsf => "a DSF file",
            FileKind::HlsPlaylist => "an HLS playlist",
            FileKind::Ffconcat => "an ffconcat script",
            FileKind::Sdp => "an SDP session description",
            FileKind::Dash => "a DASH manifest",
            FileKind::Html => "a web page",
            FileKind::Xml => "an XML document",
            FileKind::Json => "a JSON document",
            FileKind::Subtitles => "a subtitle file",
            FileKind::Jpeg => "a JPEG image",
            FileKind::Png => "a PNG image",
            FileKind::Gif => "a GIF image",
            FileKind::Webp => "a WebP image",
            FileKind::Heif => "a HEIF or AVIF image",
            FileKind::Svg => "an SVG image",
            FileKind::Pdf => "a PDF document",
            FileKind::Zip => "a ZIP archive",
            FileKind::Gzip => "a gzip archive",
            FileKind::Text => "a text file",
            FileKind::Empty => "an empty file",
            FileKind::Unknown => "a file of unknown kind",
        }
    }

    /// How it is handled.
    pub fn family(self) -> Family {
        match self {
            FileKind::Media(container) => Family::Media(container),
            FileKind::H264
            | FileKind::Hevc
            | FileKind::Mpeg4Visual
            | FileKind::RealMedia
            | FileKind::RealAudio
            | FileKind::Musepack
            | FileKind::TrueAudio
            | FileKind::Dsf => Family::Unsupported,
            _ => Family::NotMedia,
        }
    }
}

/// Detects the kind of a file from its first bytes: all of a short file, or at least [`HEAD_LEN`] of a
/// longer one.
pub fn sniff(head: &[u8]) -> FileKind {
    let head = &head[..head.len().min(HEAD_LEN)];
    if head.is_empty() {
        return FileKind::Empty;
    }
    // Text with its own magic comes first: a playlist stays one, independent of its further bytes.
    text_with_magic(text_start(head))
        .or_else(|| iso_media(head))
        .or_else(|| binary(head))
        .or_else(|| audio_frames(after_id3(head)))
        .or_else(|| head.starts_with(b"ID3").then_some(FileKind::Media(Container::Mp3)))
        .or_else(|| elementary_video(head))
        .or_else(|| plain_text(head))
        .or_else(|| starts_mid_packet(head))
        .unwrap_or(FileKind::Unknown)
}

/// The text after a byte order mark and white space.
fn text_start(head: &[u8]) -> &[u8] {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    text.trim_ascii_start()
}

fn text_with_magic(text: &[u8]) -> Option<FileKind> {
    let starts = |magic: &str| {
        text.get(..magic.len()).is_some_and(|start| start.eq_ignore_ascii_case(magic.as_bytes()))
    };
    let contains =
        |needle: &[u8]| text.windows(needle.len()).any(|window| window.eq_ignore_ascii_case(needle));
    Some(match () {
        () if starts("#EXTM3U") => FileKind::HlsPlaylist,
        () if starts("ffconcat version") => FileKind::Ffconcat,
        () if starts("v=0") && contains(b"\no=") => FileKind::Sdp,
        () if starts("WEBVTT") => FileKind::Subtitles,
        () if starts("<!doctype html") || starts("<html") => FileKind::Html,
        () if starts("<mpd") => FileKind::Dash,
        () if starts("<svg") => FileKind::Svg,
        () if starts("<?xml") || starts("<!--") => match () {
            () if contains(b"<mpd") => FileKind::Dash,
            () if contains(b"<html") => FileKind::Html,
            () if contains(b"<svg") => FileKind::Svg,
            () => FileKind::Xml,
        },
        () if starts("%PDF-") => FileKind::Pdf,
        () => return None,
    })
}

/// ISO/IEC 14496-12, 4.3: `ftyp` comes first. QuickTime files older than that begin with any of their boxes.
fn iso_media(head: &[u8]) -> Option<FileKind> {
    let (size, rest) = head.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first_chunk::<4>()?;
    let size = u32::from_be_bytes(*size);
    match kind {
        b"ftyp" => Some(match rest.first_chunk::<4>() {
            Some(b"qt  ") => FileKind::Media(Container::Mov),
            Some(b"heic" | b"heix" | b"heim" | b"heis" | b"mif1" | b"avif") => FileKind::Heif,
            _ => FileKind::Media(Container::Mp4),
        }),
        b"styp" | b"moof" | b"sidx" | b"emsg" if size >= 8 => Some(FileKind::Media(Container::Mp4)),
        b"moov" | b"mdat" | b"wide" | b"free" | b"skip" | b"pnot" if size >= 8 || size <= 1 => {
            Some(FileKind::Media(Container::Mov))
        }
        _ => None,
    }
}

fn binary(head: &[u8]) -> Option<FileKind> {
    let riff = |form: &[u8]| head.starts_with(b"RIFF") && head.get(8..12) == Some(form);
    let form = |form: &[u8]| head.starts_with(b"FORM") && head.get(8..12) == Some(form);
    Some(match () {
        () if head.starts_with(&[0x1a, 0x45, 0xdf, 0xa3]) => match kinora_matroska::doc_type(head) {
            Some("webm") => FileKind::Media(Container::WebM),
            // A missing type means Matroska; other formats of EBML are no media.
            Some("matroska") | None => FileKind::Media(Container::Matroska),
            Some(_) => FileKind::Unknown,
        },
        () if is_transport_stream(head) => FileKind::Media(Container::MpegTs),
        () if head.starts_with(&[0, 0, 1, 0xba]) => FileKind::Media(Container::MpegPs),
        () if riff(b"AVI ") => FileKind::Media(Container::Avi),
        () if riff(b"WAVE") || head.starts_with(b"RF64") => FileKind::Media(Container::Wav),
        () if riff(b"WEBP") => FileKind::Webp,
        () if head.starts_with(b"FLV\x01") => FileKind::Media(Container::Flv),
        () if head.starts_with(&[0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11]) => {
            FileKind::Media(Container::Asf)
        }
        () if head.starts_with(&[0x06, 0x0e, 0x2b, 0x34, 0x02, 0x05, 0x01, 0x01]) => {
            FileKind::Media(Container::Mxf)
        }
        () if head.starts_with(b"OggS") => FileKind::Media(Container::Ogg),
        () if after_id3(head).starts_with(b"fLaC") => FileKind::Media(Container::Flac),
        () if form(b"AIFF") || form(b"AIFC") => FileKind::Media(Container::Aiff),
        () if head.starts_with(b"caff\0\x01") => FileKind::Media(Container::Caf),
        () if head.starts_with(b"#!AMR\n") || head.starts_with(b"#!AMR-WB\n") => {
            FileKind::Media(Container::Amr)
        }
        () if is_au(head) => FileKind::Media(Container::Au),
        () if head.starts_with(&WAVE64) => FileKind::Media(Container::W64),
        // The version is the high byte: 4.
        () if head.starts_with(b"wvpk") && head.get(9) == Some(&4) => FileKind::Media(Container::WavPack),
        () if is_ape(head) => FileKind::Media(Container::Ape),
        () if is_dv(head) => FileKind::Media(Container::Dv),
        () if head.starts_with(b"DKIF\0\0") => FileKind::Media(Container::Ivf),
        () if head.starts_with(b".RMF\0\0") => FileKind::RealMedia,
        () if head.starts_with(b".ra\xfd\0") => FileKind::RealAudio,
        () if head.starts_with(b"MPCKSH") => FileKind::Musepack,
        // The version is the low half of the byte: 7.
        () if head.starts_with(b"MP+") && head.get(3).is_some_and(|byte| byte & 0xf == 7) => {
            FileKind::Musepack
        }
        () if head.starts_with(b"TTA1") && matches!(head.get(4..6), Some([1..=3, 0])) => FileKind::TrueAudio,
        () if head.starts_with(b"DSD \x1c\0\0\0") => FileKind::Dsf,
        () if DTS.iter().any(|sync| head.starts_with(sync)) => FileKind::Media(Container::Dts),
        () if head.starts_with(&[0xff, 0xd8, 0xff]) => FileKind::Jpeg,
        () if head.starts_with(b"\x89PNG\r\n\x1a\n") => FileKind::Png,
        () if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") => FileKind::Gif,
        () if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") => FileKind::Zip,
        () if head.starts_with(&[0x1f, 0x8b, 8]) => FileKind::Gzip,
        () => return None,
    })
}

/// Checks the sync byte 0x47 of each of the first packets. A head that is too short is no match.
fn is_transport_stream(head: &[u8]) -> bool {
    TS_PACKET_LENS.iter().any(|&len| {
        let first = len - TS_PACKET_LENS[0];
        (0..TS_PACKETS).all(|packet| head.get(first + packet * len) == Some(&0x47))
    })
}

/// The first chunk of a Wave64 file. Sonic Foundry, Wave64 1.0: `riff` as a GUID.
const WAVE64: [u8; 12] = [b'r', b'i', b'f', b'f', 0x2e, 0x91, 0xcf, 0x11, 0xa5, 0xd6, 0x28, 0xdb];

/// Sync words of DTS: in words of 16 and of 14 bits, of both byte orders. ETSI TS 102 114, 5.3.1 and annex
/// A.
const DTS: [[u8; 4]; 4] =
    [[0x7f, 0xfe, 0x80, 0x01], [0xfe, 0x7f, 0x01, 0x80], [0x1f, 0xff, 0xe8, 0x00], [0xff, 0x1f, 0x00, 0xe8]];

/// The length of the header, 24 bytes or more, follows the name; the encoding follows the length of the
/// audio. Sun's audio(4) manual, `Audio_filehdr`.
fn is_au(head: &[u8]) -> bool {
    const ENCODING_MAX: u32 = 27;
    let number = |at: usize| Some(u32::from_be_bytes(*head.get(at..)?.first_chunk()?));
    head.starts_with(b".snd") && matches!((number(4), number(12)), (Some(24..), Some(1..=ENCODING_MAX)))
}

/// The version of Monkey's Audio after the name, in thousandths.
fn is_ape(head: &[u8]) -> bool {
    let version = head.strip_prefix(b"MAC ").and_then(|rest| rest.first_chunk());
    version.is_some_and(|&version| (3000..5000).contains(&u16::from_le_bytes(version)))
}

/// A block of the header section, then one of subcode, 80 bytes each. IEC 61834-2, 11.
fn is_dv(head: &[u8]) -> bool {
    const BLOCK_LEN: usize = 80;
    let section = |block: usize| head.get(block * BLOCK_LEN).map(|byte| byte >> 5);
    head.starts_with(&[0x1f, 0x07, 0x00]) && section(1) == Some(1) && section(3) == Some(2)
}

/// The bytes after an ID3v2 tag; empty if the tag is longer than the head. ID3v2.4, 3.1.
fn after_id3(head: &[u8]) -> &[u8] {
    let Some(rest) = head.strip_prefix(b"ID3") else { return head };
    let Some(size) = rest.get(3..7) else { return &[] };
    let size = size.iter().fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
    // The header has ten bytes; three of them are the magic.
    rest.get(7 + size..).unwrap_or_default()
}

/// The length in bytes of a frame of AC-3 or E-AC-3. ETSI TS 102 366, 4.4.1 and E.1.3.1.
fn ac3_frame(head: &[u8]) -> Option<(FileKind, usize)> {
    const KBITS: [usize; 19] =
        [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];
    let &[0x0b, 0x77, a, b, c, d, ..] = head else { return None };
    if 10 < d >> 3 {
        let words = (usize::from(a & 7) << 8 | usize::from(b)) + 1;
        return (d >> 3 <= 16).then_some((FileKind::Media(Container::Eac3), 2 * words));
    }
    let kbits = *KBITS.get(usize::from(c & 0x3f) / 2)?;
    let words = match c >> 6 {
        0 => 2 * kbits,
        1 => 320 * kbits / 147 + usize::from(c & 1),
        2 => 3 * kbits,
        _ => return None,
    };
    Some((FileKind::Media(Container::Ac3), 2 * words))
}

/// The length in bytes of a frame of MPEG audio, layer II. ISO/IEC 11172-3, 2.4.1.3 and 2.4.2.3; ISO/IEC
/// 13818-3, 2.4.2.3.
fn layer_2_frame(head: &[u8]) -> Option<usize> {
    const KBITS: [[usize; 14]; 2] = [
        [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
        [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    ];
    let &[0xff, second, third, ..] = head else { return None };
    let is_low = match second & 0xfe {
        0xfc => false,
        0xf4 => true,
        _ => return None,
    };
    let kbits = KBITS[usize::from(is_low)].get(usize::from(third >> 4).checked_sub(1)?)?;
    let rate = [44_100, 48_000, 32_000].get(usize::from(third >> 2 & 3))? / if is_low { 2 } else { 1 };
    Some(144_000 * kbits / rate + usize::from(third >> 1 & 1))
}

/// Whether a frame of `len` bytes is complete and another follows it, as far as the head contains them.
fn is_followed<T>(head: &[u8], len: usize, frame: impl Fn(&[u8]) -> Option<T>) -> bool {
    head.get(len..).is_some_and(|rest| rest.len() < 6 || frame(rest).is_some())
}

/// Video without a container, by its first start code. Only MPEG-1 and MPEG-2 are supported: they begin with
/// a sequence header (ISO/IEC 13818-2, 6.2.2.1), and ffmpeg generates their times.
fn elementary_video(head: &[u8]) -> Option<FileKind> {
    let unit = head.strip_prefix(&[0]).filter(|rest| rest.starts_with(&[0, 0, 1])).unwrap_or(head);
    match *unit.strip_prefix(&[0, 0, 1])?.first_chunk()? {
        [0xb3, _] => Some(FileKind::Media(Container::MpegVideo)),
        // A sequence of visual objects, or one. ISO/IEC 14496-2, 6.2.1.
        [0xb0 | 0xb5, _] => Some(FileKind::Mpeg4Visual),
        // Video, sequence and picture parameter sets and delimiters of layer 0. ISO/IEC 23008-2, 7.3.1.2.
        [0x40 | 0x42 | 0x44 | 0x46, 1] => Some(FileKind::Hevc),
        // A sequence parameter set or a delimiter. ISO/IEC 14496-10, 7.3.1.
        [unit, _] if unit & 0x80 == 0 && matches!(unit & 0x1f, 7 | 9) => Some(FileKind::H264),
        _ => None,
    }
}

/// Streams that begin in the middle of a packet, as recordings of broadcasts do.
fn starts_mid_packet(head: &[u8]) -> Option<FileKind> {
    /// Minimum number of consecutive packets of a stream.
    const PACKETS: usize = 8;

    // Each has a payload, an adaptation field, or both.
    let is_packet =
        |at: usize| matches!(head.get(at..at + 4), Some([0x47, _, _, flags]) if flags & 0x30 != 0);
    let is_stream = |first: usize, len: usize| (0..PACKETS).all(|n| is_packet(first + n * len));
    if TS_PACKET_LENS.iter().any(|&len| (1..len).any(|first| is_stream(first, len))) {
        return Some(FileKind::Media(Container::MpegTs));
    }
    // A pack, and after its header of 14 bytes or 12 another start code; or a packet of audio or video, and
    // a start code after it. ISO/IEC 13818-1, 2.5.3.3 and 2.4.3.6; ISO/IEC 11172-1, 2.4.3.2.
    let is_start = |at: usize| matches!(head.get(at..at + 4), Some([0, 0, 1, 0xba..=0xff]));
    let is_followed = |at: usize| match head[at..] {
        [0, 0, 1, 0xba, ..] => {
            let stuffing = head.get(at + 13).map_or(0, |byte| usize::from(byte & 7));
            is_start(at + 14 + stuffing) || is_start(at + 12)
        }
        [0, 0, 1, 0xbd | 0xc0..=0xef, high, low, ..] => {
            is_start(at + 6 + usize::from(u16::from_be_bytes([high, low])))
        }
        _ => false,
    };
    (0..head.len()).any(is_followed).then_some(FileKind::Media(Container::MpegPs))
}

/// Audio without a container: frames with a sync word of 11 or 12 ones, or of AC-3. If an ID3 tag is longer
/// than the head, the file is taken for MP3.
fn audio_frames(head: &[u8]) -> Option<FileKind> {
    if head.is_empty() {
        return Some(FileKind::Media(Container::Mp3));
    }
    if let Some((kind, len)) = ac3_frame(head)
        && is_followed(head, len, ac3_frame)
    {
        return Some(kind);
    }
    if let Some(len) = layer_2_frame(head)
        && is_followed(head, len, layer_2_frame)
    {
        return Some(FileKind::Media(Container::Mp2));
    }
    let &[first, second, third, ..] = head else { return None };
    if first != 0xff {
        return None;
    }
    match second {
        // Layer 00 is ADTS; a sampling frequency index above 12 is reserved. ISO/IEC 13818-7, 6.2.
        0xf0 | 0xf1 | 0xf8 | 0xf9 if third >> 2 & 0xf <= 12 => Some(FileKind::Media(Container::Adts)),
        // Layer III, neither bit rate nor sampling frequency reserved. ISO/IEC 11172-3, 2.4.1.3.
        0xe2 | 0xe3 | 0xf2 | 0xf3 | 0xfa | 0xfb if third >> 4 != 15 && third >> 2 & 3 != 3 => {
            Some(FileKind::Media(Container::Mp3))
        }
        _ => None,
    }
}

fn plain_text(head: &[u8]) -> Option<FileKind> {
    // The head may end inside a character.
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text
        .chars()
        .any(|character| character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\x0c'))
    {
        return None;
    }
    Some(match text.as_bytes() {
        [b'{', b'"' | b'}' | b' ' | b'\n' | b'\r' | b'\t', ..] => FileKind::Json,
        [b'[', b'{' | b'"' | b']' | b'[' | b' ' | b'\n' | b'\r' | b'\t' | b'0'..=b'9', ..] => FileKind::Json,
        [b'<', b'a'..=b'z' | b'A'..=b'Z' | b'!', ..] => FileKind::Html,
        _ if text.contains("-->") => FileKind::Subtitles,
        _ => FileKind::Text,
    })
}

#[cfg(test)]
mod tests;
