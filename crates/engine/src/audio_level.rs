//! The gain of encoded audio, and the limiter that holds its true peaks.

use std::fmt::Write as _;

use crate::encode_audio::AUDIO_SAMPLE_RATE;
use crate::engine::Engine;
use crate::error::EngineError;

/// Samples that a limiter reads before the first one of a piece.
///
/// Its gain depends on earlier samples for about one release of 100 ms. A limiter that begins anywhere equals
/// one that began earlier, within -80 dB, after 131 ms at most: measured with speech, music, noise and claps,
/// at 12 to 28 dB of gain. This is seven times as much.
pub const LIMITER_LEAD_SAMPLES: u64 = AUDIO_SAMPLE_RATE as u64;

/// The limiter. Its highest peak is 0.7 of full scale: -3.1 dB.
///
/// It works at four times the rate, so the true peak is at most 0.4 dB higher (BS.1770-4, annex 2).
/// AAC adds up to 0.9 dB to limited speech and music. Both together stay below -1 dBTP. It adds more to short
/// bursts of noise: 3 dB were measured.
const LIMITER: &str = "alimiter=limit=0.7:attack=5:release=100:level=disabled:latency=1";

/// Filters of a limiter. Filters of a gain are in every build with an audio encoder.
const LIMITER_FILTERS: [&str; 2] = ["alimiter", "aresample"];

/// A gain of encoded audio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AudioLevel {
    /// Hundredths of a decibel.
    pub gain_centibels: i16,
    /// Whether a limiter follows.
    pub is_limited: bool,
}

impl AudioLevel {
    /// Appends its filters, for planar float samples at [`AUDIO_SAMPLE_RATE`]. They keep the times of the
    /// samples.
    pub(crate) fn push_filters(self, graph: &mut String) {
        self.push_gain(graph);
        if self.is_limited {
            let oversampled = 4 * AUDIO_SAMPLE_RATE;
            let _ = write!(
                graph,
                ",aresample={oversampled},{LIMITER},\
                 aresample={AUDIO_SAMPLE_RATE},aformat=sample_fmts=fltp:channel_layouts=stereo"
            );
        }
    }

    /// Appends filters with the same loudness, for samples that are only measured. The limiter works at the
    /// rate of the samples: that takes a quarter of the time, and true peaks are higher.
    ///
    /// The integrated loudness of speech and music differs by 0.1 LU at most, that of clipped noise by
    /// 0.3 LU: measured at 8 to 24 dB of gain.
    pub(crate) fn push_measured_filters(self, graph: &mut String) {
        self.push_gain(graph);
        if self.is_limited {
            let _ = write!(graph, ",{LIMITER}");
        }
    }

    fn push_gain(self, graph: &mut String) {
        let gain = self.gain_centibels;
        let sign = if gain < 0 { "-" } else { "" };
        let (whole, fraction) = (gain.unsigned_abs() / 100, gain.unsigned_abs() % 100);
        // Writing to a String cannot fail.
        let _ = write!(graph, ",volume=volume={sign}{whole}.{fraction:02}dB:precision=float");
    }

    /// Samples that its filters read before the first one that is used.
    pub(crate) fn lead(self) -> u64 {
        if self.is_limited { LIMITER_LEAD_SAMPLES } else { 0 }
    }

    pub(crate) fn check(level: Option<Self>, engine: &Engine) -> Result<(), EngineError> {
        let Some(level) = level else { return Ok(()) };
        engine.require_filter("volume")?;
        if level.is_limited {
            LIMITER_FILTERS.iter().try_for_each(|name| engine.require_filter(name))
        } else {
            Ok(())
        }
    }
}
