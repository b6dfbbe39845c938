//! Common names of codecs, for messages about tracks that are not copied or not supported.

use super::super::boxes::FourCc;

/// Codecs by the kinds of their sample entries. ffmpeg decodes them, except those of [`NOT_DECODED`].
///
/// Kinds of sample entries: mp4ra.org, QuickTime File Format.
const CODECS: [(&str, &[&[u8; 4]]); 61] = [
    ("H.264", &[b"avc1", b"avc2", b"avc3", b"avc4"]),
    (
        "AVC-Intra",
        &[
            b"ai12", b"ai13", b"ai15", b"ai16", b"ai1p", b"ai1q", b"ai52", b"ai53", b"ai55", b"ai56",
            b"ai5p", b"ai5q", b"aivx",
        ],
    ),
    ("HEVC", &[b"hvc1", b"hev1", b"hvc2", b"hev2"]),
    ("VVC", &[b"vvc1", b"vvi1"]),
    ("Dolby Vision", &[b"dvh1", b"dvhe", b"dvav", b"dva1", b"dav1"]),
    ("AV1", &[b"av01"]),
    ("VP8", &[b"vp08"]),
    ("VP9", &[b"vp09"]),
    ("VC-1", &[b"vc-1", b"VC-1"]),
    ("MPEG-4 Visual", &[b"mp4v", b"xvid", b"XVID", b"DIVX", b"DX50", b"3IV2"]),
    ("MPEG-1 video", &[b"mp1v", b"m1v ", b"mpeg"]),
    ("MPEG-2 video", &[b"mp2v", b"m2v1"]),
    ("HDV", &[b"hdv1", b"hdv2", b"hdv3", b"hdv4", b"hdv5", b"hdv6", b"hdv7", b"hdv8", b"hdv9", b"hdva"]),
    (
        "XDCAM",
        &[
            b"xdv1", b"xdv2", b"xdv3", b"xdv4", b"xdv5", b"xdv6", b"xdv7", b"xdv8", b"xdv9", b"xdva",
            b"xdvb", b"xdvc", b"xdvd", b"xdve", b"xdvf", b"xd51", b"xd54", b"xd55", b"xd59", b"xd5a",
            b"xd5b", b"xd5c", b"xd5d", b"xd5e", b"xd5f", b"xdhd", b"xdh2",
        ],
    ),
    ("IMX", &[b"mx3n", b"mx3p", b"mx4n", b"mx4p", b"mx5n", b"mx5p"]),
    ("H.263", &[b"s263", b"h263", b"H263"]),
    ("Motion JPEG", &[b"jpeg", b"mjpa", b"mjpb", b"mjpg"]),
    ("JPEG 2000", &[b"mjp2"]),
    ("PNG", &[b"png ", b"MPNG"]),
    ("ProRes 422 HQ", &[b"apch"]),
    ("ProRes 422", &[b"apcn"]),
    ("ProRes 422 LT", &[b"apcs"]),
    ("ProRes 422 Proxy", &[b"apco"]),
    ("ProRes 4444", &[b"ap4h"]),
    ("ProRes 4444 XQ", &[b"ap4x"]),
    ("DNxHD", &[b"AVdn"]),
    ("DNxHR", &[b"AVdh"]),
    ("CineForm", &[b"CFHD"]),
    ("Apple Intermediate Codec", &[b"icod"]),
    ("Hap", &[b"Hap1", b"Hap5", b"HapY", b"HapA", b"HapM"]),
    ("DV", &[b"dvsd", b"dvc ", b"dvcp", b"dvpp", b"dv5n", b"dv5p", b"dv1n", b"dv1p"]),
    ("DVCPRO HD", &[b"dvhp", b"dvhq", b"dvh2", b"dvh3", b"dvh4", b"dvh5", b"dvh6"]),
    ("Sorenson Video", &[b"SVQ1", b"SVQ3"]),
    ("Cinepak", &[b"cvid"]),
    ("Animation", &[b"rle "]),
    ("Graphics", &[b"smc "]),
    ("Apple Video", &[b"rpza"]),
    ("Indeo", &[b"IV32", b"IV41", b"IV50"]),
    ("FFV1", &[b"FFV1"]),
    (
        "uncompressed video",
        &[b"v210", b"2vuy", b"2Vuy", b"yuv2", b"yuvs", b"v308", b"v408", b"v410", b"r210", b"b64a", b"b48r"],
    ),
    ("Opus", &[b"Opus"]),
    ("FLAC", &[b"fLaC"]),
    ("AC-3", &[b"ac-3", b"sac3"]),
    ("E-AC-3", &[b"ec-3"]),
    ("AC-4", &[b"ac-4"]),
    ("ALAC", &[b"alac"]),
    ("MPEG-4 audio", &[b"mp4a"]),
    ("MP3", &[b".mp3", b"mp3 ", b"ms\0\x55"]),
    ("MP2", &[b".mp2"]),
    ("Apple Positional Audio", &[b"apac"]),
    ("QCELP", &[b"Qclp", b"Qclq", b"sqcp"]),
    ("QDesign Music", &[b"QDMC", b"QDM2"]),
    ("AMR", &[b"samr", b"sawb"]),
    ("DTS", &[b"dtsc", b"dtse", b"dtsh", b"dtsl"]),
    ("DTS:X", &[b"dtsx"]),
    ("MPEG-H audio", &[b"mha1", b"mha2", b"mhm1", b"mhm2"]),
    ("PCM", PCM),
    ("G.711", &[b"ulaw", b"alaw"]),
    ("IMA ADPCM", &[b"ima4"]),
    ("MACE", &[b"MAC3", b"MAC6"]),
    ("GSM", &[b"agsm"]),
];
/// Sample entries of PCM. `raw ` is uncompressed video, too.
const PCM: &[&[u8; 4]] =
    &[b"sowt", b"twos", b"lpcm", b"ipcm", b"fpcm", b"raw ", b"in24", b"in32", b"fl32", b"fl64", b"NONE"];
