//! The colours of an encoded rendition: one description for all of its frames, even if those of the source
//! change.

use kinora_index::{
    SampleEntry, VideoTrack,
    codec::colour::{Colour, UNSPECIFIED},
};
use kinora_isobmff::read::decoded_colour;

/// Players assume BT.709 for frames without a description from this many lines on, and BT.601 for smaller
/// ones: Chromium (`media/base/video_frame.cc`) and Firefox (`gfx/2d/Types.h`).
const LINES_BT709: u32 = 720;
/// BT.601 of 525 lines. ISO/IEC 23091-2, tables 2 to 4.
const BT601: u16 = 6;
const BT709: u16 = 1;
/// Matrices that convert Y, Cb and Cr to RGB linearly: BT.709, FCC, both of BT.601, SMPTE 240M, BT.2020 with
/// non-constant luminance; and *unspecified*.
const MATRICES: [u16; 7] = [1, UNSPECIFIED, 4, 5, 6, 7, 9];
/// The highest code points of H.264 for primaries and transfer. ISO/IEC 14496-10, tables E-3 and E-4.
const PRIMARIES_MAX: u16 = 12;
const TRANSFER_MAX: u16 = 18;
/// Reserved in all three tables, and never written.
const RESERVED: [u16; 2] = [0, 3];

/// The colour description of encoded renditions of this video. `None` if only a decoder can determine that
/// of the source: call [`rung_colour_from_decoder`] with the decoder's result.
///
/// It equals the decoder's description of the first frames, so those are not converted, even if the
/// description is wrong. Only frames with another description are converted.
pub(super) fn rung_colour_from_sample_entry(video: &VideoTrack) -> Option<Colour> {
    let SampleEntry::Iso(entry) = &video.sample_entry else { return None };
    decoded_colour(entry).map(|decoded| rung_colour_from_decoder(video, decoded))
}

/// As `rung_colour_from_sample_entry`, from the decoder's description `declared` of the frames.
///
/// The range is always that of studio video. A matrix that does not convert linearly to RGB is replaced.
pub fn rung_colour_from_decoder(video: &VideoTrack, declared: Colour) -> Colour {
    let default_matrix = if video.display_size().1 < LINES_BT709 { BT601 } else { BT709 };
    let within = |point: u16, max| if RESERVED.contains(&point) || max < point { UNSPECIFIED } else { point };
    Colour {
        primaries: within(declared.primaries, PRIMARIES_MAX),
        transfer: within(declared.transfer, TRANSFER_MAX),
        matrix: if MATRICES.contains(&declared.matrix) { declared.matrix } else { default_matrix },
        is_full_range: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::ladder::tests::source;

    #[test]
    fn unsupported_colour_becomes_unspecified_or_default_matrix() {
        let check = |lines: u32, declared: [u16; 3], expected: [u16; 3]| {
            let index = source((lines * 16 / 9, lines), |_| {});
            let [primaries, transfer, matrix] = declared;
            let declared = Colour { primaries, transfer, matrix, is_full_range: true };
            let found = rung_colour_from_decoder(index.video().unwrap().1, declared);
            assert_eq!(
                [found.primaries, found.transfer, found.matrix],
                expected,
                "{declared:?} of {lines} lines"
            );
            assert!(!found.is_full_range);
        };
        check(360, [1, 1, 1], [1, 1, 1]);
        check(1080, [5, 6, 5], [5, 6, 5]);
        check(360, [2, 2, 2], [2, 2, 2]);
        check(720, [2, 2, 2], [2, 2, 2]);
        check(360, [9, 14, 9], [9, 14, 9]);
        check(360, [1, 13, 0], [1, 13, 6]); // RGB
        check(1080, [1, 13, 0], [1, 13, 1]);
        check(1080, [1, 1, 2], [1, 1, 2]);
        check(1080, [2, 2, 8], [2, 2, 1]); // YCgCo
        check(360, [0, 3, 1], [2, 2, 1]);
        check(360, [22, 19, 1], [2, 2, 1]);
    }
}
