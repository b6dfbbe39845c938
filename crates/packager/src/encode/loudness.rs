//! Measures the loudness of an audio track, and finds the gain that levels it.
//!
//! A track is measured run by run, as a backfill encodes it: no input is written to disk but that of the
//! segments next to a joint. Each run begins a few seconds early, so the windows of the measurement are those
//! of one run over the whole track. Pauses without packets are silent, and silence is below the gates.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use kinora_domain::{AudioGain, Centibels, Loudness, LoudnessTarget, TrackLoudness};
use kinora_engine::{
    LIMITER_LEAD_SAMPLES, LOUDNESS_WINDOW_SAMPLES, LoudnessMeasure, MeasuredLoudness, Priority,
};
use kinora_formats::encode::{AudioFeed, MARGIN_SAMPLES, encoded_audio_segment_samples};
use kinora_index::{ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE};

use super::audio::encode_failed;
use super::encode_spec;
use super::run::{FeedInput, feed_stream, from_engine_error};
use crate::{Error, Packaged, Packager};

/// Corrections of a gain after which the limiter made the audio too quiet.
const CORRECTIONS_MAX: usize = 2;
/// Limited audio this close to the target needs no correction: 0.3 LU.
const LIMITED_TOLERANCE: Centibels = 30;

impl Packager {
    /// The loudness of an audio track, counted from 0 in the order of the presentation, as stereo; with a
    /// gain and its limiter, if one is given. The true peak with a limiter is not measured: it is
    /// [`AudioGain::LIMITED_PEAK`].
    ///
    /// Decodes the whole track with the lowest priority. Parts that do not decode are left out, as they are
    /// silent in the encoded rendition. Dropping the future ends it. Errors: [`Error::NotListed`] for a
    /// track that cannot be encoded, [`Error::EncodeFailed`] if nothing of it decodes, [`Error::Busy`],
    /// [`Error::Gone`] without a source, those of the store.
    pub async fn measure_loudness(
        &self,
        packaged: &Arc<Packaged>,
        audio: u8,
        gain: Option<AudioGain>,
    ) -> Result<Loudness, Error> {
        let count = packaged.aac_segment_count(audio);
        if count == 0 {
            return Err(Error::NotListed);
        }
        let (mut measured, mut failure) = (MeasuredLoudness::default(), None);
        let (mut is_anything_decoded, mut first, mut len) = (false, 0, count);
        while first < count {
            len = len.min(count - first);
            match self.measure_run(packaged, audio, gain, first..first + len).await {
                Ok(Run { loudness, end }) => {
                    is_anything_decoded |= loudness.is_some();
                    measured += loudness.unwrap_or_default();
                    (first, len) = (end, len.saturating_mul(2));
                }
                // Somewhere it does not decode. Ever shorter runs measure the rest.
                Err(error) if error.is_undecodable() => {
                    if len == 1 {
                        first += 1;
                    }
                    len = (len / 2).max(1);
                    failure = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        match failure {
            Some(error) if !is_anything_decoded => Err(error),
            _ if gain.is_some_and(|gain| gain.is_limited) => {
                Ok(Loudness { true_peak: AudioGain::LIMITED_PEAK, ..loudness(&measured) })
            }
            _ => Ok(loudness(&measured)),
        }
    }

    /// Measures an audio track, and finds the gain to the target with the loudness after it.
    ///
    /// Without a limiter it decodes the track once, with one two to four times. Errors: as for
    /// [`measure_loudness`](Self::measure_loudness).
    pub async fn level(
        &self,
        packaged: &Arc<Packaged>,
        audio: u8,
        target: LoudnessTarget,
    ) -> Result<TrackLoudness, Error> {
        let before = self.measure_loudness(packaged, audio, None).await?;
        let Some(mut gain) = before.gain_to(target) else {
            return Ok(TrackLoudness { before, gain: None, after: before });
        };
        if !gain.is_limited {
            return Ok(TrackLoudness { before, gain: Some(gain), after: before.with_gain(gain.centibels) });
        }
        let mut after = self.measure_loudness(packaged, audio, Some(gain)).await?;
        for _ in 0..CORRECTIONS_MAX {
            let missing = after.integrated.map_or(0, |loudness| target.centibels().saturating_sub(loudness));
            let corrected = gain.centibels.saturating_add(missing).min(AudioGain::MAX);
            // A gain is never 0.
            let corrected = if corrected == 0 { 1 } else { corrected };
            if missing <= LIMITED_TOLERANCE || corrected <= gain.centibels {
                break;
            }
            gain.centibels = corrected;
            after = self.measure_loudness(packaged, audio, Some(gain)).await?;
        }
        after.true_peak = after.true_peak.min(before.with_gain(gain.centibels).true_peak);
        Ok(TrackLoudness { before, gain: Some(gain), after })
    }

    /// Measures the first of these segments, and the following ones as far as one run goes.
    async fn measure_run(
        &self,
        packaged: &Arc<Packaged>,
        audio: u8,
        gain: Option<AudioGain>,
        numbers: Range<u32>,
    ) -> Result<Run, Error> {
        let (index, number, first) = (packaged.index(), usize::from(audio), numbers.start);
        let only_first = first..first + 1;
        let (level, priority) = (gain.map(encode_spec::audio_level), Priority::Background);
        let lead = lead_frames(gain);
        let feeds = AudioFeed::of_segments_with_lead(index, number, only_first.clone(), lead);
        let feeds = feeds.map_err(encode_failed)?;
        if feeds.is_empty() {
            return Ok(Run { loudness: None, end: only_first.end });
        }
        if !matches!(&feeds[..], [feed] if feed.is_alone()) {
            let (_files, mix) = self.join_audio(packaged, feeds, level, priority).await?;
            // The lead is measured too, and then skipped.
            let (skip, seconds) = (MARGIN_SAMPLES + mix.lead, mix.len.div_ceil(ENCODED_AUDIO_RATE.into()));
            let len = mix.len.saturating_sub(MARGIN_SAMPLES);
            let limits = encode_spec::measure_limits(mix.limits, seconds);
            let mix = kinora_engine::Mix { lead: 0, len, limits, ..mix };
            let measured = self.engine.measure_mix_loudness(&mix, skip).await.map_err(from_engine_error)?;
            return Ok(Run { loudness: Some(measured), end: only_first.end });
        }
        let feed =
            AudioFeed::of_segments_from_with_lead(index, number, first, lead).map_err(encode_failed)?;
        let end = feed.numbers().end.min(numbers.end);
        let skip = feed.positions().start - feed.positions_with_lead().start;
        let lengths = (first..end).filter_map(|n| encoded_audio_segment_samples(index, number, n as usize));
        let samples = feed.positions_with_lead().start..feed.positions().start + lengths.sum::<u64>();
        let seconds = (samples.end - samples.start).div_ceil(ENCODED_AUDIO_RATE.into());
        let limits = encode_spec::measure_limits(encode_spec::audio_limits(seconds), seconds);
        let (container, downmix) =
            (encode_spec::container(feed.format()), encode_spec::downmix(feed.channels()));
        let spec = LoudnessMeasure { container, downmix, samples, skip, level, priority, limits };
        let feed_input = FeedInput {
            header: Bytes::from(feed.header()),
            chunks: feed.chunks(),
            on_start: Box::new(|| {}),
        };
        let input = feed_stream(self, packaged, feed_input, move |chunk, bytes| feed.wrap(chunk, bytes));
        let measured = self.engine.measure_loudness(&spec, input).await.map_err(from_engine_error)?;
        Ok(Run { loudness: Some(measured), end })
    }
}

/// The result of one run.
struct Run {
    /// `None` where no audio is heard.
    loudness: Option<MeasuredLoudness>,
    /// The first segment after it.
    end: u32,
}

/// Frames in front of the first segment of a run: the longest window, and the lead of the limiter.
fn lead_frames(gain: Option<AudioGain>) -> u64 {
    let limiter = if gain.is_some_and(|gain| gain.is_limited) { LIMITER_LEAD_SAMPLES } else { 0 };
    (LOUDNESS_WINDOW_SAMPLES + limiter).div_ceil(ENCODED_AUDIO_FRAME.into())
}

/// Rounded to hundredths.
fn loudness(measured: &MeasuredLoudness) -> Loudness {
    let true_peak = measured.true_peak().map_or(Loudness::SILENT_PEAK, centibels);
    Loudness {
        integrated: measured.integrated().map(centibels),
        range: centibels(measured.range()),
        true_peak: true_peak.max(Loudness::SILENT_PEAK),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
fn centibels(decibels: f64) -> Centibels {
    (decibels * 100.0).round() as Centibels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_round_to_hundredths() {
        let cases =
            [(-23.004, -2300), (-23.006, -2301), (0.0, 0), (4.995, 500), (-1e9, i16::MIN), (f64::NAN, 0)];
        for (decibels, expected) in cases {
            assert_eq!(centibels(decibels), expected, "{decibels}");
        }
        let silence = Loudness { integrated: None, range: 0, true_peak: Loudness::SILENT_PEAK };
        assert_eq!(loudness(&MeasuredLoudness::default()), silence);
    }
}
