//! The kinds of jobs, and their payloads as JSON. A payload outlives upgrades, so it holds ids and little
//! else. Fields are only ever added, with a default.

use kinora_domain::{MediaId, SourceId, TrackId};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The task of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Downloads the source of a media.
    Download {
        /// The media.
        media: MediaId,
    },
    /// Downloads subtitles that were added to a media.
    FetchSubtitles {
        /// The media.
        media: MediaId,
        /// The track.
        track: TrackId,
        /// The source that the track will have.
        source: SourceId,
    },
    /// Downloads an audio track that was added to a media, once the media is ready.
    FetchAudio {
        /// The media.
        media: MediaId,
        /// The track.
        track: TrackId,
    },
    /// Ingests the file of a direct upload, where that takes longer than a request may.
    IngestUpload {
        /// The media; it has the id of its upload.
        media: MediaId,
    },
    /// Checks whether a direct upload has expired, or its file is complete without a request that said so.
    CheckUpload {
        /// The upload; it has the id of its media.
        media: MediaId,
    },
    /// Removes the objects that an ended direct upload left besides its source.
    DiscardUpload {
        /// The upload; it has the id of its media.
        media: MediaId,
    },
    /// Removes the objects of a source that no media references.
    DeleteObjects {
        /// The source.
        source: SourceId,
    },
    /// Decodes some samples of a source, to verify that players can.
    ProbeDecode {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Computes the BlurHash of a media.
    BlurHash {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Encodes the whole audio of a media, concurrently with encode runs for viewers.
    EncodeAudio {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Encodes the missing segments of the renditions of a watched media (backfill).
    Backfill {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Checks which segments the requested files of a media need, and removes files that are no longer
    /// requested.
    PrepareMp4 {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Encodes the segments that the requested files of a media need.
    EncodeMp4 {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Encodes the segments that the files of a media need after a change of its audio. Emits no event.
    RefreshMp4 {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Measures the loudness of the audio of a media.
    MeasureLoudness {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
    /// Checks which renditions were watched: queues their backfill, and evicts renditions that were not
    /// watched.
    MaintainRenditions,
    /// Removes expired rows and objects (garbage collection).
    Sweep,
    /// Rebuilds the index of a media that an unreleased version wrote.
    Reindex {
        /// The media.
        media: MediaId,
        /// The source.
        source: SourceId,
    },
}

/// Jobs that share one limit. Downloads wait for the network, so they do not count towards the limits of
/// jobs that need a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobQueue {
    /// Downloads of sources.
    Download,
    /// Downloads of subtitles that are added to media.
    Subtitles,
    /// Ingest of uploaded files.
    Ingest,
    /// Checks of pending uploads.
    UploadChecks,
    /// Backfill of video ahead of viewers, which takes as long as the media lasts.
    Backfill,
    /// Audio encoding of new media.
    Audio,
    /// Maintenance of watched and unwatched renditions.
    Renditions,
    /// Loudness measurements and what follows from them, which take longer the longer a media is. Workers of
    /// schema 27 do not know this queue.
    Loudness,
    /// Index rebuilds after a migration. Workers of schema 25 do not know this queue.
    Reindex,
    /// All other jobs.
    Maintenance,
}

/// The order in which due jobs of a queue start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// A client waits for the result.
    High,
    /// The default.
    Normal,
    /// Runs when capacity is free.
    Low,
}

impl JobKind {
    /// The name in logs and rows.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Download { .. } => "download",
            Self::FetchSubtitles { .. } => "fetch_track",
            Self::FetchAudio { .. } => "fetch_sound",
            Self::IngestUpload { .. } => "ingest_upload",
            Self::CheckUpload { .. } => "tend_upload",
            Self::DiscardUpload { .. } => "discard_upload",
            Self::DeleteObjects { .. } => "delete_objects",
            Self::ProbeDecode { .. } => "probe_decode",
            Self::BlurHash { .. } => "hash_picture",
            Self::EncodeAudio { .. } => "encode_audio",
            Self::Backfill { .. } => "fill",
            Self::PrepareMp4 { .. } => "prepare_files",
            Self::EncodeMp4 { .. } => "encode_files",
            Self::RefreshMp4 { .. } => "refresh_files",
            Self::MeasureLoudness { .. } => "measure_loudness",
            Self::MaintainRenditions => "tend_renditions",
            Self::Sweep => "sweep",
            Self::Reindex { .. } => "reindex",
        }
    }

    /// The queue of the job.
    pub fn queue(&self) -> JobQueue {
        match self {
            Self::Download { .. } | Self::FetchAudio { .. } => JobQueue::Download,
            Self::FetchSubtitles { .. } => JobQueue::Subtitles,
            Self::IngestUpload { .. } => JobQueue::Ingest,
            // Earlier versions know neither job, so both have a queue that only this version claims from.
            Self::MeasureLoudness { .. } | Self::RefreshMp4 { .. } => JobQueue::Loudness,
            Self::Reindex { .. } => JobQueue::Reindex,
            Self::CheckUpload { .. } => JobQueue::UploadChecks,
            Self::Backfill { .. } | Self::EncodeMp4 { .. } => JobQueue::Backfill,
            Self::EncodeAudio { .. } => JobQueue::Audio,
            Self::MaintainRenditions => JobQueue::Renditions,
            Self::DiscardUpload { .. }
            | Self::DeleteObjects { .. }
            | Self::ProbeDecode { .. }
            | Self::BlurHash { .. }
            | Self::PrepareMp4 { .. }
            | Self::Sweep => JobQueue::Maintenance,
        }
    }

    pub(super) fn payload(&self) -> String {
        let payload = match self {
            Self::Download { media }
            | Self::IngestUpload { media }
            | Self::CheckUpload { media }
            | Self::DiscardUpload { media } => {
                Payload { media: Some(media.to_string()), ..Payload::default() }
            }
            Self::FetchSubtitles { media, track, source } => Payload {
                media: Some(media.to_string()),
                track: Some(track.to_string()),
                source: Some(source.to_string()),
            },
            Self::FetchAudio { media, track } => Payload {
                media: Some(media.to_string()),
                track: Some(track.to_string()),
                ..Payload::default()
            },
            Self::DeleteObjects { source } => {
                Payload { source: Some(source.to_string()), ..Payload::default() }
            }
            Self::ProbeDecode { media, source }
            | Self::BlurHash { media, source }
            | Self::EncodeAudio { media, source }
            | Self::Backfill { media, source }
            | Self::PrepareMp4 { media, source }
            | Self::EncodeMp4 { media, source }
            | Self::RefreshMp4 { media, source }
            | Self::MeasureLoudness { media, source }
            | Self::Reindex { media, source } => {
                let (media, source) = (Some(media.to_string()), Some(source.to_string()));
                Payload { media, source, ..Payload::default() }
            }
            Self::MaintainRenditions | Self::Sweep => Payload::default(),
        };
        serde_json::to_string(&payload).expect("texts are always JSON")
    }

    /// The job of this name with this payload.
    pub(super) fn read(name: &str, payload: &str) -> Result<Self, Error> {
        let payload: Payload = serde_json::from_str(payload).map_err(Error::internal)?;
        match name {
            "download" => Ok(Self::Download { media: id(payload.media)? }),
            "fetch_track" => Ok(Self::FetchSubtitles {
                media: id(payload.media)?,
                track: id(payload.track)?,
                source: id(payload.source)?,
            }),
            "fetch_sound" => Ok(Self::FetchAudio { media: id(payload.media)?, track: id(payload.track)? }),
            "ingest_upload" => Ok(Self::IngestUpload { media: id(payload.media)? }),
            "tend_upload" => Ok(Self::CheckUpload { media: id(payload.media)? }),
            "discard_upload" => Ok(Self::DiscardUpload { media: id(payload.media)? }),
            "delete_objects" => Ok(Self::DeleteObjects { source: id(payload.source)? }),
            "probe_decode" => {
                Ok(Self::ProbeDecode { media: id(payload.media)?, source: id(payload.source)? })
            }
            "hash_picture" => Ok(Self::BlurHash { media: id(payload.media)?, source: id(payload.source)? }),
            "encode_audio" => {
                Ok(Self::EncodeAudio { media: id(payload.media)?, source: id(payload.source)? })
            }
            "fill" => Ok(Self::Backfill { media: id(payload.media)?, source: id(payload.source)? }),
            "prepare_files" => {
                Ok(Self::PrepareMp4 { media: id(payload.media)?, source: id(payload.source)? })
            }
            "encode_files" => Ok(Self::EncodeMp4 { media: id(payload.media)?, source: id(payload.source)? }),
            "refresh_files" => {
                Ok(Self::RefreshMp4 { media: id(payload.media)?, source: id(payload.source)? })
            }
            "measure_loudness" => {
                Ok(Self::MeasureLoudness { media: id(payload.media)?, source: id(payload.source)? })
            }
            "tend_renditions" => Ok(Self::MaintainRenditions),
            "sweep" => Ok(Self::Sweep),
            "reindex" => Ok(Self::Reindex { media: id(payload.media)?, source: id(payload.source)? }),
            _ => Err(Error::internal(format!("this version knows no job of kind {name}"))),
        }
    }
}

impl JobQueue {
    /// The name in rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Subtitles => "tracks",
            Self::Ingest => "ingest",
            Self::UploadChecks => "uploads",
            Self::Backfill => "fill",
            Self::Audio => "sound",
            Self::Renditions => "tend",
            Self::Loudness => "loudness",
            Self::Reindex => "reindex",
            Self::Maintenance => "upkeep",
        }
    }
}

impl Priority {
    pub(super) const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    pub(super) fn rank(self) -> i64 {
        match self {
            Self::High => 0,
            Self::Normal => 1,
            Self::Low => 2,
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
struct Payload {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    track: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

fn id<T: std::str::FromStr>(text: Option<String>) -> Result<T, Error> {
    let id = text.and_then(|text| text.parse().ok());
    id.ok_or_else(|| Error::internal("a job's payload lacks an id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_payload_json_round_trips() {
        let media = "01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11";
        let source = "01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12";
        let (media_id, source_id) = (media.parse().unwrap(), source.parse().unwrap());
        let check = |kind: JobKind, name: &str, payload: &str| {
            assert_eq!((kind.name(), kind.payload().as_str()), (name, payload));
            assert_eq!(JobKind::read(name, payload).unwrap(), kind);
        };
        check(
            JobKind::Download { media: media_id },
            "download",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11"}"#,
        );
        check(
            JobKind::FetchSubtitles { media: media_id, track: media.parse().unwrap(), source: source_id },
            "fetch_track",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","track":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
        );
        check(
            JobKind::FetchAudio { media: media_id, track: media.parse().unwrap() },
            "fetch_sound",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","track":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11"}"#,
        );
        for (kind, name) in [
            (JobKind::IngestUpload { media: media_id }, "ingest_upload"),
            (JobKind::CheckUpload { media: media_id }, "tend_upload"),
            (JobKind::DiscardUpload { media: media_id }, "discard_upload"),
        ] {
            check(kind, name, r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11"}"#);
        }
        check(
            JobKind::DeleteObjects { source: source_id },
            "delete_objects",
            r#"{"source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
        );
        check(
            JobKind::ProbeDecode { media: media_id, source: source_id },
            "probe_decode",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
        );
        check(
            JobKind::EncodeAudio { media: media_id, source: source_id },
            "encode_audio",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
        );
        check(
            JobKind::Backfill { media: media_id, source: source_id },
            "fill",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
        );
        for (kind, name) in [
            (JobKind::BlurHash { media: media_id, source: source_id }, "hash_picture"),
            (JobKind::PrepareMp4 { media: media_id, source: source_id }, "prepare_files"),
            (JobKind::EncodeMp4 { media: media_id, source: source_id }, "encode_files"),
            (JobKind::RefreshMp4 { media: media_id, source: source_id }, "refresh_files"),
            (JobKind::MeasureLoudness { media: media_id, source: source_id }, "measure_loudness"),
            (JobKind::Reindex { media: media_id, source: source_id }, "reindex"),
        ] {
            check(
                kind,
                name,
                r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
            );
        }
        check(JobKind::MaintainRenditions, "tend_renditions", "{}");
        check(JobKind::Sweep, "sweep", "{}");
    }

    #[test]
    fn long_jobs_do_not_block_audio_or_rendition_maintenance() {
        let (media, source) = (
            "01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11".parse().unwrap(),
            "01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12".parse().unwrap(),
        );
        let queues = [
            JobKind::Download { media },
            JobKind::IngestUpload { media },
            JobKind::CheckUpload { media },
            JobKind::Backfill { media, source },
            JobKind::EncodeAudio { media, source },
            JobKind::MeasureLoudness { media, source },
            JobKind::MaintainRenditions,
            JobKind::Sweep,
        ]
        .map(|kind| kind.queue().as_str());
        let expected = ["download", "ingest", "uploads", "fill", "sound", "loudness", "tend", "upkeep"];
        assert_eq!(queues, expected);
    }

    #[test]
    fn unknown_job_kind_or_payload_is_rejected() {
        let check =
            |name: &str, payload: &str| assert!(JobKind::read(name, payload).is_err(), "{name} {payload}");
        check("transcode", "{}");
        check("download", "{}");
        check("fetch_track", r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11"}"#);
        check("download", r#"{"media":"x"}"#);
        check("download", "");
    }
}
