//! Deletes objects without a row, and expired rows; and measures the storage of workspaces.

use kinora_blob::{Entry, ObjectKey, ObjectKind, Prefix};
use kinora_domain::{RenditionId, SourceId, Timestamp};
use kinora_packager::images_over_quota;
use kinora_store::{ClaimedJob, JobKind, NewJob, Priority, RenditionRow, Tx};

use crate::Context;
use crate::delete_objects;
use crate::error::JobError;
use crate::ownership;
use crate::storage_usage::StorageUsage;

/// Interval between sweeps of the whole store.
pub(crate) const SWEEP_EVERY_S: i64 = 60 * 60;
/// Minimum age of an object for its deletion, because the commit of its attempt may still follow. Longer
/// than any attempt (24 h) plus its lease.
const SWEEP_AGE_MIN_US: i64 = 25 * 60 * 60 * Timestamp::SECOND;
/// Upper limit of the delay until a new segment is counted in its row; the flush runs every 10 s.
const COUNTER_DELAY_MAX_US: i64 = 60 * Timestamp::SECOND;
/// Page size in objects.
const PAGE: usize = 1000;
/// Page size in rows.
const ROWS: u32 = 500;

/// Sweeps the store once and queues the next sweep. May run twice.
pub(crate) async fn run(context: &Context, job: &ClaimedJob) -> Result<(), JobError> {
    let now = context.clock.now();
    ownership::claim(&context.store, &context.blob).await?;
    let mut usage = StorageUsage::default();
    for kind in [
        ObjectKind::Source,
        ObjectKind::Normalised,
        ObjectKind::Audio,
        ObjectKind::Index,
        ObjectKind::Subtitle,
    ] {
        sweep_kind(context, kind, now, &mut usage).await?;
    }
    sweep_images(context, now, &mut usage).await?;
    for kind in [ObjectKind::Growing, ObjectKind::Piece, ObjectKind::Checkpoint] {
        sweep_unfinished_uploads(context, kind, now, &mut usage).await?;
    }
    sweep_rendition_rows(context).await?;
    for kind in [ObjectKind::Segment, ObjectKind::Init] {
        sweep_rendition_objects(context, kind, now, &mut usage).await?;
    }
    usage.write(context, now).await?;
    context.blob.sweep_temporary(now).await?;
    context.store.prune(now).await?;
    let job = job.clone();
    context
        .store
        .write(async move |tx| {
            tx.complete_job(&job).await?;
            let next = now.plus_seconds(SWEEP_EVERY_S);
            // Once: several processes that start together may each have queued one.
            let next_sweep =
                NewJob { kind: JobKind::Sweep, workspace: None, run_at: next, priority: Priority::Low };
            tx.enqueue_unique(next_sweep).await?;
            Ok::<_, JobError>(())
        })
        .await
}

