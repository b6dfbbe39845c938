//! Added tracks of a media: as rows, as JSON of uploads and events, and the further writes of their
//! changes.

use kinora_domain::{
    AddedTrack, AddedTrackKind, AddedTrackState, Failure, FailureCode, Media, MediaId, NewTrack, SourceId,
    Timestamp, TrackEventKind, TrackEvents, TrackId,
};
use serde::{Deserialize, Serialize};

use crate::sql::{Row, Value, statements, values};
use crate::{Error, JobKind, NewJob, Store, Tx};

statements! {
    /// A new track is the last of its media.
    SAVE = "INSERT INTO added_track
        (id, media_id, position, kind, url, language_code, language_name, state, source_id, failure_code, failure_message,
         is_on_base, cut_from_id)
        VALUES ($1, $2, (SELECT COALESCE(MAX(position), -1) + 1 FROM added_track WHERE media_id = $2), $3, $4, $5, $6, $7, $8,
         $9, $10, $11, $12)
        ON CONFLICT (id) DO UPDATE SET url = excluded.url, language_code = excluded.language_code,
        language_name = excluded.language_name, state = excluded.state, source_id = excluded.source_id,
        failure_code = excluded.failure_code, failure_message = excluded.failure_message,
        cut_from_id = excluded.cut_from_id";
    DELETE = "DELETE FROM added_track WHERE id = $1";
    HOLDS = "SELECT id FROM added_track WHERE source_id = $1";
}

impl Store {
    /// Whether a track references this source, or waits for it.
    pub async fn is_source_of_track(&self, source: SourceId) -> Result<bool, Error> {
        Ok(self.reader().await?.first(HOLDS, values![source]).await?.is_some())
    }
}

impl Tx {
    /// Whether a track references this source, or waits for it.
    pub async fn is_source_of_track(&mut self, source: SourceId) -> Result<bool, Error> {
        Ok(self.session.first(HOLDS, values![source]).await?.is_some())
    }

    /// Emits the events of the initial tracks of a media, and queues their downloads.
    pub async fn fetch_added_tracks(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        for track in &media.added_tracks {
            self.push_event(&media.track_event(TrackEventKind::Created, track.id, now)).await?;
            self.fetch_track(media, track, now).await?;
        }
        Ok(())
    }

    /// Inserts the tracks of a new media.
    pub(super) async fn insert_added_tracks(&mut self, media: &Media) -> Result<(), Error> {
        for track in &media.added_tracks {
            self.session.execute(SAVE, values_of(media.id, track)).await?;
        }
        Ok(())
    }

    /// Saves a media with a changed track, and the events of the change. Writes one track row, however many
    /// tracks there are.
    pub async fn save_tracks(&mut self, media: &Media, events: &TrackEvents) -> Result<(), Error> {
        self.save_media(media).await?;
        match media.added_track(events.track) {
            Some(track) => self.session.execute(SAVE, values_of(media.id, track)).await?,
            None => self.session.execute(DELETE, values![events.track]).await?,
        };
        for event in &events.events {
            self.push_event(event).await?;
        }
        Ok(())
    }

    /// Saves that another attempt to download a track began. Emits no event.
    pub async fn save_track_attempt(&mut self, media: &Media, track: TrackId) -> Result<(), Error> {
        self.save_media(media).await?;
        let Some(track) = media.added_track(track) else { return Ok(()) };
        self.session.execute(SAVE, values_of(media.id, track)).await.map(drop)
    }

    /// Queues the download of a track. Audio segments follow the segments of the media, and subtitles on the
    /// base of an edited media follow its parts. So these wait until the media is ready or has failed: see
    /// [`Tx::fetch_waiting_tracks`].
    pub async fn fetch_track(
        &mut self,
        media: &Media,
        track: &AddedTrack,
        now: Timestamp,
    ) -> Result<(), Error> {
        if waits_for_media(track) && !media.is_ready_or_failed() {
            return Ok(());
        }
        if let Some(fetch) = fetch_job(media.id, track) {
            self.enqueue(NewJob::due_now(fetch, media.workspace, now)).await?;
        }
        Ok(())
    }

    /// Queues the downloads that waited for the media, which has just become ready or failed.
    pub(crate) async fn fetch_waiting_tracks(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        for track in media.added_tracks.iter().filter(|track| waits_for_media(track)) {
            self.fetch_track(media, track, now).await?;
        }
        Ok(())
    }

