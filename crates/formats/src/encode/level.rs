//! Levels of H.264: finds the smallest one for a frame size, frame rate and bitrate. ISO/IEC 14496-10, table
//!

/// Side of a macroblock in pixels.
const MACROBLOCK: u32 = 16;
/// Reference frames of an encoder with pyramids of B-frames.
const REFERENCES: u64 = 4;
/// Bits per second, or in the buffer, that High profile allows for each 1000 of the table. ISO/IEC 14496-10,
/// table A-2.
const HIGH_PROFILE_FACTOR: u64 = 1250;

/// One row of the table.
struct Level {
    /// The level, times ten.
    number: u8,
    /// Macroblocks per second.
    rate: u64,
    /// Macroblocks in a frame.
    frame: u64,
    /// Macroblocks stored for reference.
    references: u64,
    /// Thousands of bits per second.
    bits: u64,
    /// Thousands of bits in the buffer.
    buffer: u64,
}

/// Levels from 2 on, which every current player decodes. A level is left out if it allows the same frame
/// size and rate as the previous one.
#[rustfmt::skip]
const LEVELS: [Level; 13] = [
    Level { number: 20, rate:    11_880, frame:     396, references:   2_376, bits:   2_000, buffer:   2_000 },
    Level { number: 21, rate:    19_800, frame:     792, references:   4_752, bits:   4_000, buffer:   4_000 },
    Level { number: 22, rate:    20_250, frame:   1_620, references:   8_100, bits:   4_000, buffer:   4_000 },
    Level { number: 30, rate:    40_500, frame:   1_620, references:   8_100, bits:  10_000, buffer:  10_000 },
    Level { number: 31, rate:   108_000, frame:   3_600, references:  18_000, bits:  14_000, buffer:  14_000 },
    Level { number: 32, rate:   216_000, frame:   5_120, references:  20_480, bits:  20_000, buffer:  20_000 },
    Level { number: 40, rate:   245_760, frame:   8_192, references:  32_768, bits:  20_000, buffer:  25_000 },
    Level { number: 41, rate:   245_760, frame:   8_192, references:  32_768, bits:  50_000, buffer:  62_500 },
    Level { number: 42, rate:   522_240, frame:   8_704, references:  34_816, bits:  50_000, buffer:  62_500 },
    Level { number: 50, rate:   589_824, frame:  22_080, references: 110_400, bits: 135_000, buffer: 135_000 },
    Level { number: 51, rate:   983_040, frame:  36_864, references: 184_320, bits: 240_000, buffer: 240_000 },
    Level { number: 52, rate: 2_073_600, frame:  36_864, references: 184_320, bits: 240_000, buffer: 240_000 },
    Level { number: 60, rate: 4_177_920, frame: 139_264, references: 696_320, bits: 240_000, buffer: 240_000 },
];

/// The requirements for a level.
#[derive(Debug, Clone, Copy)]
pub(super) struct LevelDemand {
    /// Pixels.
    pub(super) width: u32,
    /// Pixels.
    pub(super) height: u32,
    /// Frames per second as a fraction.
    pub(super) frame_rate: (u32, u32),
    /// Bits per second.
    pub(super) maxrate: u32,
    /// Bits.
    pub(super) bufsize: u32,
}

/// The smallest sufficient level, times ten; the largest of the table if none is sufficient.
pub(super) fn level(demand: LevelDemand) -> u8 {
    let columns = u64::from(demand.width.div_ceil(MACROBLOCK));
    let rows = u64::from(demand.height.div_ceil(MACROBLOCK));
    let frame = columns.saturating_mul(rows);
    let (frames, seconds) = demand.frame_rate;
    let rate = frame.saturating_mul(u64::from(frames)).div_ceil(u64::from(seconds.max(1)));
    let longest = columns.max(rows);
    let holds = |level: &&Level| {
        frame <= level.frame
            && rate <= level.rate
            && frame.saturating_mul(REFERENCES) <= level.references
            // ISO/IEC 14496-10, A.3.1 f and g.
            && longest.saturating_mul(longest) <= 8 * level.frame
            && u64::from(demand.maxrate) <= level.bits * HIGH_PROFILE_FACTOR
            && u64::from(demand.bufsize) <= level.buffer * HIGH_PROFILE_FACTOR
    };
    LEVELS.iter().find(holds).unwrap_or(&LEVELS[LEVELS.len() - 1]).number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_sufficient_h264_level_is_chosen() {
        let check = |(width, height), frame_rate, maxrate, expected| {
            let demand = LevelDemand { width, height, frame_rate, maxrate, bufsize: maxrate };
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
        // More bits than level 4 allows.
        check((1920, 1080), (30, 1), 25_000_001, 41);
        // Its longer side exceeds the square root of 8 times the frame size of the level.
        check((3840, 96), (30, 1), 6_000_000, 40);
        check((3840, 2160), (60, 1), 19_200_000, 52);
        check((65_535, 65_535), (u32::MAX, 0), u32::MAX, 60);
    }
}
