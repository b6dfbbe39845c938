//! Which video can be copied, and what its sample entry says of it.
//!
//! What is true of all codecs stands here; [`avc`], [`hevc`] and [`av1`] know what may be copied of each.

mod av1;
mod avc;
mod hevc;

use super::{
    super::{
        boxes::{BoxRef, Fields, FourCc, children},
        error::ReadError,
    },
    entry::rebuilt,
    names::{codec_name, is_encrypted, mpeg4_codec_name},
};
use crate::{
    codec::{aac::Esds, colour::Colour},
    index::{SampleEntry, VideoTrack},
};

/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const FIELDS_LEN: usize = 78;

/// A visual sample entry: its fields and its child boxes.
#[derive(Clone, Copy)]
struct Entry<'a> {
    fields: &'a [u8],
    boxes: &'a [u8],
}

/// What the configuration of a codec says of a track that can be copied.
struct Stream {
    /// Kind of the sample entry we write.
    kind: &'static [u8; 4],
    codec: String,
    width: u32,
    height: u32,
    pixel_aspect: Option<(u32, u32)>,
    colour: Option<Colour>,
    /// Child boxes that are not written.
    left_out: &'static [&'static [u8; 4]],
}

/// Reads the sample entry of a video track. The composition shift and the frame rate are left for those who see the samples.
///
/// Errors: `Unsupported` for everything but progressive 4:2:0 pictures of H.264 (8 bits, up to High 5.1), HEVC (Main, Main 10) and
/// AV1 (Main), with what a decoder must know in the entry.
pub(crate) fn video_track(entry: &BoxRef<'_>, matrix: [i32; 9]) -> Result<VideoTrack, ReadError> {
    let kind = entry.kind;
    let entry = Entry::parse(entry)?;
    let stream = match &kind.0 {
        b"avc1" => avc::stream(entry)?,
        b"hvc1" | b"hev1" => hevc::stream(kind, entry)?,
        b"av01" => av1::stream(entry)?,
        _ => return Err(refused(kind, entry)),
    };
    let pasp = entry.find(b"pasp").and_then(|pasp| {
        let mut fields = Fields::new(pasp.body);
        Some((fields.u32()?, fields.u32()?))
    });
    let kept = children(entry.boxes).filter(|child| !stream.left_out.contains(&&child.kind.0));
    // The container's description counts: a writer that corrects one leaves the bitstream as it is. ISO/IEC 14496-12, 12.1.5.
    let transfer = [entry.colour(), stream.colour].into_iter().flatten().find_map(Colour::known_transfer);
    Ok(VideoTrack {
        sample_entry: SampleEntry::Iso(rebuilt(stream.kind, entry.fields, kept)?),
        not_copied: None,
        is_interlaced: false,
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

fn refused(kind: FourCc, entry: Entry<'_>) -> ReadError {
    let named = match entry.esds().filter(|_| &kind.0 == b"mp4v") {
        Some(esds) => mpeg4_codec_name(kind, esds.object_type_indication),
        None => codec_name(kind),
    };
    match &kind.0 {
        b"avc3" => ReadError::unsupported(
            "the video is H.264 with parameter sets between the frames (avc3); only avc1 is supported so far",
        ),
        _ => ReadError::unsupported(format!(
            "the video codec is {named}; only H.264, HEVC and AV1 are supported so far"
        )),
    }
}

/// In lowest terms; `None` for a ratio with a zero.
pub(crate) fn reduced(aspect: Option<(u32, u32)>) -> Option<(u32, u32)> {
    let (horizontal, vertical) = aspect.filter(|&(horizontal, vertical)| horizontal > 0 && vertical > 0)?;
    let (mut divisor, mut rest) = (horizontal, vertical);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    Some((horizontal / divisor, vertical / divisor))
}

/// The description of colours in a `colr` box, when it lists them. ISO/IEC 14496-12, 12.1.5; QuickTime File Format, colour parameters.
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

/// The quarter turn nearest to what the matrix does, clockwise. ISO/IEC 14496-12, 8.3.2: x' = a x + c y, y' = b x + d y.
pub(crate) fn rotation(matrix: &[i32; 9]) -> u16 {
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
    fn pixel_aspects_are_reduced_and_zeros_ignored() {
        assert_eq!(reduced(Some((64, 48))), Some((4, 3)));
        assert_eq!(reduced(Some((1, 1))), Some((1, 1)));
        assert_eq!(reduced(Some((0, 1))), None);
        assert_eq!(reduced(Some((1, 0))), None);
        assert_eq!(reduced(None), None);
    }
}
