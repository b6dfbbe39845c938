//! Common names of codecs, for messages about tracks that are not copied.

use kinora_isobmff::{boxes::FourCc, read::decodable_codec};

/// The name of the codec of a track. `private` is its `CodecPrivate`, which names the codecs of other
/// systems.
pub(crate) fn codec_name(codec_id: &str, private: &[u8]) -> String {
    let name_in_private = match codec_id {
        // BITMAPINFOHEADER: `biCompression` after 16 bytes.
        "V_MS/VFW/FOURCC" => four_cc_name(private.get(16..20)),
        // A sample entry: its kind after its length.
        "V_QUICKTIME" | "A_QUICKTIME" => four_cc_name(private.get(4..8)),
        // WAVEFORMATEX: `wFormatTag` is first.
        "A_MS/ACM" => private.first_chunk().map(|tag| format_tag_name(u16::from_le_bytes(*tag))),
        _ => None,
    };
    name_in_private.unwrap_or_else(|| codec_id_name(codec_id))
}

/// A common name, else the code itself if it is printable.
fn four_cc_name(code: Option<&[u8]>) -> Option<String> {
    let code = <[u8; 4]>::try_from(code?).ok()?;
    let name = decodable_codec(FourCc(code)).map(str::to_owned);
    name.or_else(|| {
        code.iter()
            .all(u8::is_ascii_alphanumeric)
            .then(|| code.iter().map(|byte| char::from(*byte)).collect())
    })
}

/// Registered in RFC 2361, the later ones in the headers of Windows.
fn format_tag_name(tag: u16) -> String {
    let name = match tag {
        0x0001 | 0x0003 => "PCM",
        0x0002 | 0x0011 | 0x0061 | 0x0062 | 0x0200 => "ADPCM",
        0x0006 | 0x0007 => "G.711",
        0x000a => "Windows Media Audio Voice",
        0x0022 => "TrueSpeech",
        0x0031 | 0x0032 => "GSM",
        0x0038 | 0x0057 | 0x0058 => "AMR",
        0x0042 => "G.723.1",
        0x0045 | 0x0064 => "G.726",
        0x0050 => "MPEG audio layer II",
        0x0055 => "MP3",
        0x0083 => "G.729",
        0x00ff | 0x1600 | 0x1602 | 0x1610 => "AAC",
        0x0130 => "ACELP.net",
        0x0160 | 0x0161 => "Windows Media Audio",
        0x0162 => "Windows Media Audio Professional",
        0x0163 => "Windows Media Audio Lossless",
        0x0270 => "ATRAC3",
        0x0401 | 0x0402 => "Indeo audio",
        0x2000 => "AC-3",
        0x2001 => "DTS",
        0x674f..=0x6751 | 0x676f..=0x6771 => "Vorbis",
        0xa109 => "Speex",
        0xf1ac => "FLAC",
        _ => return format!("a codec of Windows ({tag:#06x})"),
    };
    name.to_owned()
}

/// The name of a `CodecID`, for instance `VP9`; the id itself if it has no known name. RFC 9559's registry
/// of codecs; codec mappings of draft-ietf-cellar-codec.
fn codec_id_name(codec_id: &str) -> String {
    let known = [
        ("V_VP8", "VP8"),
        ("V_VP9", "VP9"),
        ("V_AV1", "AV1"),
        ("V_MPEG1", "MPEG-1 video"),
        ("V_MPEG2", "MPEG-2 video"),
        ("V_MPEG4/ISO/AVC", "H.264"),
        ("V_MPEGH/ISO/HEVC", "HEVC"),
        ("V_MPEGI/ISO/VVC", "VVC"),
        ("V_MPEG4", "MPEG-4 Visual"),
        ("V_MS/VFW/FOURCC", "a codec of Video for Windows"),
        ("V_QUICKTIME", "a codec of QuickTime"),
        ("V_MJPEG", "Motion JPEG"),
        ("V_PRORES", "ProRes"),
        ("V_THEORA", "Theora"),
        ("V_FFV1", "FFV1"),
        ("V_REAL", "RealVideo"),
        ("V_UNCOMPRESSED", "uncompressed video"),
        ("V_SNOW", "Snow"),
        ("V_DIRAC", "Dirac"),
        ("A_AAC", "AAC"),
        ("A_OPUS", "Opus"),
        ("A_VORBIS", "Vorbis"),
        ("A_FLAC", "FLAC"),
        ("A_MPEG/L3", "MP3"),
        ("A_MPEG/L2", "MPEG audio layer II"),
        ("A_MPEG/L1", "MPEG audio layer I"),
        ("A_AC3", "AC-3"),
        ("A_EAC3", "E-AC-3"),
        ("A_DTS", "DTS"),
        ("A_TRUEHD", "TrueHD"),
        ("A_MLP", "MLP"),
        ("A_PCM", "PCM"),
        ("A_ALAC", "ALAC"),
        ("A_TTA1", "TTA"),
        ("A_WAVPACK4", "WavPack"),
        ("A_REAL", "RealAudio"),
        ("A_MS/ACM", "a codec of Windows"),
        ("A_QUICKTIME", "a codec of QuickTime"),
    ];
    // The longest matching prefix that ends at a slash: A_PCM/INT/LIT is PCM.
    let begins =
        |name: &str| codec_id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let found = known.iter().filter(|(id, _)| begins(id)).max_by_key(|(id, _)| id.len());
    found.map_or_else(|| codec_id.to_owned(), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_have_names() {
        for (id, expected) in [
            ("V_VP9", "VP9"),
            ("V_MPEG4/ISO/ASP", "MPEG-4 Visual"),
            ("V_MPEG4/ISO/AVC", "H.264"),
            ("A_PCM/INT/LIT", "PCM"),
            ("A_MPEG/L3", "MP3"),
            ("A_DTS/EXPRESS", "DTS"),
            ("V_VP10", "V_VP10"),
            ("", ""),
        ] {
            assert_eq!(codec_name(id, &[]), expected);
        }
    }

    #[test]
    fn vfw_and_quicktime_codec_ids_are_named() {
        let bitmap = |code: &[u8]| [&[0; 16], code].concat();
        for (id, private, expected) in [
            ("V_MS/VFW/FOURCC", bitmap(b"WMV2"), "WMV2"),
            ("V_MS/VFW/FOURCC", bitmap(b"DX50"), "MPEG-4 Visual"),
            ("V_MS/VFW/FOURCC", bitmap(b"\x01\0\0\0"), "a codec of Video for Windows"),
            ("V_MS/VFW/FOURCC", bitmap(b"WMV"), "a codec of Video for Windows"),
            ("V_QUICKTIME", b"\0\0\0\x64AVdn".to_vec(), "DNxHD"),
            ("A_MS/ACM", vec![0x61, 1], "Windows Media Audio"),
            ("A_MS/ACM", vec![0x99, 0x09], "a codec of Windows (0x0999)"),
            ("A_MS/ACM", vec![0x61], "a codec of Windows"),
            ("A_MS/ACM", vec![0x09, 0xa1], "Speex"),
            ("A_MS/ACM", vec![0x02, 0x16], "AAC"),
        ] {
            assert_eq!(codec_name(id, &private), expected);
        }
    }
}
