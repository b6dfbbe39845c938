//! Removes what no row names, and rows that have served; and measures what workspaces have stored.

use kinora_blob::{Entry, ObjectKey, ObjectKind, Prefix};
use kinora_domain::{RenditionId, SourceId, Timestamp};
use kinora_packager::surplus_pictures;
use kinora_store::{ClaimedJob, JobKind, NewJob, Priority, RenditionRow, Tx};

use crate::Context;
use crate::delete_objects;
use crate::error::JobError;
use crate::ownership;
use crate::stored::Stored;

/// How often the whole store is looked through.
pub(crate) const SWEEP_EVERY_S: i64 = 60 * 60;
/// Objects younger than that may belong to an attempt whose commit is still to come; longer than any attempt (24 h) plus its lease.
const YOUNGEST_SWEPT_US: i64 = 25 * 60 * 60 * Timestamp::SECOND;
/// How long it takes at most until it is written down that a segment was made; it is done every 10 s.
const COUNTED_WITHIN_US: i64 = 60 * Timestamp::SECOND;
/// Objects a page.
const PAGE: usize = 1000;
/// Rows a page.
const ROWS: u32 = 500;

/// Looks through the store once and asks for the next time. May run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob) -> Result<(), JobError> {
    let now = context.clock.now();
    ownership::claim(&context.store, &context.blob).await?;
    let mut stored = Stored::default();
    for kind in [
        ObjectKind::Source,
        ObjectKind::Normalised,
        ObjectKind::Sound,
        ObjectKind::Index,
        ObjectKind::Subtitle,
    ] {
        sweep_kind(context, kind, now, &mut stored).await?;
    }
    sweep_pictures(context, now, &mut stored).await?;
    for kind in [ObjectKind::Growing, ObjectKind::Piece, ObjectKind::Checkpoint] {
        sweep_growing(context, kind, now, &mut stored).await?;
    }
    sweep_rendition_rows(context).await?;
    for kind in [ObjectKind::Segment, ObjectKind::Init] {
        sweep_rendition_objects(context, kind, now, &mut stored).await?;
    }
    stored.write(context, now).await?;
    context.blob.sweep_temporary(now).await?;
    context.store.prune(now).await?;
    let job = job.clone();
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let next = now.plus_seconds(SWEEP_EVERY_S);
            // Once: several processes that start together may each have asked for one.
            let again =
                NewJob { kind: JobKind::Sweep, workspace: None, run_at: next, priority: Priority::Low };
            tx.enqueue_once(again).await?;
            Ok::<_, JobError>(())
        })
        .await
}

async fn sweep_kind(
    context: &Context,
    kind: ObjectKind,
    now: Timestamp,
    stored: &mut Stored,
) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let page = context.blob.list(Prefix::Kind(kind), after, PAGE).await?;
        for entry in &page {
            let Some(source) = source_of(entry.key) else { continue };
            let owner = stored.count(context, source, entry.len).await?;
            if owner.is_none() && now.micros_since(entry.modified) >= YOUNGEST_SWEPT_US {
                tracing::info!(source.id = %source, "swept objects that no media names");
                delete_objects::remove(context, source).await?;
            }
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

/// As [`sweep_kind`]; of a source that has no room left for pictures some go. Those of one source come one after another.
async fn sweep_pictures(context: &Context, now: Timestamp, stored: &mut Stored) -> Result<(), JobError> {
    let (mut after, mut current) = (None, None::<(SourceId, Vec<Entry>)>);
    loop {
        let page = context.blob.list(Prefix::Kind(ObjectKind::Picture), after, PAGE).await?;
        for entry in &page {
            let Some(source) = source_of(entry.key) else { continue };
            if current.as_ref().is_none_or(|(of, _)| *of != source) {
                let before = current.replace((source, Vec::new()));
                settle_pictures(context, before, now, stored).await?;
            }
            if let Some((_, kept)) = &mut current {
                kept.push(entry.clone());
            }
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return settle_pictures(context, current, now, stored).await;
        }
    }
}

async fn settle_pictures(
    context: &Context,
    of_source: Option<(SourceId, Vec<Entry>)>,
    now: Timestamp,
    stored: &mut Stored,
) -> Result<(), JobError> {
    let Some((source, kept)) = of_source else { return Ok(()) };
    let bytes = kept.iter().map(|entry| entry.len).fold(0, u64::saturating_add);
    if stored.count(context, source, bytes).await?.is_none() {
        if kept.iter().any(|entry| now.micros_since(entry.modified) >= YOUNGEST_SWEPT_US) {
            tracing::info!(source.id = %source, "swept pictures that no media names");
            delete_objects::remove(context, source).await?;
        }
        return Ok(());
    }
    for key in surplus_pictures(kept) {
        context.blob.delete(key).await?;
    }
    Ok(())
}

/// What uploads that have ended left behind: their process was killed, or was still writing.
async fn sweep_growing(
    context: &Context,
    kind: ObjectKind,
    now: Timestamp,
    stored: &mut Stored,
) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let page = context.blob.list(Prefix::Kind(kind), after, PAGE).await?;
        for entry in &page {
            let Some(source) = growing_source_of(entry.key) else { continue };
            if context.store.is_held_by_upload(source).await? {
                stored.count(context, source, entry.len).await?;
                continue;
            }
            if now.micros_since(entry.modified) < YOUNGEST_SWEPT_US {
                continue;
            }
            tracing::info!(source.id = %source, "swept what an upload left behind");
            // The upload in parts is in the row of the upload, and goes with it.
            context.blob.discard_growing(source, None).await?;
            context.blob.delete_checkpoints(source).await?;
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

/// Renditions whose media was deleted while something of them was begun.
async fn sweep_rendition_rows(context: &Context) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let page = context.store.renditions_without_media(after, ROWS).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for row in page {
            tracing::info!(rendition.id = %row.id, "swept a rendition that no media names");
            delete_objects::remove_rendition(context, row.id).await?;
        }
    }
}

