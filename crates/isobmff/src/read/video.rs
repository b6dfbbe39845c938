//! What the sample entry of a video track says of it, and whether it can be copied.
//!
//! What is true of all codecs stands here; [`avc`], [`hevc`] and [`av1`] know what may be copied of each.
//! What may not is kept with the reason, for a decoder.

mod av1;
mod avc;
mod hevc;

use kinora_index::{
    DECODED_PIXELS_MAX, NotCopied, NotCopiedReason, SampleEntry, VideoTrack,
    codec::{aac::Esds, colour::Colour, h264::AvcConfig},
};

use super::{
    super::{
        boxes::{BoxRef, Fields, FourCc, children},
        error::ReadError,
    },
    entry::{rebuilt, verbatim},
    names::{
        codec_name, decoded_codec, decoded_object_type, is_encrypted, may_have_fields, mpeg4_codec_name,
    },
};

/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const FIELDS_LEN: usize = 78;
/// Where width and height lie among them. ISO/IEC 14496-12, 12.1.3.
const SIZE_AT: usize = 24;

/// A visual sample entry: its fields and its child boxes.
#[derive(Clone, Copy)]
struct Entry<'a> {
    fields: &'a [u8],
    boxes: &'a [u8],
}

/// What the configuration of a codec says of a track.
struct Stream {
    /// Kind of the sample entry we write.
    kind: [u8; 4],
    codec: String,
    not_copied: Option<NotCopied>,
    is_interlaced: bool,
    width: u32,
    height: u32,
    pixel_aspect: Option<(u32, u32)>,
    colour: Option<Colour>,
    /// Child boxes that are not written.
    left_out: &'static [&'static [u8; 4]],
}

/// Refuses pictures that would have to be decoded and are larger than any decoder is let take. A copy is the
/// business of players.
pub fn check_size(width: u32, height: u32, is_copied: bool) -> Result<(), ReadError> {
    if is_copied || u64::from(width) * u64::from(height) <= DECODED_PIXELS_MAX {
        return Ok(());
    }
    Err(ReadError::Unsupported(format!(
        "the pictures have {width}x{height} pixels, which is too large to decode"
    )))
}

/// Reads the sample entry of a video track; `size` is that of the `tkhd` box, 16.16. The composition shift
/// and the frame rate are left for those who see the samples.
///
/// Copied is what is progressive 4:2:0 of H.264 (8 bits, up to High 5.1), HEVC (Main, Main 10) and AV1
/// (Main), with what a decoder must know in the entry. Errors: `Unsupported` for codecs that nobody decodes,
/// and for encrypted ones.
pub fn video_track(entry: &BoxRef<'_>, matrix: [i32; 9], size: (u32, u32)) -> Result<VideoTrack, ReadError> {
    let (kind, whole) = (entry.kind, entry);
    let entry = Entry::parse(entry)?;
    let stream = match &kind.0 {
        b"avc1" => Some(avc::stream(entry)?),
        b"hvc1" | b"hev1" => Some(hevc::stream(kind, entry)?),
        b"av01" => Some(av1::stream(entry)?),
        _ => None,
    };
    let (stream, sample_entry) = match stream {
        Some(stream) => {
            let kept = children(entry.boxes).filter(|child| !stream.left_out.contains(&&child.kind.0));
            let bytes = rebuilt(&stream.kind, entry.fields, kept)?;
            (stream, bytes)
        }
        None => (other(kind, entry, size)?, verbatim(whole)?),
    };
    check_size(stream.width, stream.height, stream.not_copied.is_none())?;
    let pasp = entry.find(b"pasp").and_then(|pasp| {
        let mut fields = Fields::new(pasp.body);
        Some((fields.u32()?, fields.u32()?))
    });
    // The container's description counts: a writer that corrects one leaves the bitstream as it is. ISO/IEC
    // 14496-12, 12.1.5.
    let transfer = [entry.colour(), stream.colour].into_iter().flatten().find_map(Colour::known_transfer);
    Ok(VideoTrack {
        sample_entry: SampleEntry::Iso(sample_entry),
        not_copied: stream.not_copied,
        is_interlaced: stream.is_interlaced,
        codec: stream.codec,
        width: stream.width,
        height: stream.height,
        pixel_aspect: reduced(pasp).or(reduced(stream.pixel_aspect)).unwrap_or((1, 1)),
        matrix,
        rotation: rotation(&matrix),
        transfer,
        frame_rate: None,
        composition_shift: 0,
    })
}

