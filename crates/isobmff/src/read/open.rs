//! A track whose samples are still coming: from the tables of the `moov`, from fragments, or from both.

use kinora_index::{AudioTrack, NotCopied, Track, TrackLabel, TrackMedia, VideoTrack};
use serde::{Deserialize, Serialize};

use super::{
    super::error::ReadError,
    edits::EditList,
    fields::FieldPairs,
    gops::{OpenGops, VideoSamples},
    measure::measure,
    pieces::{self, Clocks, Presented},
    samples::{AudioSamples, set_packet_samples},
    tables::RawSample,
    timeline::Span,
    video::rate_of_frames_in_fields,
};

/// A chosen track, and what has come of its samples.
#[derive(Debug, Serialize, Deserialize)]
pub struct OpenTrack {
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

/// What a container says of a track beside what it is.
#[derive(Debug)]
pub struct OpenHead {
    /// Its number inside the source.
    pub id: u32,
    /// As [`Track::language`] has it.
    pub language: String,
    /// What else the container says of it.
    pub label: TrackLabel,
}

#[derive(Debug, Serialize, Deserialize)]
enum Samples {
    Video(Box<(VideoTrack, VideoSamples)>),
    Audio(Box<(AudioTrack, AudioSamples)>),
}

impl OpenTrack {
    /// A track without samples.
    pub fn new(media: TrackMedia, head: OpenHead, edits: EditList, clocks: Clocks) -> Self {
        let frame_rate = match &media {
            TrackMedia::Video(video) => rate_of_frames_in_fields(video),
            TrackMedia::Audio(_) => None,
        };
        OpenTrack {
            id: head.id,
            timescale: clocks.own,
            fields: frame_rate.map(|rate| FieldPairs::new(clocks.own, rate)),
            movie_timescale: clocks.movie,
            edits,
            language: head.language,
            label: head.label,
            samples: match media {
                TrackMedia::Video(video) => {
                    let open_gops =
                        if video.has_leading_pictures() { OpenGops::Kept } else { OpenGops::NotCopied };
                    Samples::Video(Box::new((video, VideoSamples::new(clocks.own, open_gops))))
                }
                TrackMedia::Audio(audio) => {
                    let packets = AudioSamples::new(&audio, clocks.own);
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

    /// Whether what came back from a checkpoint can go on.
    pub(super) fn is_sound(&self) -> bool {
        let clocks = Clocks { movie: self.movie_timescale, own: self.timescale };
        let is_sampled = match &self.samples {
            Samples::Video(video) => video.1.is_sound(self.timescale),
            Samples::Audio(audio) => audio.1.is_sound(self.timescale),
        };
        clocks.is_sound()
            && self.edits.is_sound()
            && is_sampled
            && self.fields.as_ref().is_none_or(FieldPairs::is_sound)
    }

    /// `video` or `audio`.
    pub(crate) fn kind(&self) -> &'static str {
        match self.samples {
            Samples::Video(_) => "video",
            Samples::Audio(_) => "audio",
        }
    }

    /// What is known of its pictures; `None` of sound.
    pub(crate) fn video(&self) -> Option<&VideoTrack> {
        match &self.samples {
            Samples::Video(video) => Some(&video.0),
            Samples::Audio(_) => None,
        }
    }

    /// Notes why pictures are not copied; the first reason stays.
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

    /// The track with its samples, what the timeline needs of it, and the first byte behind its samples.
    pub fn finish(self) -> Result<(Track, Span, u64), ReadError> {
        let is_video = matches!(self.samples, Samples::Video(_));
        let (mut media, samples) = match self.samples {
            Samples::Video(video) => {
                let (mut video, mut pictures) = *video;
                if let Some(row) = self.fields.and_then(FieldPairs::finish) {
                    pictures.push(row)?;
                }
                let pictures = pictures.finish()?;
                video.composition_shift = pictures.composition_shift;
                video.not_copied = video.not_copied.take().or(pictures.not_copied);
                (TrackMedia::Video(video), pictures.samples)
            }
            Samples::Audio(audio) => {
                let (mut audio, packets) = *audio;
                let samples = packets.finish()?;
                set_packet_samples(&mut audio, self.timescale, &samples.table);
                (TrackMedia::Audio(audio), samples)
            }
        };
        let clocks = Clocks { movie: self.movie_timescale, own: self.timescale };
        // Before the edits, which take time to follow; and after them, since they may repeat samples.
        samples.check_length(self.timescale)?;
        let Presented { samples, edit, joints, not_copied } =
            pieces::presented(samples, &self.edits, clocks, is_video)?;
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
            joints,
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
