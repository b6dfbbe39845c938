//! Names people know codecs by, for what is said of tracks that are not copied.

/// What a `CodecID` is called, for instance `VP9`; the id itself where we know no name. RFC 9559's registry of codecs; codec mappings of
/// draft-ietf-cellar-codec.
pub(super) fn codec_name(codec_id: &str) -> String {
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
    // The longest that it begins with, up to a slash: A_PCM/INT/LIT is PCM.
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
            assert_eq!(codec_name(id), expected);
        }
    }
}