/// Frame rate of H.264 whose frames may be coded as two fields: (frames, seconds). `None` for other video,
/// and where the parameter set has no timing.
pub(super) fn rate_of_frames_in_fields(video: &VideoTrack) -> Option<(u32, u32)> {
    let SampleEntry::Iso(entry) = &video.sample_entry else { return None };
    let entry = children(entry).next().filter(|entry| &entry.kind.0 == b"avc1")?;
    let config = AvcConfig::parse(Entry::parse(&entry).ok()?.find(b"avcC")?.body)?;
    let sps = config.parameter_sets.first().filter(|sps| !sps.is_frames_only)?;
    sps.frame_rate
}

/// How the decoder of ffmpeg describes the colours of pictures with this sample entry (a whole box). `None`
/// if only decoding them can tell.
///
/// If the stream has no description, its H.264 decoder takes that of the container; its HEVC and AV1 decoders
/// ignore that.
pub fn decoded_colour(sample_entry: &[u8]) -> Option<Colour> {
    let entry = children(sample_entry).next()?;
    let (kind, entry) = (entry.kind, Entry::parse(&entry).ok()?);
    let (stream, container) = match &kind.0 {
        b"avc1" => (avc::stream(entry).ok()?, entry.colour()),
        b"hvc1" | b"hev1" => (hevc::stream(kind, entry).ok()?, None),
        b"av01" => (av1::stream(entry).ok()?, None),
        _ => return None,
    };
    Some(stream.colour.or(container).unwrap_or(Colour::OPEN))
}

/// A codec that players do not know, but decoders do: what the fields of its entry say.
fn other(kind: FourCc, entry: Entry<'_>, size: (u32, u32)) -> Result<Stream, ReadError> {
    let esds = entry.esds().filter(|_| &kind.0 == b"mp4v");
    let (name, codec) = match &esds {
        Some(esds) => {
            let indication = esds.object_type_indication;
            (decoded_object_type(indication), format!("{kind}.{indication:02X}"))
        }
        None if &kind.0 == b"raw " => (Some("uncompressed video"), kind.to_string()),
        None => (decoded_codec(kind), kind.to_string()),
    };
    let Some(name) = name else {
        let named =
            esds.map_or_else(|| codec_name(kind), |esds| mpeg4_codec_name(kind, esds.object_type_indication));
        return Err(ReadError::unsupported(format!("the video codec is {named}, which cannot be decoded")));
    };
    let is_size = |&(width, height): &(u32, u32)| width > 0 && height > 0;
    let (width, height) = entry
        .size()
        .filter(is_size)
        .or(Some((size.0 >> 16, size.1 >> 16)).filter(is_size))
        .ok_or_else(|| ReadError::damaged("its pictures have no size"))?;
    Ok(Stream {
        kind: kind.0,
        codec,
        not_copied: Some(NotCopied::new(NotCopiedReason::Codec, name)),
        is_interlaced: entry.has_fields() || may_have_fields(name),
        width,
        height,
        pixel_aspect: None,
        colour: None,
        left_out: &[],
    })
}

impl<'a> Entry<'a> {
    fn parse(entry: &BoxRef<'a>) -> Result<Self, ReadError> {
        if is_encrypted(entry.kind) {
            return Err(ReadError::unsupported("the video is encrypted"));
        }
        let (fields, boxes) = entry
            .body
            .split_at_checked(FIELDS_LEN)
            .ok_or_else(|| ReadError::damaged("its video sample entry is cut short"))?;
        Ok(Entry { fields, boxes })
    }

