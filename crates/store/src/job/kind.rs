//! The kinds of jobs, and their payloads as JSON. A payload outlives upgrades: it holds ids and little else,
//! and its fields are only ever added, with a default.

use kinora_domain::{MediaId, SourceId, TrackId};
use serde::{Deserialize, Serialize};

use crate::Error;

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Brings in the source of a media.
    Download {
        /// Which media.
        media: MediaId,
    },
    /// Brings in subtitles that were added to a media.
    FetchTrack {
        /// Which media.
        media: MediaId,
        /// Which track.
        track: TrackId,
        /// Where it will lie.
        source: SourceId,
    },
    /// Brings in sound that was added to a media, when that is ready.
    FetchSound {
        /// Which media.
        media: MediaId,
        /// Which track.
        track: TrackId,
    },
    /// Makes a media of the file of a direct upload, where that takes longer than a request may.
    IngestUpload {
        /// Which media; it has the id of its upload.
        media: MediaId,
    },
    /// Looks whether the time of a direct upload is over, or its file is whole and nobody said so.
    TendUpload {
        /// Which upload; it has the id of its media.
        media: MediaId,
    },
    /// Removes what a direct upload that has ended left beside its source.
    DiscardUpload {
        /// Which upload; it has the id of its media.
        media: MediaId,
    },
    /// Removes the objects of a source that no media names any more.
    DeleteObjects {
        /// Which source.
        source: SourceId,
    },
    /// Decodes some of a source, to know that a player can.
    ProbeDecode {
        /// Which media.
        media: MediaId,
        /// Which source.
        source: SourceId,
    },
    /// Looks what the picture of a media looks like from afar.
    HashPicture {
        /// Which media.
        media: MediaId,
        /// Which source.
        source: SourceId,
    },
    /// Encodes the sound of a media as a whole, beside those who listen already.
    EncodeAudio {
        /// Which media.
        media: MediaId,
        /// Which source.
        source: SourceId,
    },
    /// Makes what is missing of the renditions of a media that was watched.
    Fill {
        /// Which media.
        media: MediaId,
        /// Which source.
        source: SourceId,
    },
    /// Looks what the files need that a client wants of a media, and removes what they do not need any more.
    PrepareFiles {
        /// Which media.
        media: MediaId,
        /// Which source.
        source: SourceId,
    },
    /// Encodes what the files need that a client wants of a media.
    EncodeFiles {
        /// Which media.
        media: MediaId,
        /// Which source.
        source: SourceId,
    },
    /// Looks which renditions were watched, has these filled, and lets go of those that were not.
    TendRenditions,
    /// Removes what nobody needs any more.
    Sweep,
    /// Makes the index of a media anew where an unreleased version wrote it.
    Reindex {
        /// Which media.
        media: MediaId,
        /// Which source.
        source: SourceId,
    },
}

/// Jobs that wait for each other's room. Downloads wait for the network, so they are not counted with what
/// needs a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobQueue {
    /// Bringing in sources.
    Download,
    /// Bringing in what is added to media.
    Tracks,
    /// Making media of files that were sent to us.
    Ingest,
    /// Looking after uploads that wait.
    Uploads,
    /// Encoding the pictures ahead of those who watch, which takes as long as the media lasts.
    Fill,
    /// Encoding the sound of what is new.
    Sound,
    /// Looking what is watched and what is not.
    Tend,
    /// Making indexes anew after a migration. A queue that workers of schema 25 do not know.
    Reindex,
    /// All else.
    Upkeep,
}

/// What goes first when several jobs of a queue are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Somebody waits for it.
    High,
    /// The usual.
    Normal,
    /// Whenever there is room.
    Low,
}