/// Objects of renditions without a row are removed, and what is kept of the others is counted: who was killed had not written down
/// what it made. Those of one rendition come one after another, so each is looked up once.
async fn sweep_rendition_objects(
    context: &Context,
    kind: ObjectKind,
    now: Timestamp,
    stored: &mut Stored,
) -> Result<(), JobError> {
    let (mut after, mut current) = (None, None::<Counted>);
    loop {
        let page = context.blob.list(Prefix::Kind(kind), after, PAGE).await?;
        for entry in &page {
            let Some(id) = rendition_of(entry.key) else { continue };
            let counted = match current.take() {
                Some(counted) if counted.id == id => current.insert(counted),
                before => {
                    put_right(context, before, now).await?;
                    current.insert(Counted::new(id, context.store.rendition(id).await?))
                }
            };
            counted.add(entry);
            if let Some(row) = &counted.row {
                stored.count(context, row.presentation.whole_source(), entry.len).await?;
            }
            if counted.row.is_none() && now.micros_since(entry.modified) >= YOUNGEST_SWEPT_US {
                context.blob.delete(entry.key).await?;
            }
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return put_right(context, current, now).await;
        }
    }
}

/// What is kept of a rendition, as far as it was listed.
struct Counted {
    id: RenditionId,
    row: Option<RenditionRow>,
    bytes: u64,
    segments: u64,
    youngest: Option<Timestamp>,
}

impl Counted {
    fn new(id: RenditionId, row: Option<RenditionRow>) -> Self {
        Self { id, row, bytes: 0, segments: 0, youngest: None }
    }

    fn add(&mut self, entry: &Entry) {
        if let ObjectKey::Segment(..) = entry.key {
            self.bytes = self.bytes.saturating_add(entry.len);
            self.segments = self.segments.saturating_add(1);
            self.youngest = self.youngest.max(Some(entry.modified));
        }
    }

    /// Whether the row is wrong about it. Not while something is being made, of which some may be counted already.
    fn is_wrong(&self, now: Timestamp) -> bool {
        let is_at_rest = self.youngest.is_some_and(|made| now.micros_since(made) > COUNTED_WITHIN_US);
        let differs = |row: &RenditionRow| (row.bytes, row.segments) != (self.bytes, self.segments);
        is_at_rest && self.row.as_ref().is_some_and(differs)
    }
}

async fn put_right(context: &Context, counted: Option<Counted>, now: Timestamp) -> Result<(), JobError> {
    if let Some(Counted { id, bytes, segments, .. }) = counted.filter(|counted| counted.is_wrong(now)) {
        let set = async move |tx: &mut Tx| tx.set_rendition_counted(id, bytes, segments).await;
        context.store.write(set).await?;
    }
    Ok(())
}

fn source_of(key: ObjectKey) -> Option<SourceId> {
    match key {
        ObjectKey::Source(source)
        | ObjectKey::Normalised(source)
        | ObjectKey::Sound(source)
        | ObjectKey::Subtitle(source) => Some(source),
        ObjectKey::Index(presentation) | ObjectKey::Picture(presentation, _) => {
            Some(presentation.whole_source())
        }
        ObjectKey::Init(_)
        | ObjectKey::Segment(..)
        | ObjectKey::Growing(_)
        | ObjectKey::Piece(..)
        | ObjectKey::Checkpoint(..)
        | ObjectKey::DemoClip
        | ObjectKey::Owner
        | ObjectKey::Check(..) => None,
    }
}

fn growing_source_of(key: ObjectKey) -> Option<SourceId> {
    match key {
        ObjectKey::Growing(source) | ObjectKey::Piece(source, _) | ObjectKey::Checkpoint(source, _) => {
            Some(source)
        }
        _ => None,
    }
}

fn rendition_of(key: ObjectKey) -> Option<RenditionId> {
    match key {
        ObjectKey::Init(rendition) | ObjectKey::Segment(rendition, _) => Some(rendition),
        _ => None,
    }
}
