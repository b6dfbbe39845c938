//! Rows for tests of rules.

use kinora_domain::{
    AccessPolicy, AccessRestrictions, AddedTrack, AddedTrackKind, AddedTrackState, Encryption, JobId, Media,
    MediaDuration, MediaFacts, MediaId, MediaSettings, MediaState, NewMedia, NewTrack, Random, RenditionId,
    SourceId, Timestamp, Track, TrackId, TrackKind, WorkspaceId,
};
use kinora_store::{ClaimedJob, JobKind, Priority, RenditionRow, WorkerId};

pub(crate) struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// An instant, in seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * Timestamp::SECOND)
}

pub(crate) fn source_id(n: i64) -> SourceId {
    SourceId::new(at(n), &Zeros)
}

pub(crate) fn rendition_id() -> RenditionId {
    "019a492c-41f3-8001-8203-040506070809".parse().unwrap()
}

pub(crate) fn media_id() -> MediaId {
    MediaId::new(at(1), &Zeros)
}

pub(crate) fn track_id() -> TrackId {
    TrackId::new(at(1), &Zeros)
}

/// The first attempt of a job that was created at 0 s.
pub(crate) fn job(kind: JobKind) -> ClaimedJob {
    ClaimedJob {
        id: JobId::new(at(1), &Zeros),
        kind,
        workspace: None,
        attempt: 1,
        owner: WorkerId::new(&Zeros),
        created_at: at(0),
        run_at: at(0),
        priority: Priority::Normal,
        progress: None,
    }
}

/// A media that was just created.
pub(crate) fn created() -> Media {
    let new = NewMedia {
        workspace: WorkspaceId::new(at(1), &Zeros),
        settings: MediaSettings::default(),
        url: "https://example.com/a.mp4".into(),
        clip_of: None,
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        encryption: Encryption::None,
        tracks: Vec::new(),
    };
    Media::create(new, at(1), &Zeros).0
}

/// A media that became ready from this source.
pub(crate) fn ready(source: SourceId) -> Media {
    let facts = MediaFacts {
        container: None,
        duration: MediaDuration::from_micros(1),
        tracks: Vec::new(),
        source_resolution: None,
        aspect_ratio: None,
        rungs: Vec::new(),
        is_truncated: false,
        left_out: Vec::new(),
        does_not_decode: false,
        broken_renditions: Vec::new(),
    };
    created().start_download(source, at(2)).unwrap().finish(source, facts, at(3)).unwrap().0
}

/// A rendition that was created at 0 s, without stored segments.
pub(crate) fn rendition_row() -> RenditionRow {
    RenditionRow {
        id: rendition_id(),
        presentation: kinora_domain::PresentationId::of(source_id(1)),
        name: "720p".into(),
        bytes: 0,
        segments: 0,
        watched_at: None,
        broken_at: None,
        created_at: at(0),
    }
}

/// The media with an added audio track.
pub(crate) fn with_track(media: Media, state: AddedTrackState) -> Media {
    let spec = NewTrack {
        kind: AddedTrackKind::Audio,
        url: "https://example.com/a.m4a".into(),
        language_code: "de".into(),
        language_name: "Deutsch".into(),
    };
    media
        .add_track(AddedTrack { id: track_id(), spec, state, is_on_base: false, cut_from: None }, at(4))
        .unwrap()
        .0
}

/// The media with an audio track of its own.
pub(crate) fn with_audio(mut media: Media) -> Media {
    let kind = TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() };
    if let MediaState::Ready { facts, .. } = &mut media.state {
        facts.tracks.push(Track { id: track_id(), kind, not_copied: None, is_encoded: true });
    }
    media
}
