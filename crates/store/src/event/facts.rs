//! The facts of an event as JSON. Rows outlive upgrades, and every stored form must stay readable. So
//! fields are only ever added, with a default.

use kinora_domain::{EditKind, EventKind, Media, TrackEvent, TrackEventKind, Upload};
use serde::{Deserialize, Serialize};

use super::media_json::{MediaJson, id, unsupported_fact};
use super::upload_json::UploadJson;
use crate::Error;

/// The version of the JSON that this server writes.
const FORMAT_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct FactsJson {
    v: u32,
    #[serde(flatten)]
    about: AboutJson,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AboutJson {
    /// The media at the time of the event.
    Media(Box<MediaJson>),
    /// The media that changed; its present state is in its rows.
    Changed { media: String },
    /// The deleted media.
    Gone { media: String },
    /// The upload at the time of the event.
    Upload(Box<UploadJson>),
    /// An added track, and its media at the time of the event.
    Track { track: String, media: Box<MediaJson> },
}

/// The facts of an event.
pub(crate) fn encode(kind: &EventKind) -> String {
    let about = match kind {
        EventKind::MediaCreated(media)
        | EventKind::MediaReady(media)
        | EventKind::MediaFailed(media)
        | EventKind::SourceReady(media)
        | EventKind::SourceDeleted(media)
        | EventKind::Mp4Ready(media)
        | EventKind::EditReady(_, media)
        | EventKind::OptimizeAudioReady(media)
        | EventKind::UploadCompleted(media) => AboutJson::Media(Box::new(MediaJson::from(media.as_ref()))),
        EventKind::MediaUpdated(id) => AboutJson::Changed { media: id.to_string() },
        EventKind::MediaDeleted(id) => AboutJson::Gone { media: id.to_string() },
        EventKind::UploadRegistered(upload) | EventKind::UploadCancelled(upload) => {
            AboutJson::Upload(Box::new(UploadJson::from(upload.as_ref())))
        }
        EventKind::Track(event) => AboutJson::Track {
            track: event.track.to_string(),
            media: Box::new(MediaJson::from(&event.media)),
        },
    };
    serde_json::to_string(&FactsJson { v: FORMAT_VERSION, about }).expect("texts and numbers are always JSON")
}

/// The event of this name with these facts.
pub(crate) fn decode(name: &str, facts: &str) -> Result<EventKind, Error> {
    let facts: FactsJson = serde_json::from_str(facts).map_err(Error::internal)?;
    if facts.v > FORMAT_VERSION {
        return Err(unsupported_fact("form"));
    }
    let media = |wrap: fn(Box<Media>) -> EventKind, about| match about {
        AboutJson::Media(json) => Ok(wrap(Box::new(Media::try_from(*json)?))),
        _ => Err(unsupported_fact("media")),
    };
    let upload = |wrap: fn(Box<Upload>) -> EventKind, about| match about {
        AboutJson::Upload(json) => Ok(wrap(Box::new(Upload::try_from(*json)?))),
        _ => Err(unsupported_fact("upload")),
    };
    match name {
        "video.media.created" => media(EventKind::MediaCreated, facts.about),
        "video.media.ready" => media(EventKind::MediaReady, facts.about),
        "video.media.failed" => media(EventKind::MediaFailed, facts.about),
        "video.media.source.ready" => media(EventKind::SourceReady, facts.about),
        "video.media.source.deleted" => media(EventKind::SourceDeleted, facts.about),
        "video.media.mp4Support.ready" => media(EventKind::Mp4Ready, facts.about),
        "video.media.optimizeAudio.ready" => media(EventKind::OptimizeAudioReady, facts.about),
        "video.media.updated" => match facts.about {
            AboutJson::Changed { media } => Ok(EventKind::MediaUpdated(id(&media)?)),
            _ => Err(unsupported_fact("media")),
        },
        "video.media.deleted" => match facts.about {
            AboutJson::Gone { media } => Ok(EventKind::MediaDeleted(id(&media)?)),
            _ => Err(unsupported_fact("media")),
        },
        "video.media.upload" => upload(EventKind::UploadRegistered, facts.about),
        "video.upload.media_created" => media(EventKind::UploadCompleted, facts.about),
        "video.media.upload.cancelled" => upload(EventKind::UploadCancelled, facts.about),
        _ if EditKind::from_event_name(name).is_some() => {
            let AboutJson::Media(json) = facts.about else { return Err(unsupported_fact("media")) };
            let kind = EditKind::from_event_name(name).ok_or_else(|| unsupported_fact("kind"))?;
            Ok(EventKind::EditReady(kind, Box::new(Media::try_from(*json)?)))
        }
        _ => match (TrackEventKind::from_name(name), facts.about) {
            (Some(kind), AboutJson::Track { track, media }) => {
                let (track, media) = (id(&track)?, Media::try_from(*media)?);
                Ok(EventKind::Track(Box::new(TrackEvent { kind, track, media })))
            }
            (Some(_), _) => Err(unsupported_fact("track")),
            (None, _) => Err(unsupported_fact("kind")),
        },
    }
}

#[cfg(test)]
mod tests;
