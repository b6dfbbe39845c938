//! Encodes all audio of a media once it is ready, at about sixty times real time, so that few requests
//! arrive before their segment exists.

use kinora_domain::{
    AudioGain, AudioLevels, Media, MediaId, MediaState, PresentationId, SourceId, error_chain,
};
use kinora_engine::{AUDIO_BITRATE_BPS, AUDIO_FRAME_SAMPLES, AUDIO_SAMPLE_RATE};
use kinora_packager::{EncodedAudio, Error};
use kinora_store::ClaimedJob;

use crate::Context;
use crate::cache_usage::CacheUsage;
use crate::error::{JobError, encode_ahead_result};

/// Encodes the missing audio segments of a ready media, or of an added audio track, track by track. A track
/// with a gain is encoded with it. Audio whose gain is not known yet waits for the job that
/// [`measure_loudness`](crate::measure_loudness) queues.
///
/// If the cache has no space for a track, its segments are encoded on request.
///
/// May run twice, and continues where an earlier run ended: stored segments are not encoded again. Its
/// processes have the lowest priority. A track that cannot be encoded is skipped; the first one was encoded
/// before the media became ready.
pub(crate) async fn run(
    context: &Context,
    job: &ClaimedJob,
    media: MediaId,
    source: SourceId,
) -> Result<(), JobError> {
    let found = context.store.media_by_id(media).await?;
    if let Some(gains) = found.and_then(|media| gains_of(&media, source)) {
        let cache = CacheUsage::measure(context, context.clock.now()).await?;
        encode_ahead_result(encode(context, source, &gains, cache).await)?;
    }
    let job = job.clone();
    context.store.write(async move |tx| tx.complete_job(&job).await).await?;
    Ok(())
}

/// The gains in force of the audio tracks of this source, if the media plays it: as its own source, or as an
/// added track, which has none. `None` also while its own audio is not measured yet.
fn gains_of(media: &Media, source: SourceId) -> Option<Vec<Option<AudioGain>>> {
    let is_own = matches!(media.state, MediaState::Ready { source: current, .. } if current == source);
    if is_own {
        return (media.audio_levels() != Some(AudioLevels::Pending)).then(|| media.gains());
    }
    media.added_tracks.iter().any(|track| track.available() == Some(source)).then(Vec::new)
}

async fn encode(
    context: &Context,
    source: SourceId,
    gains: &[Option<AudioGain>],
    mut cache: CacheUsage,
) -> Result<(), Error> {
    let packaged = context.packager.packaged(PresentationId::of(source)).await?;
    let tracks = (0..).zip(&packaged.index().plan.encoded_audio);
    let gain_of = |number: u8| gains.get(usize::from(number)).copied().flatten();
    let is_encoded = |number: u8| gain_of(number).is_some() || packaged.is_audio_encoded(number);
    for (number, cuts) in tracks.filter(|(number, _)| is_encoded(*number)) {
        if !cache.try_reserve(bytes(cuts), false) {
            tracing::info!(source.id = %source, track = number, "audio is not encoded ahead: the cache is full");
            continue;
        }
        let audio = EncodedAudio { track: number, gain: gain_of(number) };
        let on_progress = |progress: kinora_packager::BackfillProgress| {
            tracing::debug!(source.id = %source, track = number, done = progress.done, of = progress.total, "audio is encoded");
        };
        match context.packager.backfill_audio(&packaged, audio, on_progress).await {
            Err(error) if error.is_run_failure() => {
                tracing::warn!(source.id = %source, track = number, error = %error_chain(&error), "audio could not be encoded");
            }
            ended => ended?,
        }
    }
    Ok(())
}

/// Size in bytes of the encoded audio between these cuts.
fn bytes(cuts: &[u64]) -> u64 {
    let samples = cuts.last().copied().unwrap_or(0).saturating_mul(AUDIO_FRAME_SAMPLES);
    samples.div_ceil(u64::from(AUDIO_SAMPLE_RATE)).saturating_mul(u64::from(AUDIO_BITRATE_BPS / 8))
}

#[cfg(test)]
mod tests {
    use kinora_domain::{AddedTrackState, Loudness, LoudnessTarget, MediaLoudness, TrackLoudness};

    use super::*;
    use crate::fixture::{at, created, ready, source_id, with_audio, with_track};

    #[test]
    fn audio_size_rounds_up_to_whole_seconds() {
        let check = |cuts: &[u64], expected_s: u64| {
            assert_eq!(bytes(cuts), expected_s * u64::from(AUDIO_BITRATE_BPS) / 8, "{cuts:?}");
        };
        let frames = |seconds: u64| seconds * u64::from(AUDIO_SAMPLE_RATE) / AUDIO_FRAME_SAMPLES;
        check(&[], 0);
        check(&[0], 0);
        check(&[1], 1);
        check(&[0, frames(6), frames(60)], 60);
        check(&[0, frames(60) + 1], 61);
        assert!(bytes(&[u64::MAX]) > bytes(&[frames(60)]), "it does not overflow");
    }

    #[test]
    fn audio_of_a_current_or_added_source_is_encoded() {
        let check = |media: Media, expected: bool| {
            assert_eq!(gains_of(&media, source_id(5)).is_some(), expected, "{:?}", media.state);
        };
        check(created(), false);
        check(created().start_download(source_id(5), at(2)).unwrap(), false);
        check(ready(source_id(5)), true);
        check(ready(source_id(6)), false);
        let added = |state: AddedTrackState| with_track(ready(source_id(6)), state);
        check(added(AddedTrackState::Available { source: source_id(5) }), true);
        check(added(AddedTrackState::Available { source: source_id(7) }), false);
        check(added(AddedTrackState::Preparing { source: source_id(5) }), false);
    }

    #[test]
    fn own_audio_is_encoded_with_its_gain_once_it_is_known() {
        let gain = AudioGain { centibels: 350, is_limited: false };
        let mut media = with_audio(ready(source_id(5)));
        assert_eq!(gains_of(&media, source_id(5)), Some(Vec::new()));
        media.settings.optimize_audio = true;
        assert_eq!(gains_of(&media, source_id(5)), None);
        let levels = Loudness { integrated: Some(-1_950), range: 0, true_peak: -900 };
        let track = TrackLoudness { before: levels, gain: Some(gain), after: levels };
        let target = LoudnessTarget::DEFAULT;
        media.loudness = Some(MediaLoudness { target, tracks: vec![Some(track)] });
        assert_eq!(gains_of(&media, source_id(5)), Some(vec![Some(gain)]));
        let mut media = with_track(media, AddedTrackState::Available { source: source_id(7) });
        assert_eq!(gains_of(&media, source_id(7)), Some(Vec::new()));
        media.loudness = None;
        assert_eq!(gains_of(&media, source_id(7)), Some(Vec::new()), "added audio does not wait");
    }
}