impl JobKind {
    /// The name as logs and rows see it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Download { .. } => "download",
            Self::FetchTrack { .. } => "fetch_track",
            Self::FetchSound { .. } => "fetch_sound",
            Self::IngestUpload { .. } => "ingest_upload",
            Self::TendUpload { .. } => "tend_upload",
            Self::DiscardUpload { .. } => "discard_upload",
            Self::DeleteObjects { .. } => "delete_objects",
            Self::ProbeDecode { .. } => "probe_decode",
            Self::HashPicture { .. } => "hash_picture",
            Self::EncodeAudio { .. } => "encode_audio",
            Self::Fill { .. } => "fill",
            Self::PrepareFiles { .. } => "prepare_files",
            Self::EncodeFiles { .. } => "encode_files",
            Self::TendRenditions => "tend_renditions",
            Self::Sweep => "sweep",
            Self::Reindex { .. } => "reindex",
        }
    }

    /// Where it waits.
    pub fn queue(&self) -> JobQueue {
        match self {
            Self::Download { .. } | Self::FetchSound { .. } => JobQueue::Download,
            Self::FetchTrack { .. } => JobQueue::Tracks,
            Self::IngestUpload { .. } => JobQueue::Ingest,
            Self::Reindex { .. } => JobQueue::Reindex,
            Self::TendUpload { .. } => JobQueue::Uploads,
            Self::Fill { .. } | Self::EncodeFiles { .. } => JobQueue::Fill,
            Self::EncodeAudio { .. } => JobQueue::Sound,
            Self::TendRenditions => JobQueue::Tend,
            Self::DiscardUpload { .. }
            | Self::DeleteObjects { .. }
            | Self::ProbeDecode { .. }
            | Self::HashPicture { .. }
            | Self::PrepareFiles { .. }
            | Self::Sweep => JobQueue::Upkeep,
        }
    }

    pub(super) fn payload(&self) -> String {
        let payload = match self {
            Self::Download { media }
            | Self::IngestUpload { media }
            | Self::TendUpload { media }
            | Self::DiscardUpload { media } => {
                Payload { media: Some(media.to_string()), ..Payload::default() }
            }
            Self::FetchTrack { media, track, source } => Payload {
                media: Some(media.to_string()),
                track: Some(track.to_string()),
                source: Some(source.to_string()),
            },
            Self::FetchSound { media, track } => Payload {
                media: Some(media.to_string()),
                track: Some(track.to_string()),
                ..Payload::default()
            },
            Self::DeleteObjects { source } => {
                Payload { source: Some(source.to_string()), ..Payload::default() }
            }
            Self::ProbeDecode { media, source }
            | Self::HashPicture { media, source }
            | Self::EncodeAudio { media, source }
            | Self::Fill { media, source }
            | Self::PrepareFiles { media, source }
            | Self::EncodeFiles { media, source }
            | Self::Reindex { media, source } => {
                let (media, source) = (Some(media.to_string()), Some(source.to_string()));
                Payload { media, source, ..Payload::default() }
            }
            Self::TendRenditions | Self::Sweep => Payload::default(),
        };
        serde_json::to_string(&payload).expect("texts are always JSON")
    }

    /// The job of this name with this payload.
    pub(super) fn read(name: &str, payload: &str) -> Result<Self, Error> {
        let payload: Payload = serde_json::from_str(payload).map_err(Error::internal)?;
        match name {
            "download" => Ok(Self::Download { media: id(payload.media)? }),
            "fetch_track" => Ok(Self::FetchTrack {
                media: id(payload.media)?,
                track: id(payload.track)?,
                source: id(payload.source)?,
            }),
            "fetch_sound" => Ok(Self::FetchSound { media: id(payload.media)?, track: id(payload.track)? }),
            "ingest_upload" => Ok(Self::IngestUpload { media: id(payload.media)? }),
            "tend_upload" => Ok(Self::TendUpload { media: id(payload.media)? }),
            "discard_upload" => Ok(Self::DiscardUpload { media: id(payload.media)? }),
            "delete_objects" => Ok(Self::DeleteObjects { source: id(payload.source)? }),
            "probe_decode" => {
                Ok(Self::ProbeDecode { media: id(payload.media)?, source: id(payload.source)? })
            }
            "hash_picture" => {
                Ok(Self::HashPicture { media: id(payload.media)?, source: id(payload.source)? })
            }
            "encode_audio" => {
                Ok(Self::EncodeAudio { media: id(payload.media)?, source: id(payload.source)? })
            }
            "fill" => Ok(Self::Fill { media: id(payload.media)?, source: id(payload.source)? }),
            "prepare_files" => {
                Ok(Self::PrepareFiles { media: id(payload.media)?, source: id(payload.source)? })
            }
            "encode_files" => {
                Ok(Self::EncodeFiles { media: id(payload.media)?, source: id(payload.source)? })
            }
            "tend_renditions" => Ok(Self::TendRenditions),
            "sweep" => Ok(Self::Sweep),
            "reindex" => Ok(Self::Reindex { media: id(payload.media)?, source: id(payload.source)? }),
            _ => Err(Error::internal(format!("this version knows no job of kind {name}"))),
        }
    }
}