/// Names of codecs that ffmpeg 5.1 has no decoder for.
const NOT_DECODED: [&str; 5] = ["VVC", "AC-4", "Apple Positional Audio", "DTS:X", "MPEG-H audio"];

/// Codecs whose frames may consist of two fields, as each frame declares; by name, or by codes of other
/// systems that have no name here. A decoder reads the declaration, so progressive frames stay unchanged.
const MAY_BE_INTERLACED: [&str; 19] = [
    "H.264",
    "AVC-Intra",
    "VC-1",
    "WVC1",
    "WMVA",
    "WMV3",
    "MPEG-2 video",
    "MPG2",
    "HDV",
    "XDCAM",
    "IMX",
    "MPEG-4 Visual",
    "DV",
    "DVCPRO HD",
    "DNxHD",
    "DNxHR",
    "Motion JPEG",
    "CineForm",
    "FFV1",
];

/// Whether frames of the codec with this name may consist of two fields, independent of the container.
pub fn may_be_interlaced(name: &str) -> bool {
    name.starts_with("ProRes") || MAY_BE_INTERLACED.contains(&name)
}

/// Whether an audio sample entry is PCM, or has the same packing.
pub(super) fn is_pcm(kind: FourCc) -> bool {
    PCM.contains(&&kind.0) || matches!(&kind.0, b"ulaw" | b"alaw")
}

/// The common name of the codec of a sample entry, for instance `ProRes 422`.
fn display_name(kind: FourCc) -> Option<&'static str> {
    CODECS.iter().find(|(_, kinds)| kinds.contains(&&kind.0)).map(|(name, _)| *name)
}

/// The name of the codec, if ffmpeg decodes it.
pub fn decodable_codec(kind: FourCc) -> Option<&'static str> {
    display_name(kind).filter(|name| !NOT_DECODED.contains(name))
}

/// The codec of a sample entry, for instance `HEVC (hvc1)`.
pub(super) fn codec_name(kind: FourCc) -> String {
    format!("{} ({kind})", display_name(kind).unwrap_or("unknown"))
}

/// Whether the sample entry hides an encrypted codec.
pub(super) fn is_encrypted(kind: FourCc) -> bool {
    matches!(&kind.0, b"encv" | b"enca" | b"drmi" | b"drms")
}

/// The name of the codec of an `esds` box, if ffmpeg decodes it.
pub(super) fn decodable_object_type(indication: u8) -> Option<&'static str> {
    Some(object_type_indication_name(indication)).filter(|name| *name != "unknown")
}

/// The codec of an `esds` box, for instance `MPEG audio (mp4a.6B)`: kind of the sample entry and
/// `objectTypeIndication`.
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
        // Of any layer.
        0x69 | 0x6b => "MPEG audio",
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

/// MPEG-4 audio object types that ffmpeg 5.1 has no decoder for: AAC SSR, and xHE-AAC.
pub(super) const OBJECT_TYPES_NOT_DECODED: [u32; 2] = [3, 42];

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
        110 => "High 10 (10-bit)",
        122 => "High 4:2:2",
        244 => "High 4:4:4 Predictive",
        44 => "CAVLC 4:4:4 Intra",
        other => return format!("profile {other}"),
    };
    name.into()
}
