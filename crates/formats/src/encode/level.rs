//! Levels of H.264: the smallest one that pictures, their rate and their bits fit in. ISO/IEC 14496-10, table
//!

/// Side of a macroblock in pixels.
const MACROBLOCK: u32 = 16;
/// Pictures an encoder with pyramids of B-frames keeps for reference.
const REFERENCES: u64 = 4;
/// High profile may have so many bits in a second, or in the buffer, for each 1000 of the table. ISO/IEC
/// 14496-10, table A-2.
const HIGH_PROFILE_FACTOR: u64 = 1250;

/// One row of the table.
struct Level {
    /// Ten times the level.
    number: u8,
    /// Macroblocks a second.
    rate: u64,
    /// Macroblocks in a picture.
    picture: u64,
    /// Macroblocks kept for reference.
    references: u64,
    /// Thousands of bits a second.
    bits: u64,
    /// Thousands of bits in the buffer.
    buffer: u64,
}

/// Levels from 2 on: every player of today decodes that one. Those whose pictures are no larger than their
/// predecessor's and whose rate is the same are left out.
#[rustfmt::skip]
const LEVELS: [Level; 13] = [
    Level { number: 20, rate:    11_880, picture:     396, references:   2_376, bits:   2_000, buffer:   2_000 },
    Level { number: 21, rate:    19_800, picture:     792, references:   4_752, bits:   4_000, buffer:   4_000 },
    Level { number: 22, rate:    20_250, picture:   1_620, references:   8_100, bits:   4_000, buffer:   4_000 },
    Level { number: 30, rate:    40_500, picture:   1_620, references:   8_100, bits:  10_000, buffer:  10_000 },
    Level { number: 31, rate:   108_000, picture:   3_600, references:  18_000, bits:  14_000, buffer:  14_000 },
    Level { number: 32, rate:   216_000, picture:   5_120, references:  20_480, bits:  20_000, buffer:  20_000 },
    Level { number: 40, rate:   245_760, picture:   8_192, references:  32_768, bits:  20_000, buffer:  25_000 },
    Level { number: 41, rate:   245_760, picture:   8_192, references:  32_768, bits:  50_000, buffer:  62_500 },
    Level { number: 42, rate:   522_240, picture:   8_704, references:  34_816, bits:  50_000, buffer:  62_500 },
    Level { number: 50, rate:   589_824, picture:  22_080, references: 110_400, bits: 135_000, buffer: 135_000 },
    Level { number: 51, rate:   983_040, picture:  36_864, references: 184_320, bits: 240_000, buffer: 240_000 },
    Level { number: 52, rate: 2_073_600, picture:  36_864, references: 184_320, bits: 240_000, buffer: 240_000 },
    Level { number: 60, rate: 4_177_920, picture: 139_264, references: 696_320, bits: 240_000, buffer: 240_000 },
];

/// What has to fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    /// Pixels.
    pub(super) width: u32,
    /// Pixels.
    pub(super) height: u32,
    /// Pictures a second as a fraction.
    pub(super) frame_rate: (u32, u32),
    /// Bits a second.
    pub(super) maxrate: u32,
    /// Bits.
    pub(super) bufsize: u32,
}

/// Ten times the smallest level that holds, the largest of the table where none does.
pub(super) fn level(demand: Demand) -> u8 {
    let columns = u64::from(demand.width.div_ceil(MACROBLOCK));
    let rows = u64::from(demand.height.div_ceil(MACROBLOCK));
    let picture = columns.saturating_mul(rows);
    let (pictures, seconds) = demand.frame_rate;
    let rate = picture.saturating_mul(u64::from(pictures)).div_ceil(u64::from(seconds.max(1)));
    let longest = columns.max(rows);
    let holds = |level: &&Level| {
        picture <= level.picture
            && rate <= level.rate
            && picture.saturating_mul(REFERENCES) <= level.references
            // ISO/IEC 14496-10, A.3.1 f and g.
            && longest.saturating_mul(longest) <= 8 * level.picture
            && u64::from(demand.maxrate) <= level.bits * HIGH_PROFILE_FACTOR
            && u64::from(demand.bufsize) <= level.buffer * HIGH_PROFILE_FACTOR
    };
    LEVELS.iter().find(holds).unwrap_or(&LEVELS[LEVELS.len() - 1]).number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_level_that_holds_is_chosen() {
        let check = |(width, height), frame_rate, maxrate, expected| {
            let demand = Demand { width, height, frame_rate, maxrate, bufsize: maxrate };
            assert_eq!(level(demand), expected, "{demand:?}");
        };
        check((1920, 1080), (30, 1), 6_000_000, 40);
        check((1920, 1088), (30_000, 1001), 6_000_000, 40);
        check((1920, 1080), (60, 1), 6_000_000, 42);
        check((1920, 1080), (31, 1), 6_000_000, 42);
        check((1280, 720), (30, 1), 3_360_000, 31);
        check((1280, 720), (50, 1), 3_360_000, 32);
        check((854, 480), (24_000, 1001), 1_680_000, 30);
        check((854, 480), (60, 1), 1_680_000, 31);
        check((640, 360), (30, 1), 960_000, 30);
        check((426, 240), (30, 1), 480_000, 21);
        check((64, 64), (30, 1), 480_000, 20);
        // More bits than level 4 has.
        check((1920, 1080), (30, 1), 25_000_001, 41);
        // Longer than 8 times the picture allows.
        check((3840, 96), (30, 1), 6_000_000, 40);
        check((3840, 2160), (60, 1), 19_200_000, 52);
        check((65_535, 65_535), (u32::MAX, 0), u32::MAX, 60);
    }
}
