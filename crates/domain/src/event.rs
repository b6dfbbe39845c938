//! What happened, to be told to the client's application.

use crate::{Media, MediaId, Timestamp, Upload, WorkspaceId};

/// One thing that happened, committed together with the change it tells of. The store gives it its id.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Where it happened.
    pub workspace: WorkspaceId,
    /// What happened, with the facts of that moment.
    pub kind: EventKind,
    /// When it happened.
    pub at: Timestamp,
}

/// What happened. A media is kept as it was at that moment, so that a late delivery still tells the truth of it.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A media was registered.
    MediaCreated(Box<Media>),
    /// A media plays.
    MediaReady(Box<Media>),
    /// A media will never play.
    MediaFailed(Box<Media>),
    /// A media changed.
    MediaUpdated(MediaId),
    /// The original of a media can be fetched.
    SourceReady(Box<Media>),
    /// The original of a media can be fetched no more.
    SourceDeleted(Box<Media>),
    /// The files that are wanted of a media can be fetched.
    Mp4Ready(Box<Media>),
    /// A media is gone.
    MediaDeleted(MediaId),
    /// A direct upload was registered.
    UploadRegistered(Box<Upload>),
    /// The file of a direct upload is whole; what became of its media is told next.
    UploadCompleted(Box<Media>),
    /// A direct upload is wanted no more; the upload as it was before.
    UploadCancelled(Box<Upload>),
}

/// What an event is about. Events of one subject reach a webhook in the order of their commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventSubject {
    /// A media.
    Media(MediaId),
}

impl EventKind {
    /// The type as receivers and rows see it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MediaCreated(_) => "video.media.created",
            Self::MediaReady(_) => "video.media.ready",
            Self::MediaFailed(_) => "video.media.failed",
            Self::MediaUpdated(_) => "video.media.updated",
            Self::SourceReady(_) => "video.media.source.ready",
            Self::SourceDeleted(_) => "video.media.source.deleted",
            Self::Mp4Ready(_) => "video.media.mp4Support.ready",
            Self::MediaDeleted(_) => "video.media.deleted",
            Self::UploadRegistered(_) => "video.media.upload",
            Self::UploadCompleted(_) => "video.upload.media_created",
            Self::UploadCancelled(_) => "video.media.upload.cancelled",
        }
    }

    /// What it is about. An upload is one with its media, so their events keep one order.
    pub fn subject(&self) -> EventSubject {
        match self {
            Self::MediaCreated(media)
            | Self::MediaReady(media)
            | Self::MediaFailed(media)
            | Self::SourceReady(media)
            | Self::SourceDeleted(media)
            | Self::Mp4Ready(media)
            | Self::UploadCompleted(media) => EventSubject::Media(media.id),
            Self::MediaUpdated(id) | Self::MediaDeleted(id) => EventSubject::Media(*id),
            Self::UploadRegistered(upload) | Self::UploadCancelled(upload) => EventSubject::Media(upload.id),
        }
    }
}
