//! Reads the sample entry of a video track and decides whether the track can be copied.
//!
//! This file has the rules for all codecs; [`avc`], [`hevc`] and [`av1`] have those of each codec. A track
//! that cannot be copied stores its reason, and is decoded.

mod av1;
mod avc;
mod hevc;

use kinora_index::{
    DECODED_PIXELS_MAX, NotCopied, NotCopiedReason, SampleEntry, VideoTrack,
    codec::{aac::Esds, colour::Colour, h264::AvcConfig},
};

use super::{
    super::{
        boxes::{BoxRef, FieldReader, FourCc, children},
        error::ReadError,
    },
    codec_names::{
        codec_name, decodable_codec, decodable_object_type, is_encrypted, may_be_interlaced, mpeg4_codec_name,
    },
    sample_entry::{build_sample_entry, copy_sample_entry},
};

/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const FIELDS_LEN: usize = 78;
/// Offset of width and height in them. ISO/IEC 14496-12, 12.1.3.
const SIZE_AT: usize = 24;

/// A visual sample entry: its fields and its child boxes.
#[derive(Clone, Copy)]
struct VisualSampleEntry<'a> {
    fields: &'a [u8],
    boxes: &'a [u8],
}

/// The properties of a track in its codec configuration.
struct CodecInfo {
    /// Kind of the sample entry in the output.
    kind: [u8; 4],
    codec: String,
    not_copied: Option<NotCopied>,
    is_interlaced: bool,
    width: u32,
    height: u32,
    pixel_aspect: Option<(u32, u32)>,
    colour: Option<Colour>,
    /// Child boxes that are not written.
    dropped_boxes: &'static [&'static [u8; 4]],
}

/// Rejects video that must be decoded and exceeds the pixel limit for decoding. Copies have no such limit:
/// the player decodes them.
pub fn check_size(width: u32, height: u32, is_copied: bool) -> Result<(), ReadError> {
    if is_copied || u64::from(width) * u64::from(height) <= DECODED_PIXELS_MAX {
        return Ok(());
    }
    Err(ReadError::Unsupported(format!(
        "the frames have {width}x{height} pixels, which is too large to decode"
    )))
}

/// Reads the sample entry of a video track; `size` is that of the `tkhd` box, 16.16. The caller sets the
/// composition shift and the frame rate, because they depend on the samples.
///
/// Progressive 4:2:0 of H.264 (8 bits, up to High 5.1), HEVC (Main, Main 10) and AV1 (Main) is copied, if
/// the entry contains the whole decoder configuration. Errors: `Unsupported` for codecs without a decoder,
/// and for encrypted ones.
pub fn video_track(entry: &BoxRef<'_>, matrix: [i32; 9], size: (u32, u32)) -> Result<VideoTrack, ReadError> {
    let (kind, original) = (entry.kind, entry);
    let entry = VisualSampleEntry::parse(entry)?;
    let info = match &kind.0 {
        b"avc1" => Some(avc::codec_info(entry)?),
        b"hvc1" | b"hev1" => Some(hevc::codec_info(kind, entry)?),
        b"av01" => Some(av1::codec_info(entry)?),
        _ => None,
    };
    let (codec_info, sample_entry) = match info {
        Some(stream) => {
            let child_boxes =
                children(entry.boxes).filter(|child| !stream.dropped_boxes.contains(&&child.kind.0));
            let bytes = build_sample_entry(&stream.kind, entry.fields, child_boxes)?;
            (stream, bytes)
        }
        None => (codec_info_from_entry(kind, entry, size)?, copy_sample_entry(original)?),
    };
    check_size(codec_info.width, codec_info.height, codec_info.not_copied.is_none())?;
    let pasp = entry.find(b"pasp").and_then(|pasp| {
        let mut fields = FieldReader::new(pasp.body);
        Some((fields.u32()?, fields.u32()?))
    });
    // The container's description takes precedence: a writer that corrects it leaves the bitstream
    // unchanged. ISO/IEC 14496-12, 12.1.5.
    let transfer = [entry.colour(), codec_info.colour].into_iter().flatten().find_map(Colour::known_transfer);
    Ok(VideoTrack {
        sample_entry: SampleEntry::Iso(sample_entry),
        not_copied: codec_info.not_copied,
        is_interlaced: codec_info.is_interlaced,
        codec: codec_info.codec,
        width: codec_info.width,
        height: codec_info.height,
        pixel_aspect: reduced_aspect(pasp).or(reduced_aspect(codec_info.pixel_aspect)).unwrap_or((1, 1)),
        matrix,
        rotation: rotation(&matrix),
        transfer,
        frame_rate: None,
        composition_shift: 0,
    })
}