    /// Cancels the download of a track, and queues the removal of its objects. The track was replaced or
    /// deleted. Its media no longer uses the subtitles that it was to be cut from.
    pub async fn discard_track(
        &mut self,
        media: &Media,
        track: &AddedTrack,
        now: Timestamp,
    ) -> Result<(), Error> {
        if let Some(fetch) = fetch_job(media.id, track) {
            self.cancel_job(fetch).await?;
        }
        if let Some(origin) = track.cut_from {
            self.release_source(media.id, origin, media.workspace, now).await?;
        }
        if let Some(source) = track.source() {
            self.cancel_job(JobKind::EncodeAudio { media: media.id, source }).await?;
            // Not unique: a running job may have seen the row of this track, and left the objects.
            self.enqueue(NewJob::due_now(JobKind::DeleteObjects { source }, media.workspace, now)).await?;
        }
        Ok(())
    }
}

/// Whether a track is downloaded after the media is ready.
fn waits_for_media(track: &AddedTrack) -> bool {
    track.spec.kind == AddedTrackKind::Audio || track.is_on_base
}

/// The job that downloads the file of a track.
fn fetch_job(media: MediaId, track: &AddedTrack) -> Option<JobKind> {
    let source = track.preparing()?;
    Some(match track.spec.kind {
        AddedTrackKind::Audio => JobKind::FetchAudio { media, track: track.id },
        AddedTrackKind::Subtitle => JobKind::FetchSubtitles { media, track: track.id, source },
    })
}

/// The values, in the order of the statement.
fn values_of(media: MediaId, track: &AddedTrack) -> Vec<Value> {
    let failure = match &track.state {
        AddedTrackState::Failed { failure } => Some(failure),
        _ => None,
    };
    let NewTrack { kind, url, language_code, language_name } = &track.spec;
    values![
        track.id,
        media,
        kind.as_str(),
        url.as_str(),
        language_code.as_str(),
        language_name.as_str(),
        track.state.name(),
        track.source(),
        failure.map(|failure| failure.code.as_str()),
        failure.map(|failure| failure.message.as_str()),
        track.is_on_base,
        track.cut_from,
    ]
}

pub(super) fn read(row: &Row) -> Result<AddedTrack, Error> {
    let state = match row.text("state")?.as_str() {
        "preparing" => AddedTrackState::Preparing { source: row.id("source_id")? },
        "available" => AddedTrackState::Available { source: row.id("source_id")? },
        "failed" => AddedTrackState::Failed {
            failure: Failure {
                code: row.parsed("failure_code", FailureCode::from_text)?,
                message: row.text("failure_message")?,
            },
        },
        _ => return Err(Row::invalid_column("state")),
    };
    Ok(AddedTrack {
        id: row.id("id")?,
        spec: NewTrack {
            kind: row.parsed("kind", AddedTrackKind::from_text)?,
            url: row.text("url")?,
            language_code: row.text("language_code")?,
            language_name: row.text("language_name")?,
        },
        state,
        is_on_base: row.flag("is_on_base")?,
        cut_from: row.id_or_none("cut_from_id")?,
    })
}

/// A requested track, as JSON in a row or an event.
#[derive(Serialize, Deserialize)]
pub(crate) struct NewTrackJson {
    kind: String,
    url: String,
    language_code: String,
    language_name: String,
}

impl NewTrackJson {
    /// The JSON of several tracks; `None` for none, as in rows of older versions.
    pub(crate) fn list(tracks: &[NewTrack]) -> Option<String> {
        let tracks: Vec<Self> = tracks.iter().map(Self::from).collect();
        (!tracks.is_empty()).then(|| serde_json::to_string(&tracks).expect("texts are always JSON"))
    }

    /// Reads the tracks of such a list.
    pub(crate) fn read_list(text: Option<String>) -> Result<Vec<NewTrack>, Error> {
        let Some(text) = text else { return Ok(Vec::new()) };
        let tracks: Vec<Self> = serde_json::from_str(&text).map_err(Error::internal)?;
        tracks.into_iter().map(NewTrack::try_from).collect()
    }
}

impl From<&NewTrack> for NewTrackJson {
    fn from(track: &NewTrack) -> Self {
        Self {
            kind: track.kind.as_str().to_owned(),
            url: track.url.clone(),
            language_code: track.language_code.clone(),
            language_name: track.language_name.clone(),
        }
    }
}

impl TryFrom<NewTrackJson> for NewTrack {
    type Error = Error;

    fn try_from(json: NewTrackJson) -> Result<Self, Error> {
        let kind = AddedTrackKind::from_text(&json.kind).ok_or_else(|| Row::invalid_column("kind"))?;
        Ok(Self { kind, url: json.url, language_code: json.language_code, language_name: json.language_name })
    }
}
