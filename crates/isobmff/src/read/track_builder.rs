//! A track whose samples are still arriving: from the tables of the `moov`, from fragments, or from both.

use kinora_index::{AudioTrack, NotCopied, Track, TrackLabel, TrackMedia, VideoTrack};
use serde::{Deserialize, Serialize};

use super::{
    super::error::ReadError,
    apply_edits::{self, PresentedSamples, Timescales},
    edits::EditList,
    field_pairs::FieldPairs,
    gops::{OpenGops, VideoSamples},
    rates::set_rates,
    samples::{AudioSamples, set_packet_samples},
    tables::RawSample,
    timeline::TrackTiming,
    video::frame_rate_if_field_coded,
};

/// A chosen track, and the state of its samples.
#[derive(Debug, Serialize, Deserialize)]
pub struct TrackBuilder {
    /// Its number inside the source.
    pub(crate) id: u32,
    pub(crate) timescale: u32,
    pub(crate) edits: EditList,
    movie_timescale: u32,
    language: String,
    label: TrackLabel,
    samples: Samples,
    /// Set for video whose frames may be coded as two fields.
    field_pairs: Option<FieldPairs>,
}

/// The header of a track in its container, without codec and format.
#[derive(Debug)]
pub struct TrackBuilderHead {
    /// Its number inside the source.
    pub id: u32,
    /// As in [`Track::language`].
    pub language: String,
    /// Its other labels in the container.
    pub label: TrackLabel,
}

#[derive(Debug, Serialize, Deserialize)]
enum Samples {
    Video(Box<(VideoTrack, VideoSamples)>),
    Audio(Box<(AudioTrack, AudioSamples)>),
}

impl TrackBuilder {
    /// A track without samples.
    pub fn new(media: TrackMedia, head: TrackBuilderHead, edits: EditList, timescales: Timescales) -> Self {
        let frame_rate = match &media {
            TrackMedia::Video(video) => frame_rate_if_field_coded(video),
            TrackMedia::Audio(_) => None,
        };
        TrackBuilder {
            id: head.id,
            timescale: timescales.track,
            field_pairs: frame_rate.map(|rate| FieldPairs::new(timescales.track, rate)),
            movie_timescale: timescales.movie,
            edits,
            language: head.language,
            label: head.label,
            samples: match media {
                TrackMedia::Video(video) => {
                    let open_gops =
                        if video.has_leading_samples() { OpenGops::Copied } else { OpenGops::NotCopied };
                    Samples::Video(Box::new((video, VideoSamples::new(timescales.track, open_gops))))
                }
                TrackMedia::Audio(audio) => {
                    let packets = AudioSamples::new(&audio, timescales.track);
                    Samples::Audio(Box::new((audio, packets)))
                }
            },
        }
    }

    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        self.edits.memory_len()
            + match &self.samples {
                Samples::Video(video) => video.0.sample_entry.memory_len() + video.1.memory_len(),
                Samples::Audio(audio) => audio.0.sample_entry.memory_len() + audio.1.memory_len(),
            }
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        let timescales = Timescales { movie: self.movie_timescale, track: self.timescale };
        let has_valid_samples = match &self.samples {
            Samples::Video(video) => video.1.is_valid(self.timescale),
            Samples::Audio(audio) => audio.1.is_valid(self.timescale),
        };
        timescales.is_valid()
            && self.edits.is_valid()
            && has_valid_samples
            && self.field_pairs.as_ref().is_none_or(FieldPairs::is_valid)
    }

    /// `video` or `audio`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.samples {
            Samples::Video(_) => "video",
            Samples::Audio(_) => "audio",
        }
    }

    /// Its video description; `None` for audio.
    pub(crate) fn video(&self) -> Option<&VideoTrack> {
        match &self.samples {
            Samples::Video(video) => Some(&video.0),
            Samples::Audio(_) => None,
        }
    }

    /// Records why video is not copied; the first reason stays.
    pub(crate) fn record_not_copied(&mut self, why: NotCopied) {
        if let Samples::Video(video) = &mut self.samples {
            video.0.not_copied.get_or_insert(why);
        }
    }

    /// Adds the next sample in decode order.
    ///
    /// Errors: see `VideoSamples::push` and `AudioSamples::push`.
    pub fn push(&mut self, row: RawSample) -> Result<(), ReadError> {
        match (&mut self.samples, &mut self.field_pairs) {
            (Samples::Video(video), None) => video.1.push(row),
            (Samples::Video(video), Some(field_pairs)) => {
                field_pairs.push(row).into_iter().flatten().try_for_each(|row| video.1.push(row))
            }
            (Samples::Audio(audio), _) => audio.1.push(row),
        }
    }

    /// The track with its samples, its times for the timeline, and the first byte after its samples.
    pub fn finish(self) -> Result<(Track, TrackTiming, u64), ReadError> {
        let is_video = matches!(self.samples, Samples::Video(_));
        let (mut media, samples) = match self.samples {
            Samples::Video(video) => {
                let (mut video, mut video_samples) = *video;
                if let Some(row) = self.field_pairs.and_then(FieldPairs::finish) {
                    video_samples.push(row)?;
                }
                let table = video_samples.finish()?;
                video.composition_shift = table.composition_shift;
                video.not_copied = video.not_copied.take().or(table.not_copied);
                (TrackMedia::Video(video), table.samples)
            }
            Samples::Audio(audio) => {
                let (mut audio, packets) = *audio;
                let samples = packets.finish()?;
                set_packet_samples(&mut audio, self.timescale, &samples.table);
                (TrackMedia::Audio(audio), samples)
            }
        };
        let timescales = Timescales { movie: self.movie_timescale, track: self.timescale };
        // Checked before the edits, which take time to apply; and after them, since they may repeat samples.
        samples.check_length(self.timescale)?;
        let PresentedSamples { samples, edit, edit_points, not_copied } =
            apply_edits::apply_edit_list(samples, &self.edits, timescales, is_video)?;
        samples.check_length(self.timescale)?;
        if let TrackMedia::Video(video) = &mut media {
            video.not_copied = video.not_copied.take().or(not_copied);
        }
        let timing = TrackTiming::new(self.timescale, edit, &samples);
        let mut track = Track {
            source_track: self.id,
            timescale: self.timescale,
            language: self.language,
            label: self.label,
            media,
            configurations: Vec::new(),
            samples: samples.table,
            edit_points,
            shift: 0,
            end: 0,
            bitrate_average: 0,
            bitrate_peak: 0,
        };
        match samples.meter {
            Some(meter) => meter.set_rates(&mut track),
            None => set_rates(&mut track),
        }
        Ok((track, timing, samples.end_offset))
    }
}