/// Frame rate of H.264 that may code a frame as two fields: (frames, seconds). `None` for other video,
/// and if the parameter set has no timing.
pub(super) fn frame_rate_if_field_coded(video: &VideoTrack) -> Option<(u32, u32)> {
    let SampleEntry::Iso(entry) = &video.sample_entry else { return None };
    let entry = children(entry).next().filter(|entry| &entry.kind.0 == b"avc1")?;
    let config = AvcConfig::parse(VisualSampleEntry::parse(&entry).ok()?.find(b"avcC")?.body)?;
    let sps = config.parameter_sets.first().filter(|sps| !sps.is_frames_only)?;
    sps.frame_rate
}

/// The colour description that the decoder of ffmpeg reports for this sample entry (a whole box). `None` if
/// it depends on the decoded frames.
///
/// If the stream has no description, its H.264 decoder takes that of the container; its HEVC and AV1
/// decoders ignore that.
pub fn decoded_colour(sample_entry: &[u8]) -> Option<Colour> {
    let entry = children(sample_entry).next()?;
    let (kind, entry) = (entry.kind, VisualSampleEntry::parse(&entry).ok()?);
    let (info, container) = match &kind.0 {
        b"avc1" => (avc::codec_info(entry).ok()?, entry.colour()),
        b"hvc1" | b"hev1" => (hevc::codec_info(kind, entry).ok()?, None),
        b"av01" => (av1::codec_info(entry).ok()?, None),
        _ => return None,
    };
    Some(info.colour.or(container).unwrap_or(Colour::UNSPECIFIED))
}

/// A codec that decoders support and players do not: the values are those of its entry.
fn codec_info_from_entry(
    kind: FourCc,
    entry: VisualSampleEntry<'_>,
    size: (u32, u32),
) -> Result<CodecInfo, ReadError> {
    let esds = entry.esds().filter(|_| &kind.0 == b"mp4v");
    let (name, codec) = match &esds {
        Some(esds) => {
            let indication = esds.object_type_indication;
            (decodable_object_type(indication), format!("{kind}.{indication:02X}"))
        }
        None if &kind.0 == b"raw " => (Some("uncompressed video"), kind.to_string()),
        None => (decodable_codec(kind), kind.to_string()),
    };
    let Some(name) = name else {
        let full_name =
            esds.map_or_else(|| codec_name(kind), |esds| mpeg4_codec_name(kind, esds.object_type_indication));
        return Err(ReadError::unsupported(format!(
            "the video codec is {full_name}, which cannot be decoded"
        )));
    };
    let is_size = |&(width, height): &(u32, u32)| width > 0 && height > 0;
    let (width, height) = entry
        .size()
        .filter(is_size)
        .or(Some((size.0 >> 16, size.1 >> 16)).filter(is_size))
        .ok_or_else(|| ReadError::damaged("its frames have no size"))?;
    Ok(CodecInfo {
        kind: kind.0,
        codec,
        not_copied: Some(NotCopied::new(NotCopiedReason::Codec, name)),
        is_interlaced: entry.has_fields() || may_be_interlaced(name),
        width,
        height,
        pixel_aspect: None,
        colour: None,
        dropped_boxes: &[],
    })
}

impl<'a> VisualSampleEntry<'a> {
    fn parse(entry: &BoxRef<'a>) -> Result<Self, ReadError> {
        if is_encrypted(entry.kind) {
            return Err(ReadError::unsupported("the video is encrypted"));
        }
        let (fields, boxes) = entry
            .body
            .split_at_checked(FIELDS_LEN)
            .ok_or_else(|| ReadError::damaged("its video sample entry is cut short"))?;
        Ok(VisualSampleEntry { fields, boxes })
    }

    /// The first child box of this kind.
    fn find(self, kind: &[u8; 4]) -> Option<BoxRef<'a>> {
        children(self.boxes).find(|child| &child.kind.0 == kind)
    }

    /// Width and height in its fields.
    fn size(self) -> Option<(u32, u32)> {
        let mut fields = FieldReader::new(self.fields.get(SIZE_AT..)?);
        Some((u32::from(fields.u16()?), u32::from(fields.u16()?)))
    }

    /// Whether a frame consists of two fields. QuickTime File Format, field handling.
    fn has_fields(self) -> bool {
        self.find(b"fiel").is_some_and(|fiel| fiel.body.first() == Some(&2))
    }

    /// Its parsed `esds` box.
    fn esds(self) -> Option<Esds<'a>> {
        self.find(b"esds").and_then(|esds| Esds::parse(esds.body))
    }

    /// The colour description of the container.
    fn colour(self) -> Option<Colour> {
        // A colour profile may exist in addition to the description.
        children(self.boxes).filter(|child| &child.kind.0 == b"colr").find_map(|colr| colour(&colr))
    }
}

