//! Events: the changes that webhooks report to the client's application. Their JSON is in
//! `jobs/src/deliver_event/payload`.

use crate::{Media, MediaId, MediaSettings, Timestamp, TrackId, Upload, WorkspaceId};

/// One event, committed together with its change. The store assigns its ID.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The workspace of its subject.
    pub workspace: WorkspaceId,
    /// The change, with the state at that time.
    pub kind: EventKind,
    /// The time of the change.
    pub at: Timestamp,
}

/// The change. A media is a snapshot of that time, so that a late delivery still reports the state of then.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A media was registered.
    MediaCreated(Box<Media>),
    /// A media became ready.
    MediaReady(Box<Media>),
    /// A media failed, which is final.
    MediaFailed(Box<Media>),
    /// A media changed.
    MediaUpdated(MediaId),
    /// The original of a media became downloadable.
    SourceReady(Box<Media>),
    /// The original of a media is no longer downloadable.
    SourceDeleted(Box<Media>),
    /// The requested files of a media became downloadable.
    Mp4Ready(Box<Media>),
    /// An edit of a media can be played.
    EditReady(EditKind, Box<Media>),
    /// The audio of a media was measured, and plays levelled where it needs that.
    OptimizeAudioReady(Box<Media>),
    /// A media was deleted.
    MediaDeleted(MediaId),
    /// A direct upload was registered.
    UploadRegistered(Box<Upload>),
    /// The file of a direct upload is complete; the outcome for its media is the next event.
    UploadCompleted(Box<Media>),
    /// A direct upload was cancelled; the upload as it was before.
    UploadCancelled(Box<Upload>),
    /// A track that was added to a media changed.
    Track(Box<TrackEvent>),
}

/// The edits that have an event of their own (C-188).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EditKind {
    /// A file before everything else.
    Intro,
    /// A file after everything else.
    Outro,
    /// Ranges that were removed.
    Expunge,
    /// Files that were inserted.
    Splice,
    /// An image over the video.
    Watermark,
}

impl EditKind {
    /// All of them, in the order of their events.
    pub const ALL: [Self; 5] = [Self::Expunge, Self::Splice, Self::Intro, Self::Outro, Self::Watermark];

    /// The event type in payloads and rows.
    pub fn event_name(self) -> &'static str {
        match self {
            Self::Intro => "video.media.intro.ready",
            Self::Outro => "video.media.outro.ready",
            Self::Expunge => "video.media.expunge.ready",
            Self::Splice => "video.media.splice.ready",
            Self::Watermark => "video.media.watermark.ready",
        }
    }

    /// The edit with this event type.
    pub fn from_event_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.event_name() == name)
    }

    /// Whether these settings have an edit of this kind.
    pub fn is_in(self, settings: &MediaSettings) -> bool {
        let edit = settings.timeline_edit.as_ref();
        match self {
            Self::Intro => edit.is_some_and(|edit| edit.intro.is_some()),
            Self::Outro => edit.is_some_and(|edit| edit.outro.is_some()),
            Self::Expunge => edit.is_some_and(|edit| !edit.removed.is_empty()),
            Self::Splice => edit.is_some_and(|edit| !edit.inserts.is_empty()),
            Self::Watermark => settings.watermark.is_some(),
        }
    }
}

/// A change of an added track, with a snapshot of the media.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackEvent {
    /// The change.
    pub kind: TrackEventKind,
    /// The track. For a deleted track, only this ID is left.
    pub track: TrackId,
    /// The media.
    pub media: Media,
}

/// The kinds of change of an added track (C-188).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrackEventKind {
    /// It was added, and its download begins.
    Created,
    /// Players are offered it.
    Ready,
    /// It could not be fetched, or its content is unusable.
    Failed,
    /// A client changed it.
    Updated,
    /// It was deleted.
    Deleted,
}

impl TrackEventKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Created, Self::Ready, Self::Failed, Self::Updated, Self::Deleted];

    /// The event type in payloads and rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Created => "video.media.track.created",
            Self::Ready => "video.media.track.ready",
            Self::Failed => "video.media.track.failed",
            Self::Updated => "video.media.track.updated",
            Self::Deleted => "video.media.track.deleted",
        }
    }

    /// The change with this event type.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.name() == name)
    }
}

/// The subject of an event. Events of one subject reach a webhook in the order of their commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventSubject {
    /// A media.
    Media(MediaId),
}

impl EventKind {
    /// The event type in payloads and rows.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MediaCreated(_) => "video.media.created",
            Self::MediaReady(_) => "video.media.ready",
            Self::MediaFailed(_) => "video.media.failed",
            Self::MediaUpdated(_) => "video.media.updated",
            Self::SourceReady(_) => "video.media.source.ready",
            Self::SourceDeleted(_) => "video.media.source.deleted",
            Self::Mp4Ready(_) => "video.media.mp4Support.ready",
            Self::EditReady(kind, _) => kind.event_name(),
            Self::OptimizeAudioReady(_) => "video.media.optimizeAudio.ready",
            Self::MediaDeleted(_) => "video.media.deleted",
            Self::UploadRegistered(_) => "video.media.upload",
            Self::UploadCompleted(_) => "video.upload.media_created",
            Self::UploadCancelled(_) => "video.media.upload.cancelled",
            Self::Track(event) => event.kind.name(),
        }
    }

    /// Its subject. An upload shares the subject of its media, so their events stay in one order.
    pub fn subject(&self) -> EventSubject {
        match self {
            Self::MediaCreated(media)
            | Self::MediaReady(media)
            | Self::MediaFailed(media)
            | Self::SourceReady(media)
            | Self::SourceDeleted(media)
            | Self::Mp4Ready(media)
            | Self::EditReady(_, media)
            | Self::OptimizeAudioReady(media)
            | Self::UploadCompleted(media) => EventSubject::Media(media.id),
            Self::MediaUpdated(id) | Self::MediaDeleted(id) => EventSubject::Media(*id),
            Self::UploadRegistered(upload) | Self::UploadCancelled(upload) => EventSubject::Media(upload.id),
            Self::Track(event) => EventSubject::Media(event.media.id),
        }
    }
}