async fn sweep_kind(
    context: &Context,
    kind: ObjectKind,
    now: Timestamp,
    usage: &mut StorageUsage,
) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let page = context.blob.list(Prefix::Kind(kind), after, PAGE).await?;
        for entry in &page {
            let Some(source) = source_of(entry.key) else { continue };
            let owner = usage.add_object(context, source, entry.len).await?;
            if is_swept(owner.is_some(), entry.modified, now) {
                tracing::info!(source.id = %source, "swept objects without a media");
                delete_objects::remove(context, source).await?;
            }
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

/// As [`sweep_kind`]; also deletes surplus images of a source over its quota. Images of one source are
/// listed consecutively.
async fn sweep_images(context: &Context, now: Timestamp, usage: &mut StorageUsage) -> Result<(), JobError> {
    let (mut after, mut current) = (None, None::<(SourceId, Vec<Entry>)>);
    loop {
        let page = context.blob.list(Prefix::Kind(ObjectKind::Image), after, PAGE).await?;
        for entry in &page {
            let Some(source) = source_of(entry.key) else { continue };
            if current.as_ref().is_none_or(|(current_source, _)| *current_source != source) {
                let before = current.replace((source, Vec::new()));
                delete_images(context, before, now, usage).await?;
            }
            if let Some((_, images)) = &mut current {
                images.push(entry.clone());
            }
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return delete_images(context, current, now, usage).await;
        }
    }
}

async fn delete_images(
    context: &Context,
    source_images: Option<(SourceId, Vec<Entry>)>,
    now: Timestamp,
    usage: &mut StorageUsage,
) -> Result<(), JobError> {
    let Some((source, images)) = source_images else { return Ok(()) };
    let bytes = images.iter().map(|entry| entry.len).fold(0, u64::saturating_add);
    let owner = usage.add_object(context, source, bytes).await?;
    match image_sweep(owner.is_some(), images, now) {
        ImageSweep::SweepSource => {
            tracing::info!(source.id = %source, "swept thumbnails without a media");
            delete_objects::remove(context, source).await
        }
        ImageSweep::Delete(keys) => {
            for key in keys {
                context.blob.delete(key).await?;
            }
            Ok(())
        }
    }
}

/// Deletes remains of ended uploads: their process was killed, or was still writing.
async fn sweep_unfinished_uploads(
    context: &Context,
    kind: ObjectKind,
    now: Timestamp,
    usage: &mut StorageUsage,
) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let page = context.blob.list(Prefix::Kind(kind), after, PAGE).await?;
        for entry in &page {
            let Some(source) = growing_source_of(entry.key) else { continue };
            let is_in_use = context.store.is_source_of_upload(source).await?;
            if is_in_use {
                usage.add_object(context, source, entry.len).await?;
            }
            if !is_swept(is_in_use, entry.modified, now) {
                continue;
            }
            tracing::info!(source.id = %source, "swept the objects of an ended upload");
            // The multipart upload is in the row of the upload, and is deleted with it.
            context.blob.discard_growing(source, None).await?;
            context.blob.delete_checkpoints(source).await?;
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

/// Deletes rendition rows whose media was deleted while one of their segments was started.
async fn sweep_rendition_rows(context: &Context) -> Result<(), JobError> {
    let mut after = None;
    loop {
        let page = context.store.renditions_without_media(after, ROWS).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for row in page {
            tracing::info!(rendition.id = %row.id, "swept a rendition without a media");
            delete_objects::remove_rendition(context, row.id).await?;
        }
    }
}

/// Deletes objects of renditions without a row, and corrects the counters of the others: a killed process
/// had not saved them. Objects of one rendition are listed consecutively, so each is looked up once.
async fn sweep_rendition_objects(
    context: &Context,
    kind: ObjectKind,
    now: Timestamp,
    usage: &mut StorageUsage,
) -> Result<(), JobError> {
    let (mut after, mut current) = (None, None::<RenditionCount>);
    loop {
        let page = context.blob.list(Prefix::Kind(kind), after, PAGE).await?;
        for entry in &page {
            let Some(id) = rendition_of(entry.key) else { continue };
            let counted = match current.take() {
                Some(counted) if counted.id == id => current.insert(counted),
                before => {
                    correct_counters(context, before, now).await?;
                    current.insert(RenditionCount::new(id, context.store.rendition(id).await?))
                }
            };
            counted.add(entry);
            if let Some(row) = &counted.row {
                usage.add_object(context, row.presentation.whole_source(), entry.len).await?;
            }
            if is_swept(counted.row.is_some(), entry.modified, now) {
                context.blob.delete(entry.key).await?;
            }
        }
        after = page.last().map(|entry| entry.key);
        if page.len() < PAGE {
            return correct_counters(context, current, now).await;
        }
    }
}

/// Whether an object that was written at `modified` is deleted. `has_row`: its owner has a row.
fn is_swept(has_row: bool, modified: Timestamp, now: Timestamp) -> bool {
    !has_row && now.micros_since(modified) >= SWEEP_AGE_MIN_US
}

/// The images of one source to delete.
#[derive(Debug, PartialEq, Eq)]
enum ImageSweep {
    /// All objects of the source.
    SweepSource,
    /// These images.
    Delete(Vec<ObjectKey>),
}

/// `images` are all images of the source. `has_row`: a row refers to the source.
fn image_sweep(has_row: bool, images: Vec<Entry>, now: Timestamp) -> ImageSweep {
    if images.iter().any(|entry| is_swept(has_row, entry.modified, now)) {
        return ImageSweep::SweepSource;
    }
    // Images without a row are too young: their row may still follow.
    ImageSweep::Delete(if has_row { images_over_quota(images) } else { Vec::new() })
}

/// The stored objects of a rendition, as far as they were listed.
struct RenditionCount {
    id: RenditionId,
    row: Option<RenditionRow>,
    bytes: u64,
    segments: u64,
    youngest: Option<Timestamp>,
}

impl RenditionCount {
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

    /// Whether the counters of the row are wrong. `false` while a segment may still be in progress, because
    /// it may be counted already.
    fn has_wrong_counters(&self, now: Timestamp) -> bool {
        let is_at_rest = self.youngest.is_some_and(|made| now.micros_since(made) > COUNTER_DELAY_MAX_US);
        let differs = |row: &RenditionRow| (row.bytes, row.segments) != (self.bytes, self.segments);
        is_at_rest && self.row.as_ref().is_some_and(differs)
    }
}

async fn correct_counters(
    context: &Context,
    counted: Option<RenditionCount>,
    now: Timestamp,
) -> Result<(), JobError> {
    if let Some(RenditionCount { id, bytes, segments, .. }) =
        counted.filter(|counted| counted.has_wrong_counters(now))
    {
        let set = async move |tx: &mut Tx| tx.correct_rendition_counts(id, bytes, segments).await;
        context.store.write(set).await?;
    }
    Ok(())
}

fn source_of(key: ObjectKey) -> Option<SourceId> {
    match key {
        ObjectKey::Source(source)
        | ObjectKey::Normalised(source)
        | ObjectKey::Audio(source)
        | ObjectKey::Subtitle(source) => Some(source),
        ObjectKey::Index(presentation) | ObjectKey::Image(presentation, _) => {
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
    use kinora_blob::{CheckId, ImageHash, PieceName};
    use kinora_domain::PresentationId;

    use super::*;
    use crate::fixture::{Zeros, at, rendition_id, rendition_row, source_id};

    const HOUR: i64 = 60 * 60;

    fn entry(key: ObjectKey, len: u64, modified_s: i64) -> Entry {
        Entry { key, len, modified: at(modified_s) }
    }

    fn image_entry(n: u16, len: u64, modified_s: i64) -> Entry {
        let mut hash = [0; 16];
        hash[..2].copy_from_slice(&n.to_be_bytes());
        entry(ObjectKey::Image(PresentationId::of(source_id(1)), ImageHash(hash)), len, modified_s)
    }

    #[test]
    fn objects_without_a_row_are_swept_after_25_hours() {
        let check = |has_row: bool, age_us: i64, expected: bool| {
            let now = at(1_000_000);
            let modified = now.plus_micros(-age_us);
            assert_eq!(is_swept(has_row, modified, now), expected, "{has_row} {age_us}");
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
        let longest_attempt = kinora_fetch::Limits::default().total_timeout + crate::lease::LEASE;
        let youngest_swept = std::time::Duration::from_micros(SWEEP_AGE_MIN_US.unsigned_abs());
        assert!(youngest_swept > longest_attempt, "{youngest_swept:?} {longest_attempt:?}");
    }

    #[test]
    fn images_without_a_row_are_swept_with_source() {
        let now = at(100 * HOUR);
        let (young, old) = (image_entry(1, 10, 75 * HOUR + 1), image_entry(2, 10, 75 * HOUR));
        let check = |has_row: bool, images: &[&Entry], expected: ImageSweep| {
            let cloned_images: Vec<_> = images.iter().map(|entry| (*entry).clone()).collect();
            assert_eq!(
                image_sweep(has_row, cloned_images.clone(), now),
                expected,
                "{has_row} {cloned_images:?}"
            );
        };
        check(false, &[&young, &old], ImageSweep::SweepSource);
        check(false, &[&old], ImageSweep::SweepSource);
        check(false, &[&young], ImageSweep::Delete(Vec::new()));
        check(false, &[], ImageSweep::Delete(Vec::new()));
        check(true, &[&young, &old], ImageSweep::Delete(Vec::new()));
    }

    #[test]
    fn images_over_quota_are_swept() {
        // One image that fills the quota of its source.
        let (small, huge) = (image_entry(1, 10, 0), image_entry(2, 1 << 40, 0));
        let images = vec![small, huge.clone()];
        assert_eq!(image_sweep(true, images.clone(), at(0)), ImageSweep::Delete(vec![huge.key]));
        assert_eq!(image_sweep(false, images, at(0)), ImageSweep::Delete(Vec::new()));
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
        check(ObjectKey::Audio(source), true, false, false);
        check(ObjectKey::Index(PresentationId::of(source)), true, false, false);
        check(ObjectKey::Subtitle(source), true, false, false);
        check(ObjectKey::Image(PresentationId::of(source), ImageHash([0; 16])), true, false, false);
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
    fn counters_are_corrected_after_a_minute_without_new_segments() {
        let segment =
            |n: u32, len: u64, modified_s: i64| entry(ObjectKey::Segment(rendition_id(), n), len, modified_s);
        let check = |row: Option<RenditionRow>, listed: &[Entry], now_us: i64, expected: bool| {
            let mut counted = RenditionCount::new(rendition_id(), row);
            listed.iter().for_each(|entry| counted.add(entry));
            let now = Timestamp::from_micros(now_us);
            assert_eq!(counted.has_wrong_counters(now), expected, "{:?} {listed:?} {now_us}", counted.row);
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
