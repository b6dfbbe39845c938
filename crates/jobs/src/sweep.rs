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
/// Objects younger than that may belong to an attempt whose commit is still to come; longer than any attempt
/// (24 h) plus its lease.
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
            if is_swept(owner.is_some(), entry.modified, now) {
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

/// As [`sweep_kind`]; of a source that has no room left for pictures some go. Those of one source come one
/// after another.
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
    let owner = stored.count(context, source, bytes).await?;
    match pictures_verdict(owner.is_some(), kept, now) {
        PicturesVerdict::SweepSource => {
            tracing::info!(source.id = %source, "swept pictures that no media names");
            delete_objects::remove(context, source).await
        }
        PicturesVerdict::Delete(keys) => {
            for key in keys {
                context.blob.delete(key).await?;
            }
            Ok(())
        }
    }
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
            let is_held = context.store.is_held_by_upload(source).await?;
            if is_held {
                stored.count(context, source, entry.len).await?;
            }
            if !is_swept(is_held, entry.modified, now) {
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

/// Objects of renditions without a row are removed, and what is kept of the others is counted: who was killed
/// had not written down what it made. Those of one rendition come one after another, so each is looked up
/// once.
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
            if is_swept(counted.row.is_some(), entry.modified, now) {
                context.blob.delete(entry.key).await?;
            }
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return put_right(context, current, now).await;
        }
    }
}

/// Whether an object that was written at `modified` is deleted. `is_named`: a row names what it belongs to.
fn is_swept(is_named: bool, modified: Timestamp, now: Timestamp) -> bool {
    !is_named && now.micros_since(modified) >= YOUNGEST_SWEPT_US
}

/// What is deleted of the pictures of one source.
#[derive(Debug, PartialEq, Eq)]
enum PicturesVerdict {
    /// All objects of the source.
    SweepSource,
    /// These pictures.
    Delete(Vec<ObjectKey>),
}

