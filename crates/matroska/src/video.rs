//! Describes a video track: with a sample entry of MP4 if players may get the track unchanged, else with the
//! entry of Matroska.

use kinora_index::{NotCopied, NotCopiedReason, SampleEntry, VideoTrack};
use kinora_isobmff::{
    ReadError,
    boxes::{BoxRef, FourCc},
    read::{build_sample_entry, check_size, may_be_interlaced, reduced_aspect, rotation, video_track},
};

use crate::{
    codec_names::codec_name,
    ebml::{Element, id},
    track_entry::TrackEntry,
};

/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const FIELDS_LEN: usize = 78;
/// 1.0 as 16.16 and as 2.30 fixed point.
const ONE: i32 = 0x1_0000;
const ONE_2_30: i32 = 0x4000_0000;
/// `DisplayUnit`: pixels, and display aspect ratio. RFC 9559, 5.1.4.1.28.17.
const DISPLAY_UNIT_PIXELS: u64 = 0;
const DISPLAY_UNIT_ASPECT_RATIO: u64 = 3;
/// `FlagInterlaced`. RFC 9559, 5.1.4.1.28.1.
const INTERLACED: u64 = 1;
/// An unspecified characteristic. ISO/IEC 23091-2.
const UNSPECIFIED: u64 = 2;
/// `Range`: full range. RFC 9559, 5.1.4.1.28.25.
const FULL_RANGE: u64 = 2;

/// The codecs that may be copied, with their boxes in MP4. Their `CodecPrivate` is the body of the second.
fn boxes_of(codec_id: &str) -> Option<(&'static [u8; 4], &'static [u8; 4])> {
    match codec_id {
        "V_MPEG4/ISO/AVC" => Some((b"avc1", b"avcC")),
        "V_MPEGH/ISO/HEVC" => Some((b"hvc1", b"hvcC")),
        "V_AV1" => Some((b"av01", b"av1C")),
        _ => None,
    }
}

/// Reads the description of a video track. The caller sets composition shift and frame rate, because they
/// depend on the frames.
///
/// Errors: those of the MP4 reader for the same codec; `Damaged` without a size.
pub(crate) fn track(entry: &TrackEntry<'_>) -> Result<VideoTrack, ReadError> {
    let settings = entry.element.child(id::VIDEO).and_then(|video| VideoSettings::parse(&video));
    let shape = settings.ok_or_else(|| ReadError::Damaged("a video track lacks its frame size".into()))?;
    let name = || codec_name(entry.codec_id, entry.private);
    match boxes_of(entry.codec_id).filter(|_| !entry.private.is_empty()) {
        Some((kind, config)) => {
            let bytes = sample_entry(kind, config, entry.private, &shape)?;
            video_track(&BoxRef { kind: FourCc(*kind), body: &bytes[8..] }, shape.matrix(), (0, 0))
        }
        None => check_size(shape.width, shape.height, false).map(|()| VideoTrack {
            sample_entry: SampleEntry::Matroska(entry.element.whole.to_vec()),
            codec: entry.codec_id.to_owned(),
            is_interlaced: shape.is_interlaced || may_be_interlaced(&name()),
            not_copied: Some(NotCopied::new(NotCopiedReason::Codec, name())),
            width: shape.width,
            height: shape.height,
            pixel_aspect: shape.pixel_aspect.unwrap_or((1, 1)),
            matrix: shape.matrix(),
            rotation: rotation(&shape.matrix()),
            transfer: shape
                .colour
                .map(|colour| colour.transfer)
                .filter(|&transfer| u64::from(transfer) != UNSPECIFIED),
            frame_rate: None,
            composition_shift: 0,
        }),
    }
}

/// The fields of a `Video` element.
struct VideoSettings {
    width: u32,
    height: u32,
    pixel_aspect: Option<(u32, u32)>,
    is_interlaced: bool,
    colour: Option<Nclx>,
    /// Quarter turns, clockwise.
    turns: u8,
}

/// Code points of a colour description. ISO/IEC 23091-2.
#[derive(Clone, Copy)]
struct Nclx {
    primaries: u16,
    transfer: u16,
    matrix: u16,
    is_full_range: bool,
}