impl JobQueue {
    /// The name as rows see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Tracks => "tracks",
            Self::Ingest => "ingest",
            Self::Uploads => "uploads",
            Self::Fill => "fill",
            Self::Sound => "sound",
            Self::Tend => "tend",
            Self::Reindex => "reindex",
            Self::Upkeep => "upkeep",
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
    fn a_payload_is_written_so_and_read_back() {
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
            JobKind::FetchTrack { media: media_id, track: media.parse().unwrap(), source: source_id },
            "fetch_track",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","track":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
        );
        check(
            JobKind::FetchSound { media: media_id, track: media.parse().unwrap() },
            "fetch_sound",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","track":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11"}"#,
        );
        for (kind, name) in [
            (JobKind::IngestUpload { media: media_id }, "ingest_upload"),
            (JobKind::TendUpload { media: media_id }, "tend_upload"),
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
            JobKind::Fill { media: media_id, source: source_id },
            "fill",
            r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
        );
        for (kind, name) in [
            (JobKind::HashPicture { media: media_id, source: source_id }, "hash_picture"),
            (JobKind::PrepareFiles { media: media_id, source: source_id }, "prepare_files"),
            (JobKind::EncodeFiles { media: media_id, source: source_id }, "encode_files"),
            (JobKind::Reindex { media: media_id, source: source_id }, "reindex"),
        ] {
            check(
                kind,
                name,
                r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11","source":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12"}"#,
            );
        }
        check(JobKind::TendRenditions, "tend_renditions", "{}");
        check(JobKind::Sweep, "sweep", "{}");
    }

    #[test]
    fn what_takes_long_holds_up_neither_sound_nor_tending() {
        let (media, source) = (
            "01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11".parse().unwrap(),
            "01979e3e-7a52-7c54-b9b5-1f6a2f0d9c12".parse().unwrap(),
        );
        let queues = [
            JobKind::Download { media },
            JobKind::IngestUpload { media },
            JobKind::TendUpload { media },
            JobKind::Fill { media, source },
            JobKind::EncodeAudio { media, source },
            JobKind::TendRenditions,
            JobKind::Sweep,
        ]
        .map(|kind| kind.queue().as_str());
        assert_eq!(queues, ["download", "ingest", "uploads", "fill", "sound", "tend", "upkeep"]);
    }

    #[test]
    fn what_is_no_job_is_refused() {
        let check =
            |name: &str, payload: &str| assert!(JobKind::read(name, payload).is_err(), "{name} {payload}");
        check("transcode", "{}");
        check("download", "{}");
        check("fetch_track", r#"{"media":"01979e3e-7a52-7c54-b9b5-1f6a2f0d9c11"}"#);
        check("download", r#"{"media":"x"}"#);
        check("download", "");
    }
}