/// `kept` are all pictures of the source. `is_named`: a row names the source.
fn pictures_verdict(is_named: bool, kept: Vec<Entry>, now: Timestamp) -> PicturesVerdict {
    if kept.iter().any(|entry| is_swept(is_named, entry.modified, now)) {
        return PicturesVerdict::SweepSource;
    }
    // Those without a row are too young: their row may still come.
    PicturesVerdict::Delete(if is_named { surplus_pictures(kept) } else { Vec::new() })
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

    /// Whether the row is wrong about it. Not while something is being made, of which some may be counted
    /// already.
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

#[cfg(test)]
mod tests {
    use kinora_blob::{CheckId, PictureHash, PieceName};
    use kinora_domain::PresentationId;

    use super::*;
    use crate::fixture::{Zeros, at, rendition_id, rendition_row, source_id};

    const HOUR: i64 = 60 * 60;

    fn entry(key: ObjectKey, len: u64, modified_s: i64) -> Entry {
        Entry { key, len, modified: at(modified_s) }
    }

    fn picture(n: u16, len: u64, modified_s: i64) -> Entry {
        let mut hash = [0; 16];
        hash[..2].copy_from_slice(&n.to_be_bytes());
        entry(ObjectKey::Picture(PresentationId::of(source_id(1)), PictureHash(hash)), len, modified_s)
    }

    #[test]
    fn objects_without_a_row_are_swept_after_25_hours() {
        let check = |is_named: bool, age_us: i64, expected: bool| {
            let now = at(1_000_000);
            let modified = now.plus_micros(-age_us);
            assert_eq!(is_swept(is_named, modified, now), expected, "{is_named} {age_us}");
        };
        let limit = 25 * HOUR * Timestamp::SECOND;
        check(false, limit, true);
        check(false, 100 * limit, true);
        check(false, limit - 1, false);
        check(false, 0, false);
        check(false, -limit, false); // the clock of the store is ahead
        check(true, limit, false);
        check(true, 100 * limit, false);
    }

    #[test]
    fn sweep_age_exceeds_the_longest_attempt_and_its_lease() {
        let longest_attempt = kinora_fetch::Limits::default().total + crate::lease::LEASE;
        let youngest_swept = std::time::Duration::from_micros(YOUNGEST_SWEPT_US.unsigned_abs());
        assert!(youngest_swept > longest_attempt, "{youngest_swept:?} {longest_attempt:?}");
    }

    #[test]
    fn pictures_without_a_row_go_with_their_source_once_one_is_old() {
        let now = at(100 * HOUR);
        let (young, old) = (picture(1, 10, 75 * HOUR + 1), picture(2, 10, 75 * HOUR));
        let check = |is_named: bool, kept: &[&Entry], expected: PicturesVerdict| {
            let kept: Vec<_> = kept.iter().map(|entry| (*entry).clone()).collect();
            assert_eq!(pictures_verdict(is_named, kept.clone(), now), expected, "{is_named} {kept:?}");
        };
        check(false, &[&young, &old], PicturesVerdict::SweepSource);
        check(false, &[&old], PicturesVerdict::SweepSource);
        check(false, &[&young], PicturesVerdict::Delete(Vec::new()));
        check(false, &[], PicturesVerdict::Delete(Vec::new()));
        check(true, &[&young, &old], PicturesVerdict::Delete(Vec::new()));
    }

    #[test]
    fn surplus_pictures_go_from_a_source_with_a_row_alone() {
        // One picture that fills the quota of its source.
        let (small, huge) = (picture(1, 10, 0), picture(2, 1 << 40, 0));
        let kept = vec![small, huge.clone()];
        assert_eq!(pictures_verdict(true, kept.clone(), at(0)), PicturesVerdict::Delete(vec![huge.key]));
        assert_eq!(pictures_verdict(false, kept, at(0)), PicturesVerdict::Delete(Vec::new()));
    }

    #[test]
    fn each_key_belongs_to_one_owner_at_most() {
        let (source, rendition) = (source_id(1), rendition_id());
        let piece = PieceName { lease: 1, start: 0 };
        let check = |key: ObjectKey, of_source: bool, of_growing: bool, of_rendition: bool| {
            let expected = (
                of_source.then_some(source),
                of_growing.then_some(source),
                of_rendition.then_some(rendition),
            );
            assert_eq!((source_of(key), growing_source_of(key), rendition_of(key)), expected, "{key:?}");
        };
        check(ObjectKey::Source(source), true, false, false);
        check(ObjectKey::Normalised(source), true, false, false);
        check(ObjectKey::Sound(source), true, false, false);
        check(ObjectKey::Index(PresentationId::of(source)), true, false, false);
        check(ObjectKey::Subtitle(source), true, false, false);
        check(ObjectKey::Picture(PresentationId::of(source), PictureHash([0; 16])), true, false, false);
        check(ObjectKey::Growing(source), false, true, false);
        check(ObjectKey::Piece(source, piece), false, true, false);
        check(ObjectKey::Checkpoint(source, 5), false, true, false);
        check(ObjectKey::Init(rendition), false, false, true);
        check(ObjectKey::Segment(rendition, 3), false, false, true);
        check(ObjectKey::DemoClip, false, false, false);
        check(ObjectKey::Owner, false, false, false);
        check(ObjectKey::Check(CheckId::new(&Zeros), 0), false, false, false);
    }

    fn row(bytes: u64, segments: u64) -> RenditionRow {
        RenditionRow { bytes, segments, ..rendition_row() }
    }

    #[test]
    fn counters_are_corrected_once_no_segment_was_made_for_a_minute() {
        let segment =
            |n: u32, len: u64, modified_s: i64| entry(ObjectKey::Segment(rendition_id(), n), len, modified_s);
        let check = |row: Option<RenditionRow>, listed: &[Entry], now_us: i64, expected: bool| {
            let mut counted = Counted::new(rendition_id(), row);
            listed.iter().for_each(|entry| counted.add(entry));
            let now = Timestamp::from_micros(now_us);
            assert_eq!(counted.is_wrong(now), expected, "{:?} {listed:?} {now_us}", counted.row);
        };
        let listed = [segment(0, 100, 10), segment(1, 50, 20), entry(ObjectKey::Init(rendition_id()), 7, 90)];
        let at_rest_us = 80 * Timestamp::SECOND + 1;
        check(Some(row(150, 2)), &listed, at_rest_us, false);
        check(Some(row(149, 2)), &listed, at_rest_us, true);
        check(Some(row(150, 3)), &listed, at_rest_us, true);
        check(Some(row(0, 0)), &listed, at_rest_us - 1, false); // the last one may not be counted yet
        check(None, &listed, at_rest_us, false);
        check(Some(row(150, 2)), &[], at_rest_us, false); // nothing was listed of it
    }
}