impl VideoSettings {
    /// `None` without a size that fits a sample entry.
    fn parse(video: &Element<'_>) -> Option<Self> {
        let size = |id| video.uint(id).and_then(|size| u16::try_from(size).ok()).map(u64::from);
        let (width, height) = (size(id::PIXEL_WIDTH)?, size(id::PIXEL_HEIGHT)?);
        if width == 0 || height == 0 {
            return None;
        }
        let roll =
            video.child(id::PROJECTION).and_then(|projection| projection.child(id::PROJECTION_POSE_ROLL));
        Some(VideoSettings {
            width: width as u32,
            height: height as u32,
            pixel_aspect: pixel_aspect(video, width, height),
            is_interlaced: video.uint(id::FLAG_INTERLACED) == Some(INTERLACED),
            colour: video.child(id::COLOUR).and_then(|colour| Nclx::parse(&colour)),
            turns: roll.and_then(|roll| roll.as_float()).map_or(0, quarter_turns),
        })
    }

    /// The matrix of a `tkhd` box that rotates the video and moves it back to the origin. ISO/IEC 14496-12,
    /// 8.3.2.
    fn matrix(&self) -> [i32; 9] {
        let fixed = |pixels: u32| i32::try_from(pixels << 16).unwrap_or(0);
        let (w, h) = (fixed(self.width), fixed(self.height));
        let [a, b, c, d, x, y] = match self.turns {
            1 => [0, ONE, -ONE, 0, h, 0],
            2 => [-ONE, 0, 0, -ONE, w, h],
            3 => [0, -ONE, ONE, 0, 0, w],
            _ => [ONE, 0, 0, ONE, 0, 0],
        };
        [a, b, 0, c, d, 0, x, y, ONE_2_30]
    }
}

/// The nearest quarter turn, clockwise, as players apply the roll of a projection.
fn quarter_turns(degrees: f64) -> u8 {
    if !degrees.is_finite() {
        return 0;
    }
    // The standard allows -180 to 180; other values wrap around.
    ((degrees.rem_euclid(360.0) / 90.0).round() as u8) % 4
}

/// The pixel aspect ratio, if the display size is declared. RFC 9559, 5.1.4.1.28.15 to 17.
fn pixel_aspect(video: &Element<'_>, width: u64, height: u64) -> Option<(u32, u32)> {
    if !matches!(
        video.uint(id::DISPLAY_UNIT).unwrap_or(DISPLAY_UNIT_PIXELS),
        DISPLAY_UNIT_PIXELS | DISPLAY_UNIT_ASPECT_RATIO
    ) {
        return None;
    }
    let crop = |one, other| video.uint(one).unwrap_or(0).saturating_add(video.uint(other).unwrap_or(0));
    let width =
        width.checked_sub(crop(id::PIXEL_CROP_LEFT, id::PIXEL_CROP_RIGHT)).filter(|&width| width > 0)?;
    let height =
        height.checked_sub(crop(id::PIXEL_CROP_TOP, id::PIXEL_CROP_BOTTOM)).filter(|&height| height > 0)?;
    // If only one of them is declared, the other is the size in pixels.
    let (shown_width, shown_height) = (video.uint(id::DISPLAY_WIDTH), video.uint(id::DISPLAY_HEIGHT));
    shown_width.or(shown_height)?;
    let in_range = |size: Option<u64>, usual: u64| u16::try_from(size.unwrap_or(usual)).ok().map(u64::from);
    let (shown_width, shown_height) = (in_range(shown_width, width)?, in_range(shown_height, height)?);
    // 16 bits each: products of 32 bits.
    reduced_aspect(Some(((shown_width * height) as u32, (shown_height * width) as u32)))
}

impl Nclx {
    /// `None` if all are unspecified.
    fn parse(colour: &Element<'_>) -> Option<Self> {
        let point =
            |id| colour.uint(id).and_then(|point| u16::try_from(point).ok()).unwrap_or(UNSPECIFIED as u16);
        let nclx = Nclx {
            primaries: point(id::PRIMARIES),
            transfer: point(id::TRANSFER_CHARACTERISTICS),
            matrix: point(id::MATRIX_COEFFICIENTS),
            is_full_range: colour.uint(id::RANGE) == Some(FULL_RANGE),
        };
        let is_specified =
            [nclx.primaries, nclx.transfer, nclx.matrix].iter().any(|&point| u64::from(point) != UNSPECIFIED);
        (is_specified || nclx.is_full_range).then_some(nclx)
    }

