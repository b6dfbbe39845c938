//! Finds objects of any kind by their id.

use kinora_domain::{MediaId, WorkspaceId};

use crate::sql::{Row, statements, values};
use crate::{Error, Store};

statements! {
    /// One look-up by primary key for each kind. The rows of other workspaces are dropped afterwards: with
    /// the workspace as a condition PostgreSQL reads all media of a workspace, if it plans with empty tables.
    /// Tracks of the source and added ones are both tracks.
    ///
    /// The subject of an event is `media:` and an id. Without that media its state is that of an upload that
    /// did not complete, else `deleted`.
    BY_ID = "SELECT 'media' AS kind, m.id, m.workspace_id, m.id AS media_id, m.title, m.state FROM media m WHERE m.id = $1
        UNION ALL SELECT 'playback_id', p.id, m.workspace_id, m.id, m.title, p.policy
            FROM playback_id p JOIN media m ON m.id = p.media_id WHERE p.id = $1
        UNION ALL SELECT 'track', t.id, m.workspace_id, m.id, m.title, 'available'
            FROM track t JOIN media m ON m.id = t.media_id WHERE t.id = $1
        UNION ALL SELECT 'track', t.id, m.workspace_id, m.id, m.title, t.state
            FROM added_track t JOIN media m ON m.id = t.media_id WHERE t.id = $1
        UNION ALL SELECT 'upload', u.id, u.workspace_id, (SELECT m.id FROM media m WHERE m.id = u.id), u.title, u.state
            FROM upload u WHERE u.id = $1
        UNION ALL SELECT 'playlist', l.id, l.workspace_id, NULL, l.name, l.kind FROM playlist l WHERE l.id = $1
        UNION ALL SELECT 'signing_key', k.id, k.workspace_id, NULL, NULL, NULL
            FROM signing_key k WHERE k.workspace_id = $2 AND k.id = $1
        UNION ALL SELECT 'event', e.id, e.workspace_id, substr(e.subject, 7), e.kind,
            CASE WHEN EXISTS (SELECT 1 FROM media m WHERE m.id = substr(e.subject, 7)) THEN NULL
            ELSE coalesce((SELECT u.state FROM upload u WHERE u.id = substr(e.subject, 7) AND u.state <> 'completed'), 'deleted') END
            FROM event e WHERE e.id = $1";
}

/// An object that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundObject {
    /// Its kind.
    pub kind: FoundKind,
    /// Its id.
    pub id: String,
    /// The media that it belongs to, if that exists; of a media its own id. Of an event also a media that was
    /// deleted, whose events are still listed, and an upload without a media.
    pub media: Option<MediaId>,
    /// The title of that media or upload, the name of a playlist, the type of an event.
    pub title: Option<String>,
    /// The state of a media, a track or an upload, the policy of a playback ID, the kind of a playlist. Of an
    /// event without its media the state of an upload that did not complete, else `deleted`.
    pub state: Option<String>,
}

/// The kinds of objects that are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundKind {
    /// A media.
    Media,
    /// A playback ID of a media.
    PlaybackId,
    /// A track of the source of a media, or one that was added.
    Track,
    /// A direct upload.
    Upload,
    /// A playlist.
    Playlist,
    /// A signing key.
    SigningKey,
    /// An event.
    Event,
}

impl FoundKind {
    const ALL: [Self; 7] = [
        Self::Media,
        Self::PlaybackId,
        Self::Track,
        Self::Upload,
        Self::Playlist,
        Self::SigningKey,
        Self::Event,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Media => "media",
            Self::PlaybackId => "playback_id",
            Self::Track => "track",
            Self::Upload => "upload",
            Self::Playlist => "playlist",
            Self::SigningKey => "signing_key",
            Self::Event => "event",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Store {
    /// The objects of a workspace with this id, a media first. There may be several: an upload and its media
    /// share an id. `id`: in lower case.
    pub async fn objects_with_id(&self, workspace: WorkspaceId, id: &str) -> Result<Vec<FoundObject>, Error> {
        let rows = self.reader().await?.all(BY_ID, values![id, workspace]).await?;
        let mut found = Vec::new();
        for row in &rows {
            if row.id::<WorkspaceId>("workspace_id")? == workspace {
                found.push(read(row)?);
            }
        }
        Ok(found)
    }
}

fn read(row: &Row) -> Result<FoundObject, Error> {
    Ok(FoundObject {
        kind: row.parsed("kind", FoundKind::from_name)?,
        id: row.text("id")?,
        media: row.id_or_none("media_id")?,
        title: row.text_or_none("title")?,
        state: row.text_or_none("state")?,
    })
}