/// In lowest terms; `None` for a ratio with a zero.
pub fn reduced_aspect(aspect: Option<(u32, u32)>) -> Option<(u32, u32)> {
    let (horizontal, vertical) = aspect.filter(|&(horizontal, vertical)| horizontal > 0 && vertical > 0)?;
    let (mut divisor, mut rest) = (horizontal, vertical);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    Some((horizontal / divisor, vertical / divisor))
}

/// The colour description in a `colr` box, if it lists code points. ISO/IEC 14496-12, 12.1.5; QuickTime File
/// Format, colour parameters.
fn colour(colr: &BoxRef<'_>) -> Option<Colour> {
    let mut fields = FieldReader::new(colr.body);
    let kind = fields.array::<4>()?;
    if !matches!(&kind, b"nclx" | b"nclc") {
        return None;
    }
    let [primaries, transfer, matrix] = [fields.u16()?, fields.u16()?, fields.u16()?];
    let is_full_range = &kind == b"nclx" && fields.rest.first().is_some_and(|flags| flags & 0x80 != 0);
    Some(Colour { primaries, transfer, matrix, is_full_range })
}

/// The quarter turn nearest to the rotation of the matrix, clockwise. ISO/IEC 14496-12, 8.3.2: x' = a x + c
/// y, y' = b x + d y.
pub fn rotation(matrix: &[i32; 9]) -> u16 {
    let [a, b, _, c, d, ..] = *matrix;
    let is_sideways = a.unsigned_abs().max(d.unsigned_abs()) < b.unsigned_abs().max(c.unsigned_abs());
    match (is_sideways, a < 0, b < 0) {
        (false, false, _) => 0,
        (true, _, false) => 90,
        (false, true, _) => 180,
        (true, _, true) => 270,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrix_gives_rotation_in_quarter_turns() {
        const ONE: i32 = 0x1_0000;
        let check = |[a, b, c, d]: [i32; 4], expected| {
            assert_eq!(rotation(&[a, b, 0, c, d, 0, 0, 0, 0x4000_0000]), expected, "{a} {b} {c} {d}");
        };
        check([ONE, 0, 0, ONE], 0);
        check([0, ONE, -ONE, 0], 90);
        check([-ONE, 0, 0, -ONE], 180);
        check([0, -ONE, ONE, 0], 270);
        check([0, 0, 0, 0], 0);
        check([ONE / 2, 0, 0, ONE / 2], 0);
        check([0, i32::MIN, i32::MAX, 0], 270);
    }

    #[test]
    fn colr_nclx_and_nclc_are_read() {
        let read = |body: &[u8]| colour(&BoxRef { kind: FourCc(*b"colr"), body });
        let hdr = Colour { primaries: 9, transfer: 16, matrix: 9, is_full_range: false };
        assert_eq!(read(b"nclx\0\x09\0\x10\0\x09\0"), Some(hdr));
        assert_eq!(read(b"nclx\0\x09\0\x10\0\x09\x80"), Some(Colour { is_full_range: true, ..hdr }));
        assert_eq!(read(b"nclc\0\x09\0\x10\0\x09"), Some(hdr));
        assert_eq!(read(b"prof\0\x09\0\x10\0\x09"), None);
        assert_eq!(read(b"nclx\0\x09\0\x10\0"), None);
    }

    #[test]
    fn frame_size_limit_of_decoded_video() {
        assert_eq!(check_size(8192, 4320, false), Ok(()));
        assert_eq!(check_size(65535, 65535, true), Ok(()));
        let sentence = "the frames have 65535x65535 pixels, which is too large to decode";
        assert_eq!(check_size(65535, 65535, false), Err(ReadError::unsupported(sentence)));
    }

    #[test]
    fn pixel_aspects_are_reduced_and_zeros_ignored() {
        assert_eq!(reduced_aspect(Some((64, 48))), Some((4, 3)));
        assert_eq!(reduced_aspect(Some((1, 1))), Some((1, 1)));
        assert_eq!(reduced_aspect(Some((0, 1))), None);
        assert_eq!(reduced_aspect(Some((1, 0))), None);
        assert_eq!(reduced_aspect(None), None);
    }
}