    /// The first child box of this kind.
    fn find(self, kind: &[u8; 4]) -> Option<BoxRef<'a>> {
        children(self.boxes).find(|child| &child.kind.0 == kind)
    }

    /// Width and height as its fields say them.
    fn size(self) -> Option<(u32, u32)> {
        let mut fields = Fields::new(self.fields.get(SIZE_AT..)?);
        Some((u32::from(fields.u16()?), u32::from(fields.u16()?)))
    }

    /// Whether it says that two fields make one picture. QuickTime File Format, field handling.
    fn has_fields(self) -> bool {
        self.find(b"fiel").is_some_and(|fiel| fiel.body.first() == Some(&2))
    }

    /// What its `esds` box says.
    fn esds(self) -> Option<Esds<'a>> {
        self.find(b"esds").and_then(|esds| Esds::parse(esds.body))
    }

    /// The colours as the container describes them.
    fn colour(self) -> Option<Colour> {
        // There may be a profile beside the description.
        children(self.boxes).filter(|child| &child.kind.0 == b"colr").find_map(|colr| colour(&colr))
    }
}

/// In lowest terms; `None` for a ratio with a zero.
pub fn reduced(aspect: Option<(u32, u32)>) -> Option<(u32, u32)> {
    let (horizontal, vertical) = aspect.filter(|&(horizontal, vertical)| horizontal > 0 && vertical > 0)?;
    let (mut divisor, mut rest) = (horizontal, vertical);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    Some((horizontal / divisor, vertical / divisor))
}

/// The description of colours in a `colr` box, when it lists them. ISO/IEC 14496-12, 12.1.5; QuickTime File
/// Format, colour parameters.
fn colour(colr: &BoxRef<'_>) -> Option<Colour> {
    let mut fields = Fields::new(colr.body);
    let kind = fields.array::<4>()?;
    if !matches!(&kind, b"nclx" | b"nclc") {
        return None;
    }
    let [primaries, transfer, matrix] = [fields.u16()?, fields.u16()?, fields.u16()?];
    let is_full_range = &kind == b"nclx" && fields.rest.first().is_some_and(|flags| flags & 0x80 != 0);
    Some(Colour { primaries, transfer, matrix, is_full_range })
}

/// The quarter turn nearest to what the matrix does, clockwise. ISO/IEC 14496-12, 8.3.2: x' = a x + c y, y' =
/// b x + d y.
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
    fn matrices_are_told_apart_by_their_quarter_turn() {
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
    fn descriptions_of_colours_are_read_in_both_spellings() {
        let read = |body: &[u8]| colour(&BoxRef { kind: FourCc(*b"colr"), body });
        let hdr = Colour { primaries: 9, transfer: 16, matrix: 9, is_full_range: false };
        assert_eq!(read(b"nclx\0\x09\0\x10\0\x09\0"), Some(hdr));
        assert_eq!(read(b"nclx\0\x09\0\x10\0\x09\x80"), Some(Colour { is_full_range: true, ..hdr }));
        assert_eq!(read(b"nclc\0\x09\0\x10\0\x09"), Some(hdr));
        assert_eq!(read(b"prof\0\x09\0\x10\0\x09"), None);
        assert_eq!(read(b"nclx\0\x09\0\x10\0"), None);
    }

    #[test]
    fn what_must_be_decoded_may_not_be_larger_than_decoders_take() {
        assert_eq!(check_size(8192, 4320, false), Ok(()));
        assert_eq!(check_size(65535, 65535, true), Ok(()));
        let sentence = "the pictures have 65535x65535 pixels, which is too large to decode";
        assert_eq!(check_size(65535, 65535, false), Err(ReadError::unsupported(sentence)));
    }

    #[test]
    fn pixel_aspects_are_reduced_and_zeros_ignored() {
        assert_eq!(reduced(Some((64, 48))), Some((4, 3)));
        assert_eq!(reduced(Some((1, 1))), Some((1, 1)));
        assert_eq!(reduced(Some((0, 1))), None);
        assert_eq!(reduced(Some((1, 0))), None);
        assert_eq!(reduced(None), None);
    }
}