    /// The body of a `colr` box. ISO/IEC 14496-12, 12.1.5.
    fn body(self) -> Vec<u8> {
        let points = [self.primaries, self.transfer, self.matrix].map(u16::to_be_bytes).concat();
        [&b"nclx"[..], &points, &[u8::from(self.is_full_range) << 7]].concat()
    }
}

/// The visual sample entry of the same track in an MP4. ISO/IEC 14496-12, 12.1.3.
fn sample_entry(
    kind: &[u8; 4],
    config: &[u8; 4],
    private: &[u8],
    settings: &VideoSettings,
) -> Result<Vec<u8>, ReadError> {
    let mut fields = [0; FIELDS_LEN];
    fields[24..26].copy_from_slice(&(settings.width as u16).to_be_bytes());
    fields[26..28].copy_from_slice(&(settings.height as u16).to_be_bytes());
    fields[28..36].copy_from_slice(&[0, 0x48, 0, 0, 0, 0x48, 0, 0]); // 72 dots an inch
    fields[41] = 1; // frame_count
    fields[74..78].copy_from_slice(&[0, 0x18, 0xff, 0xff]); // depth, pre_defined
    let colr = settings.colour.map(Nclx::body);
    let pasp = settings.pixel_aspect.map(|(h, v)| [h.to_be_bytes(), v.to_be_bytes()].concat());
    let children = [(*config, Some(private)), (*b"colr", colr.as_deref()), (*b"pasp", pasp.as_deref())];
    let children =
        children.into_iter().filter_map(|(kind, body)| Some(BoxRef { kind: FourCc(kind), body: body? }));
    build_sample_entry(kind, &fields, children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projection_roll_becomes_rotation() {
        for (degrees, expected) in [
            (0.0, 0),
            (90.0, 1),
            (-90.0, 3),
            (180.0, 2),
            (-180.0, 2),
            (89.5, 1),
            (350.0, 0),
            (f64::NAN, 0),
            (f64::INFINITY, 0),
            (1e300, 0),
        ] {
            let turns = quarter_turns(degrees);
            assert!(turns < 4 && (turns == expected || degrees == 1e300), "{degrees}");
        }
    }

    #[test]
    fn display_size_gives_pixel_aspect() {
        let check = |children: &[(u32, u64)], expected: Option<(u32, u32)>| {
            let mut body = Vec::new();
            children.iter().for_each(|&(id, value)| crate::ebml::write_uint(&mut body, id, value));
            let video = Element { id: id::VIDEO, body: &body, whole: &body };
            assert_eq!(pixel_aspect(&video, 720, 576), expected, "{children:x?}");
        };
        check(&[], None);
        check(&[(id::DISPLAY_WIDTH, 1024), (id::DISPLAY_HEIGHT, 576)], Some((64, 45)));
        check(&[(id::DISPLAY_WIDTH, 720), (id::DISPLAY_HEIGHT, 576)], Some((1, 1)));
        check(&[(id::DISPLAY_WIDTH, 1440)], Some((2, 1)));
        check(&[(id::DISPLAY_WIDTH, 16), (id::DISPLAY_HEIGHT, 9), (id::DISPLAY_UNIT, 3)], Some((64, 45)));
        check(&[(id::DISPLAY_WIDTH, 16), (id::DISPLAY_HEIGHT, 9), (id::DISPLAY_UNIT, 1)], None);
        check(&[(id::DISPLAY_WIDTH, 0), (id::DISPLAY_HEIGHT, 9)], None);
        check(&[(id::DISPLAY_WIDTH, u64::MAX)], None);
        check(&[(id::DISPLAY_WIDTH, 720), (id::PIXEL_CROP_LEFT, 360)], Some((2, 1)));
        check(&[(id::DISPLAY_WIDTH, 720), (id::PIXEL_CROP_LEFT, 720)], None);
        check(&[(id::DISPLAY_WIDTH, 720), (id::PIXEL_CROP_LEFT, u64::MAX), (id::PIXEL_CROP_RIGHT, 1)], None);
    }
}
