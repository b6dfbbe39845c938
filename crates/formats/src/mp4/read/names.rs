//! Names people know codecs by, for sentences about what is not supported.

use super::super::boxes::FourCc;

/// The codec of a sample entry, for instance `HEVC (hvc1)`.
pub(super) fn codec_name(kind: FourCc) -> String {
    let name = match &kind.0 {
        b"avc1" | b"avc2" | b"avc3" | b"avc4" => "H.264",
        b"hvc1" | b"hev1" | b"hvc2" | b"hev2" => "HEVC",
        b"vvc1" | b"vvi1" => "VVC",
        b"dvh1" | b"dvhe" | b"dvav" | b"dva1" | b"dav1" => "Dolby Vision",
        b"av01" => "AV1",
        b"vp08" => "VP8",
        b"vp09" => "VP9",
        b"mp4v" | b"xvid" | b"XVID" | b"DIVX" | b"DX50" => "MPEG-4 Visual",
        b"mp1v" | b"m1v " => "MPEG-1 video",
        b"mp2v" | b"m2v1" | b"hdv1" | b"hdv2" | b"hdv3" | b"xdvc" => "MPEG-2 video",
        b"s263" | b"h263" | b"H263" => "H.263",
        b"jpeg" | b"mjpa" | b"mjpb" | b"mjpg" => "Motion JPEG",
        b"png " => "PNG",
        b"apch" | b"apcn" | b"apcs" | b"apco" | b"ap4h" | b"ap4x" => "ProRes",
        b"AVdn" | b"AVdh" => "DNxHD",
        b"CFHD" => "CineForm",
        b"SVQ1" | b"SVQ3" => "Sorenson Video",
        b"Opus" => "Opus",
        b"fLaC" => "FLAC",
        b"ac-3" => "AC-3",
        b"ec-3" => "E-AC-3",
        b"ac-4" => "AC-4",
        b"alac" => "ALAC",
        b".mp3" | b"mp3 " | b"ms\0\x55" => "MP3",
        b"apac" => "Apple Positional Audio",
        b"Qclp" => "QCELP",
        b"QDMC" | b"QDM2" => "QDesign Music",
        b"samr" | b"sawb" => "AMR",
        b"dtsc" | b"dtse" | b"dtsh" | b"dtsl" | b"dtsx" => "DTS",
        b"mha1" | b"mha2" | b"mhm1" | b"mhm2" => "MPEG-H audio",
        b"sowt" | b"twos" | b"lpcm" | b"ipcm" | b"fpcm" | b"raw " | b"in24" | b"in32" | b"fl32" | b"fl64"
        | b"NONE" => "PCM",
        b"ulaw" | b"alaw" => "G.711",
        b"ima4" => "IMA ADPCM",
        _ => "unknown",
    };
    format!("{name} ({kind})")
}

/// Whether the sample entry hides an encrypted codec.
pub(super) fn is_encrypted(kind: FourCc) -> bool {
    matches!(&kind.0, b"encv" | b"enca" | b"drmi" | b"drms")
}

/// The codec behind an `esds` box, for instance `MP3 (mp4a.6B)`: kind of the sample entry and `objectTypeIndication`.
pub(super) fn mpeg4_codec_name(kind: FourCc, indication: u8) -> String {
    format!("{} ({kind}.{indication:02X})", object_type_indication_name(indication))
}

/// The codec that an `objectTypeIndication` of `esds` means. Registration authority mp4ra.org.
fn object_type_indication_name(indication: u8) -> &'static str {
    match indication {
        0x20 => "MPEG-4 Visual",
        0x40 => "MPEG-4 audio",
        0x60..=0x65 => "MPEG-2 video",
        0x66 => "MPEG-2 AAC Main",
        0x67 => "MPEG-2 AAC-LC",
        0x68 => "MPEG-2 AAC SSR",
        0x69 | 0x6b => "MP3",
        0x6a => "MPEG-1 video",
        0x6c => "JPEG",
        0x6d => "PNG",
        0x6e => "JPEG 2000",
        0xa5 => "AC-3",
        0xa6 => "E-AC-3",
        0xa9..=0xac => "DTS",
        0xad => "Opus",
        0xdd => "Vorbis",
        _ => "unknown",
    }
}

/// The name of an MPEG-4 audio object type. ISO/IEC 14496-3, table 1.17.
pub(super) fn audio_object_type_name(object_type: u32) -> &'static str {
    match object_type {
        1 => "AAC Main",
        2 => "AAC-LC",
        3 => "AAC SSR",
        4 => "AAC LTP",
        17 => "ER AAC-LC",
        23 => "AAC-LD",
        32..=34 => "MPEG-1 audio",
        36 => "MPEG-4 ALS",
        39 => "AAC-ELD",
        42 => "xHE-AAC",
        _ => "MPEG-4 audio of another kind",
    }
}

/// The name of an H.264 profile. ISO/IEC 14496-10, annex A.
pub(super) fn avc_profile_name(profile: u8) -> String {
    let name = match profile {
        66 => "Baseline",
        77 => "Main",
        88 => "Extended",
        100 => "High",
        110 => "High 10",
        122 => "High 4:2:2",
        244 => "High 4:4:4 Predictive",
        44 => "CAVLC 4:4:4 Intra",
        other => return format!("profile {other}"),
    };
    name.into()
}
