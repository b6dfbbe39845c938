//! A track whose samples are still arriving: from the tables of the `moov`, from fragments, or from both.

use kinora_index::{AudioTrack, NotCopied, Track, TrackLabel, TrackMedia, VideoTrack};
use serde::{Deserialize, Serialize};

use super::{
    super::error::ReadError,
    apply_edits::{self, PresentedSamples, Timescales},
    edits::EditList,
    field_pairs::FieldPairs,
    gops::{OpenGops, VideoSamples},
    rates::measure,
    samples::{AudioSamples, set_packet_samples},
    tables::RawSample,
    timeline::Span,
    video::rate_of_frames_in_fields,
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
    fields: Option<FieldPairs>,
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
    pub fn new(media: TrackMedia, head: TrackBuilderHead, edits: EditList, clocks: Timescales) -> Self {
        let frame_rate = match &media {
            TrackMedia::Video(video) => rate_of_frames_in_fields(video),
            TrackMedia::Audio(_) => None,
        };
        TrackBuilder {
            id: head.id,
            timescale: clocks.track,
            fields: frame_rate.map(|rate| FieldPairs::new(clocks.track, rate)),
            movie_timescale: clocks.movie,
            edits,
            language: head.language,
            label: head.label,
            samples: match media {
                TrackMedia::Video(video) => {
                    let open_gops =
                        if video.has_leading_samples() { OpenGops::Copied } else { OpenGops::NotCopied };
                    Samples::Video(Box::new((video, VideoSamples::new(clocks.track, open_gops))))
                }
                TrackMedia::Audio(audio) => {
                    let packets = AudioSamples::new(&audio, clocks.track);
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
        let clocks = Timescales { movie: self.movie_timescale, track: self.timescale };
        let is_sampled = match &self.samples {
            Samples::Video(video) => video.1.is_valid(self.timescale),
            Samples::Audio(audio) => audio.1.is_valid(self.timescale),
        };
        clocks.is_valid()
            && self.edits.is_valid()
            && is_sampled
            && self.fields.as_ref().is_none_or(FieldPairs::is_valid)
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
    pub(crate) fn note_not_copied(&mut self, why: NotCopied) {
        if let Samples::Video(video) = &mut self.samples {
            video.0.not_copied.get_or_insert(why);
        }
    }

    /// Takes the next sample in decode order.
    ///
    /// Errors: see `VideoSamples::push` and `AudioSamples::push`.
    pub fn push(&mut self, row: RawSample) -> Result<(), ReadError> {
        match (&mut self.samples, &mut self.fields) {
            (Samples::Video(video), None) => video.1.push(row),
            (Samples::Video(video), Some(fields)) => {
                fields.push(row).into_iter().flatten().try_for_each(|row| video.1.push(row))
            }
            (Samples::Audio(audio), _) => audio.1.push(row),
        }
    }

    /// The track with its samples, its input for the timeline, and the first byte after its samples.
    pub fn finish(self) -> Result<(Track, Span, u64), ReadError> {
        let is_video = matches!(self.samples, Samples::Video(_));
        let (mut media, samples) = match self.samples {
            Samples::Video(video) => {
                let (mut video, mut video_samples) = *video;
                if let Some(row) = self.fields.and_then(FieldPairs::finish) {
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
        let clocks = Timescales { movie: self.movie_timescale, track: self.timescale };
        // Checked before the edits, which take time to apply; and after them, since they may repeat samples.
        samples.check_length(self.timescale)?;
        let PresentedSamples { samples, edit, edit_points, not_copied } =
            apply_edits::presented(samples, &self.edits, clocks, is_video)?;
        samples.check_length(self.timescale)?;
        if let TrackMedia::Video(video) = &mut media {
            video.not_copied = video.not_copied.take().or(not_copied);
        }
        let span = Span::new(self.timescale, edit, &samples);
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
            Some(meter) => meter.apply(&mut track),
            None => measure(&mut track),
        }
        Ok((track, span, samples.end_offset))
    }
}
