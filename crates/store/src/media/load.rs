//! Reads media: one statement for the media of a selection, and one for each kind of their further rows.

use std::collections::HashMap;

use kinora_domain::{Media, MediaId, MediaState, WorkspaceId};

use super::{added_tracks, columns};
use crate::sql::{Row, Session, Statement, Value, values};
use crate::{Error, List, Position};

/// The statements that read the media of a selection. All take the same values.
#[derive(Clone, Copy)]
pub(crate) struct Selection {
    media: Statement,
    inputs: Statement,
    playback: Statement,
    added: Statement,
    tracks: Statement,
    broken: Statement,
}

/// Declares selections by the statement that selects the ids of their media.
macro_rules! selections {
    ($($(#[$doc:meta])* $name:ident = $ids:literal;)*) => {
        $(
            $(#[$doc])*
            pub(crate) const $name: Selection = Selection {
                media: Statement::new(concat!(
                    "SELECT id, workspace_id, title, creator_id, metadata, max_resolution, quality, source_access,
                     optimize_audio, mp4_support, state, state_at, source_id, failure_code, failure_message, duration_us,
                     source_resolution, aspect_width, aspect_height, is_truncated, does_not_decode, container, rungs, left_out, sound_edit, edit,
                     clip_of_id, clip_of_source_id, original_id, base_ranges, watermark, loudness, created_at, updated_at,
                     version, thumbnail_ms, blur_hash, blur_hash_source_id, blur_hash_ms
                     FROM media WHERE id IN (", $ids, ") ORDER BY created_at, id"
                )),
                inputs: Statement::new(concat!(
                    "SELECT media_id, id, url FROM input WHERE media_id IN (", $ids, ") ORDER BY media_id, position"
                )),
                playback: Statement::new(concat!(
                    "SELECT media_id, id, policy, restrictions, resolution, encryption, generation, created_at
                     FROM playback_id WHERE media_id IN (", $ids, ") ORDER BY media_id, position"
                )),
                added: Statement::new(concat!(
                    "SELECT media_id, id, kind, url, language_code, language_name, state, source_id, failure_code, failure_message, is_on_base, cut_from_id
                     FROM added_track WHERE media_id IN (", $ids, ") ORDER BY media_id, position"
                )),
                tracks: Statement::new(concat!(
                    "SELECT media_id, id, kind, width, height, frame_rate_numerator, frame_rate_denominator,
                     language_code, language_name, not_copied_reason, not_copied_detail, is_encoded
                     FROM track WHERE media_id IN (", $ids, ") ORDER BY media_id, position"
                )),
                broken: Statement::new(concat!(
                    "SELECT media.id AS media_id, rendition.name
                     FROM media JOIN rendition ON rendition.presentation_id = media.source_id
                     WHERE rendition.broken_at IS NOT NULL AND rendition.name NOT LIKE '% whole' AND media.id IN (", $ids, ") ORDER BY media.id, rendition.name"
                )),
            };
        )*

        #[cfg(test)]
        pub(crate) const STATEMENTS: &[&[Statement]] =
            &[$(&[$name.media, $name.inputs, $name.playback, $name.added, $name.tracks, $name.broken]),*];
    };
}

selections! {
    BY_ID = "SELECT id FROM media WHERE id = $1";
    IN_WORKSPACE = "SELECT id FROM media WHERE id = $1 AND workspace_id = $2";
    BY_PLAYBACK = "SELECT media_id FROM playback_id WHERE id = $1";
    BY_SOURCE = "SELECT id FROM media WHERE source_id = $1";
    /// The media between two positions, both included. Selected by a range, not by a list of keys, because
    /// the statement of a range is the same for every length.
    RANGE = "SELECT id FROM media WHERE workspace_id = $1 AND (created_at, id) >= ($2, $3) AND (created_at, id) <= ($4, $5)";
    /// A fixed number of ids; fewer ids are padded with the first one.
    BY_IDS = "SELECT id FROM media WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45,
        $46, $47, $48, $49, $50)";
}

/// The number of values of [`BY_IDS`].
const IDS_AT_ONCE: usize = 50;

/// The only media of a selection.
pub(super) async fn one(
    session: &mut Session,
    selection: Selection,
    values: Vec<Value>,
) -> Result<Option<Media>, Error> {
    Ok(many(session, selection, values).await?.into_iter().next())
}

/// The media of a selection, oldest first. All reads of the session must see one snapshot.
pub(crate) async fn many(
    session: &mut Session,
    selection: Selection,
    values: Vec<Value>,
) -> Result<Vec<Media>, Error> {
    let rows = session.all(selection.media, values.clone()).await?;
    let mut list = rows.iter().map(columns::read_media).collect::<Result<Vec<_>, _>>()?;
    if list.is_empty() {
        return Ok(list);
    }
    let mut inputs =
        group_by_media(session.all(selection.inputs, values.clone()).await?, columns::read_input)?;
    let mut playback =
        group_by_media(session.all(selection.playback, values.clone()).await?, columns::read_playback)?;
    let mut added = group_by_media(session.all(selection.added, values.clone()).await?, added_tracks::read)?;
    let (mut tracks, mut broken) = (HashMap::new(), HashMap::new());
    if list.iter().any(|media| matches!(media.state, MediaState::Ready { .. })) {
        tracks = group_by_media(session.all(selection.tracks, values.clone()).await?, columns::read_track)?;
        broken = group_by_media(session.all(selection.broken, values).await?, columns::read_broken)?;
    }
    for media in &mut list {
        media.inputs = inputs.remove(&media.id).unwrap_or_default();
        media.playback_ids = playback.remove(&media.id).unwrap_or_default();
        media.added_tracks = added.remove(&media.id).unwrap_or_default();
        if let MediaState::Ready { facts, .. } = &mut media.state {
            facts.tracks = tracks.remove(&media.id).unwrap_or_default();
            facts.broken_renditions = broken.remove(&media.id).unwrap_or_default();
        }
    }
    Ok(list)
}

/// The media of these ids, in their order, without the missing ones. Every id must be unique. All reads of
/// the session must see one snapshot.
pub(crate) async fn by_ids(session: &mut Session, ids: &[MediaId]) -> Result<Vec<Media>, Error> {
    let mut found = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(IDS_AT_ONCE) {
        let padded = chunk.iter().chain(chunk.first().into_iter().cycle());
        let values = padded.take(IDS_AT_ONCE).map(|id| Value::from(*id)).collect();
        found.extend(many(session, BY_IDS, values).await?.into_iter().map(|media| (media.id, media)));
    }
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// The media at these positions, in this order. `is_gapless`: the workspace has no other media between the
/// first one and the last.
pub(super) async fn list(
    session: &mut Session,
    workspace: WorkspaceId,
    list: List<Position>,
    newest_first: bool,
    is_gapless: bool,
) -> Result<List<Media>, Error> {
    // PostgreSQL cannot estimate how few media are between two of them, and scans the other tables whole.
    let media = if is_gapless && !session.is_postgres() {
        let mut ends = [list.items.first(), list.items.last()];
        if newest_first {
            ends.reverse();
        }
        let [Some(first), Some(last)] = ends else { return Ok(list.replace_items(Vec::new())) };
        let mut range = values![workspace];
        for end in [first, last] {
            range.extend(values![end.created_at(), MediaId::from_uuid(end.id())]);
        }
        let mut media = many(session, RANGE, range).await?;
        if newest_first {
            media.reverse();
        }
        media
    } else {
        let ids: Vec<MediaId> = list.items.iter().map(|position| MediaId::from_uuid(position.id())).collect();
        by_ids(session, &ids).await?
    };
    Ok(list.replace_items(media))
}

/// Groups further rows by their media; each group keeps its order.
fn group_by_media<T>(
    rows: Vec<Row>,
    read: fn(&Row) -> Result<T, Error>,
) -> Result<HashMap<MediaId, Vec<T>>, Error> {
    let mut parts: HashMap<MediaId, Vec<T>> = HashMap::new();
    for row in rows {
        parts.entry(row.id("media_id")?).or_default().push(read(&row)?);
    }
    Ok(parts)
}
