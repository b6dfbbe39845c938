//! Tracks that were added to a media: as rows, as JSON of uploads and events, and what else is written when
//! they change.

use kinora_domain::{
    AddedTrack, AddedTrackKind, AddedTrackState, Failure, FailureCode, Media, MediaId, NewTrack, SourceId,
    Timestamp, TrackEvents, TrackHappening, TrackId,
};
use serde::{Deserialize, Serialize};

use crate::sql::{Row, Value, statements, values};
use crate::{Error, JobKind, NewJob, Tx};

statements! {
    /// A new one is the last of its media.
    SAVE = "INSERT INTO added_track
        (id, media_id, position, kind, url, language_code, language_name, state, source_id, failure_code, failure_message)
        VALUES ($1, $2, (SELECT COALESCE(MAX(position), -1) + 1 FROM added_track WHERE media_id = $2), $3, $4, $5, $6, $7, $8,
         $9, $10)
        ON CONFLICT (id) DO UPDATE SET url = excluded.url, language_code = excluded.language_code,
        language_name = excluded.language_name, state = excluded.state, source_id = excluded.source_id,
        failure_code = excluded.failure_code, failure_message = excluded.failure_message";
    DELETE = "DELETE FROM added_track WHERE id = $1";
    HOLDS = "SELECT id FROM added_track WHERE source_id = $1";
}

impl Tx {
    /// Whether a track names this source, or waits for it.
    pub async fn is_source_of_track(&mut self, source: SourceId) -> Result<bool, Error> {
        Ok(self.session.first(HOLDS, values![source]).await?.is_some())
    }

    /// Tells of the tracks with which a media was made, and has them fetched.
    pub async fn begin_tracks(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        for track in &media.added {
            self.push_event(&media.track_event(TrackHappening::Created, track.id, now)).await?;
            self.fetch_track(media, track, now).await?;
        }
        Ok(())
    }

    /// Writes the tracks of a media that is new.
    pub(super) async fn insert_added(&mut self, media: &Media) -> Result<(), Error> {
        for track in &media.added {
            self.session.execute(SAVE, values_of(media.id, track)).await?;
        }
        Ok(())
    }

    /// Saves a media of which a track changed, with the events that say which. One row of a track is written,
    /// however many there are.
    pub async fn save_tracks(&mut self, media: &Media, events: &TrackEvents) -> Result<(), Error> {
        self.save_media(media).await?;
        match media.added_track(events.track) {
            Some(track) => self.session.execute(SAVE, values_of(media.id, track)).await?,
            None => self.session.execute(DELETE, values![events.track]).await?,
        };
        for event in &events.told {
            self.push_event(event).await?;
        }
        Ok(())
    }

    /// Saves that another attempt to fetch a track began, which nobody is told.
    pub async fn save_track_attempt(&mut self, media: &Media, track: TrackId) -> Result<(), Error> {
        self.save_media(media).await?;
        let Some(track) = media.added_track(track) else { return Ok(()) };
        self.session.execute(SAVE, values_of(media.id, track)).await.map(drop)
    }

    /// Has a track fetched that waits for it. Sound is cut along its media, so it waits for that first: see
    /// [`Tx::fetch_sounds`].
    pub async fn fetch_track(
        &mut self,
        media: &Media,
        track: &AddedTrack,
        now: Timestamp,
    ) -> Result<(), Error> {
        if track.wanted.kind == AddedTrackKind::Audio && !media.is_settled() {
            return Ok(());
        }
        if let Some(fetch) = fetch_of(media.id, track) {
            self.enqueue(NewJob::soon(fetch, media.workspace, now)).await?;
        }
        Ok(())
    }

    /// Has the sounds fetched that waited for their media, which has just become ready, or failed.
    pub(crate) async fn fetch_sounds(&mut self, media: &Media, now: Timestamp) -> Result<(), Error> {
        for track in media.added.iter().filter(|track| track.wanted.kind == AddedTrackKind::Audio) {
            self.fetch_track(media, track, now).await?;
        }
        Ok(())
    }

    /// Ends the fetch of what a track had, if it is under way, and has removed what there is of it. The track
    /// is another by now, or gone.
    pub async fn let_go_of_track(
        &mut self,
        media: &Media,
        before: &AddedTrack,
        now: Timestamp,
    ) -> Result<(), Error> {
        if let Some(fetch) = fetch_of(media.id, before) {
            self.drop_job(fetch).await?;
        }
        if let Some(source) = before.source() {
            self.drop_job(JobKind::EncodeAudio { media: media.id, source }).await?;
            self.enqueue_once(NewJob::soon(JobKind::DeleteObjects { source }, media.workspace, now)).await?;
        }
        Ok(())
    }
}

/// The job that fetches what a track waits for.
fn fetch_of(media: MediaId, track: &AddedTrack) -> Option<JobKind> {
    let source = track.preparing()?;
    Some(match track.wanted.kind {
        AddedTrackKind::Audio => JobKind::FetchSound { media, track: track.id },
        AddedTrackKind::Subtitle => JobKind::FetchTrack { media, track: track.id, source },
    })
}

/// In the order of the statement.
fn values_of(media: MediaId, track: &AddedTrack) -> Vec<Value> {
    let failure = match &track.state {
        AddedTrackState::Failed { failure } => Some(failure),
        _ => None,
    };
    let NewTrack { kind, url, language_code, language_name } = &track.wanted;
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
    ]
}

pub(super) fn read(row: &Row) -> Result<AddedTrack, Error> {
    let state = match row.text("state")?.as_str() {
        "preparing" => AddedTrackState::Preparing { source: row.id("source_id")? },
        "available" => AddedTrackState::Available { source: row.id("source_id")? },
        "failed" => AddedTrackState::Failed {
            failure: Failure {
                code: row.word("failure_code", FailureCode::from_text)?,
                message: row.text("failure_message")?,
            },
        },
        _ => return Err(Row::bad("state")),
    };
    Ok(AddedTrack {
        id: row.id("id")?,
        wanted: NewTrack {
            kind: row.word("kind", AddedTrackKind::from_text)?,
            url: row.text("url")?,
            language_code: row.text("language_code")?,
            language_name: row.text("language_name")?,
        },
        state,
    })
}

/// A track that is wanted, as JSON in a row or an event.
#[derive(Serialize, Deserialize)]
pub(crate) struct NewTrackJson {
    kind: String,
    url: String,
    language_code: String,
    language_name: String,
}

impl NewTrackJson {
    /// Of several; `None` for none, which rows of older versions say, too.
    pub(crate) fn list(tracks: &[NewTrack]) -> Option<String> {
        let tracks: Vec<Self> = tracks.iter().map(Self::from).collect();
        (!tracks.is_empty()).then(|| serde_json::to_string(&tracks).expect("texts are always JSON"))
    }

    /// The tracks of such a list.
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
        let kind = AddedTrackKind::from_text(&json.kind).ok_or_else(|| Row::bad("kind"))?;
        Ok(Self { kind, url: json.url, language_code: json.language_code, language_name: json.language_name })
    }
}
