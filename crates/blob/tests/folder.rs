//! The promises of the store, kept by a real folder.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::TryStreamExt;
use kinora_blob::{
    Blob, Error, FaultAction, Faults, ObjectKey, ObjectKind, PictureHash, Prefix, PutOutcome, READ_MAX,
    WriteKind, WriteOp,
};
use kinora_domain::{RenditionId, SourceId};
use tempfile::TempDir;
use uuid::Uuid;

const MIB: usize = 1 << 20;

fn source(n: u128) -> SourceId {
    SourceId::from_uuid(Uuid::from_u128(n))
}

fn rendition(n: u128) -> RenditionId {
    RenditionId::from_uuid(Uuid::from_u128(n))
}

fn segment(of: u128, n: u32) -> ObjectKey {
    ObjectKey::Segment(rendition(of), n)
}

/// Bytes that differ at every place of interest.
fn noise(len: usize) -> Bytes {
    (0..len).map(|at| u8::try_from((at ^ (at >> 8) ^ (at >> 16)) & 0xff).unwrap()).collect()
}

struct World {
    folder: TempDir,
    blob: Blob,
}

impl World {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let blob = Blob::open_folder(folder.path().join("objects")).await.unwrap();
        Self { folder, blob }
    }

    /// The same folder after the process has died.
    async fn restart(&mut self) {
        self.blob = Blob::open_folder(self.root()).await.unwrap();
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    /// The names of all files, below the root.
    fn files(&self) -> BTreeSet<String> {
        fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { collect(&path, files) } else { files.push(path) }
            }
        }
        let mut files = Vec::new();
        collect(&self.root(), &mut files);
        files
            .iter()
            .map(|path| path.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned())
            .collect()
    }

    fn faulty(&self, decide: impl Fn(WriteOp) -> FaultAction + Send + Sync + 'static) -> Blob {
        self.blob.clone().with_faults(Arc::new(Faults::new(decide)))
    }

    async fn list(&self, prefix: Prefix) -> Vec<String> {
        let entries = self.blob.list(prefix, None, 100).await.unwrap();
        entries.iter().map(|entry| entry.key.to_string()).collect()
    }
}

#[tokio::test]
async fn an_object_is_read_back_as_it_was_put() {
    let world = World::new().await;
    for (key, bytes) in [
        (ObjectKey::Source(source(1)), noise(3 * MIB + 17)),
        (ObjectKey::Index(source(1)), noise(1)),
        (ObjectKey::Init(rendition(2)), Bytes::new()),
        (segment(2, 0), noise(700)),
        (ObjectKey::Picture(source(1), PictureHash([7; 16])), noise(9)),
        (ObjectKey::DemoClip, noise(70_000)),
    ] {
        assert!(world.blob.get(key).await.unwrap().is_none(), "{key}");
        assert_eq!(world.blob.put_once(key, bytes.clone()).await.unwrap(), PutOutcome::Written, "{key}");
        assert_eq!(world.blob.get(key).await.unwrap(), Some(bytes), "{key}");
        assert!(world.files().contains(&key.to_string()));
    }
    assert_eq!(world.files().len(), 6);
}

#[tokio::test]
async fn the_second_put_leaves_the_object_as_it_is() {
    let world = World::new().await;
    let key = segment(1, 1);
    assert_eq!(world.blob.put_once(key, "first".into()).await.unwrap(), PutOutcome::Written);
    assert_eq!(world.blob.put_once(key, "second".into()).await.unwrap(), PutOutcome::AlreadyThere);
    assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "first");
    assert_eq!(world.files(), [key.to_string()].into());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_writers_at_once_exactly_one_wins() {
    let world = World::new().await;
    for round in 0..20 {
        let key = segment(round, 0);
        let mut tasks = tokio::task::JoinSet::new();
        for n in 0..32 {
            let blob = world.blob.clone();
            tasks.spawn(async move {
                let bytes = Bytes::from(format!("writer {n}"));
                let outcome = blob.put_once(key, bytes.clone()).await.unwrap();
                let found = blob.get(key).await.unwrap().expect("somebody has written it");
                if outcome == PutOutcome::Written {
                    assert_eq!(found, bytes);
                }
                (outcome, found)
            });
        }
        let results = tasks.join_all().await;
        assert_eq!(results.iter().filter(|(outcome, _)| *outcome == PutOutcome::Written).count(), 1);
        assert!(results.iter().all(|(_, found)| *found == results[0].1));
    }
    assert_eq!(world.files().len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_comes_and_goes_loses_no_object() {
    let world = World::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    // All in the folder of one rendition, which goes with the last of them.
    for n in 0..8 {
        let blob = world.blob.clone();
        tasks.spawn(async move {
            for _ in 0..50 {
                assert_eq!(blob.put_once(segment(1, n), "x".into()).await.unwrap(), PutOutcome::Written);
                assert!(blob.delete(segment(1, n)).await.unwrap());
            }
            blob.put_once(segment(1, n), "kept".into()).await.unwrap();
        });
    }
    tasks.join_all().await;
    assert_eq!(world.files(), (0..8).map(|n| segment(1, n).to_string()).collect());
}

#[tokio::test]
async fn a_streamed_object_appears_when_it_is_finished() {
    for (pieces, piece) in [(0, 0), (1, 1), (3, 100), (10, MIB), (5000, 1000), (3, 20 * MIB), (1, 0)] {
        let world = World::new().await;
        let key = ObjectKey::Source(source(1));
        let bytes = noise(piece);
        let mut writer = world.blob.writer(key).await.unwrap();
        for n in 0..pieces {
            writer.write(bytes.clone()).await.unwrap();
            assert_eq!(writer.written(), ((n + 1) * piece) as u64);
            assert!(writer.synced() <= writer.written());
        }
        assert!(world.blob.reader(key).await.unwrap().is_none());

        let len = (pieces * piece) as u64;
        assert_eq!(writer.finish().await.unwrap(), len);
        let reader = world.blob.reader(key).await.unwrap().unwrap();
        assert_eq!(reader.len(), len);
        assert!(reader.read_at(0..len).await.unwrap() == bytes.repeat(pieces), "{pieces} pieces of {piece}");
        assert_eq!(world.files(), [key.to_string()].into());
    }
}

#[tokio::test]
async fn the_writer_never_gets_far_ahead_of_the_sync() {
    let world = World::new().await;
    let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    let bytes = noise(MIB);
    for _ in 0..160 {
        writer.write(bytes.clone()).await.unwrap();
        // 64 MiB not synced, and 2 MiB that are not in the file yet.
        assert!(writer.written() - writer.synced() <= 66 << 20);
    }
    assert!(writer.synced() > 0);
}

#[tokio::test]
async fn a_writer_that_is_dropped_leaves_nothing() {
    let world = World::new().await;
    for len in [0, 10, 5 * MIB] {
        let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
        writer.write(noise(len)).await.unwrap();
        assert_eq!(world.files().len(), 1);
        drop(writer);
        assert_eq!(world.files().len(), 0);
    }
}

#[tokio::test]
async fn finishing_under_a_taken_key_is_refused() {
    let world = World::new().await;
    let key = ObjectKey::Source(source(1));
    let mut writer = world.blob.writer(key).await.unwrap();
    writer.write("late".into()).await.unwrap();
    world.blob.put_once(key, "early".into()).await.unwrap();
    assert!(matches!(writer.finish().await, Err(Error::AlreadyThere(taken)) if taken == key));
    assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "early");
    assert_eq!(world.files(), [key.to_string()].into());
}

#[tokio::test]
async fn any_range_inside_the_object_can_be_read_and_no_other() {
    let world = World::new().await;
    let key = ObjectKey::Source(source(1));
    let bytes = noise(MIB);
    let end = MIB as u64;
    world.blob.put_once(key, bytes.clone()).await.unwrap();
    let reader = world.blob.reader(key).await.unwrap().unwrap();

    for range in [0..0, 0..1, 5..5, 1..end, end - 1..end, end..end, 262_143..262_145, 1..600_001] {
        let expected =
            bytes.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap());
        assert!(reader.read_at(range.clone()).await.unwrap() == expected, "{range:?}");
        let streamed: Vec<Bytes> = reader.stream(range.clone()).unwrap().try_collect().await.unwrap();
        assert!(streamed.concat() == expected, "{range:?}");
        assert!(streamed.iter().all(|piece| !piece.is_empty() && piece.len() <= 256 << 10), "{range:?}");
    }
    #[expect(clippy::reversed_empty_ranges, reason = "one of the refusals")]
    for range in [0..end + 1, end..end + 1, end + 1..end + 1, 2..1, 0..u64::MAX, u64::MAX..u64::MAX] {
        let refused = |error: Error| matches!(error, Error::OutOfRange { range: told, len } if told == range && len == end);
        assert!(refused(reader.read_at(range.clone()).await.unwrap_err()), "{range:?}");
        assert!(refused(reader.stream(range.clone()).err().unwrap()), "{range:?}");
        assert!(refused(reader.read_many(&[0..1, range.clone()]).await.unwrap_err()), "{range:?}");
    }
}

#[tokio::test]
async fn many_ranges_come_back_in_the_order_asked_for() {
    let world = World::new().await;
    let key = ObjectKey::Source(source(1));
    let bytes = noise(MIB);
    world.blob.put_once(key, bytes.clone()).await.unwrap();
    let reader = world.blob.reader(key).await.unwrap().unwrap();

    let lists: [&[Range<u64>]; 4] = [
        &[],
        &[0..10, 10..20, 500..501, 900_000..900_100],
        &[900_000..900_100, 0..10, 5..15, 5..5],
        &[0..1, 65_536..65_537, 131_073..131_074],
    ];
    for ranges in lists {
        let expected: Vec<Bytes> = ranges
            .iter()
            .map(|range| {
                bytes.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap())
            })
            .collect();
        assert!(reader.read_many(ranges).await.unwrap() == expected, "{ranges:?}");
    }
}

#[tokio::test]
async fn a_read_that_would_fill_the_memory_is_refused() {
    let world = World::new().await;
    let key = ObjectKey::Source(source(1));
    world.blob.put_once(key, Bytes::new()).await.unwrap();
    // A hole in a file takes no disk.
    let file = fs::File::options().write(true).open(world.root().join(key.to_string())).unwrap();
    file.set_len(READ_MAX * 3).unwrap();

    let reader = world.blob.reader(key).await.unwrap().unwrap();
    let too_long = |error: Error, expected: u64| matches!(error, Error::TooLong { len } if len == expected);
    assert!(too_long(reader.read_at(0..READ_MAX + 1).await.unwrap_err(), READ_MAX + 1));
    let halves = [0..READ_MAX / 2, READ_MAX..READ_MAX + READ_MAX / 2 + 1];
    assert!(too_long(reader.read_many(&halves).await.unwrap_err(), READ_MAX + 1));
    assert!(too_long(world.blob.get(key).await.unwrap_err(), READ_MAX * 3));
}

#[tokio::test]
async fn a_file_that_was_cut_short_by_somebody_else_is_an_error() {
    let world = World::new().await;
    let key = ObjectKey::Source(source(1));
    world.blob.put_once(key, noise(1000)).await.unwrap();
    let reader = world.blob.reader(key).await.unwrap().unwrap();
    fs::File::options().write(true).open(world.root().join(key.to_string())).unwrap().set_len(500).unwrap();
    assert!(matches!(reader.read_at(0..1000).await, Err(Error::Internal { .. })));
    assert_eq!(reader.read_at(0..500).await.unwrap(), noise(500));
}

#[tokio::test]
async fn a_deleted_object_is_gone_but_open_readers_go_on() {
    let world = World::new().await;
    let keys = [ObjectKey::Source(source(1)), segment(1, 0), segment(1, 1)];
    for key in keys {
        world.blob.put_once(key, "bytes".into()).await.unwrap();
    }
    for key in keys {
        let reader = world.blob.reader(key).await.unwrap().unwrap();
        assert!(world.blob.delete(key).await.unwrap());
        assert!(!world.blob.delete(key).await.unwrap());
        assert!(world.blob.reader(key).await.unwrap().is_none());
        assert_eq!(reader.read_at(0..5).await.unwrap(), "bytes");
        assert_eq!(world.blob.put_once(key, "again".into()).await.unwrap(), PutOutcome::Written);
        assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "again");
        assert!(world.blob.delete(key).await.unwrap());
    }
    assert_eq!(world.files().len(), 0);
    assert!(!world.root().join(Prefix::SegmentsOf(rendition(1)).to_string()).exists());
}

#[tokio::test]
async fn more_objects_than_open_files_can_be_read() {
    let world = World::new().await;
    for n in 0..400 {
        world.blob.put_once(segment(1, n), n.to_string().into()).await.unwrap();
    }
    for _ in 0..2 {
        for n in 0..400 {
            assert_eq!(world.blob.get(segment(1, n)).await.unwrap().unwrap(), n.to_string());
        }
    }
    let open = fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target.starts_with(world.root()))
        .count();
    // The cache drops the oldest in batches, so it may be a little over its bound for a moment.
    assert!((1..400).contains(&open), "{open} files are open");
}

#[tokio::test]
async fn listing_goes_page_by_page_and_sees_every_object_once() {
    let world = World::new().await;
    let mut expected = BTreeSet::new();
    for n in 0..30 {
        for key in [ObjectKey::Source(source(n * 37)), segment(n % 4, u32::try_from(n).unwrap())] {
            world.blob.put_once(key, noise(usize::try_from(n).unwrap())).await.unwrap();
            expected.insert(key.to_string());
        }
    }
    // What others have put there is not seen.
    fs::write(world.root().join("source/README"), "hands off").unwrap();
    fs::write(world.root().join("source/00/.hidden"), "").unwrap();
    fs::create_dir_all(world.root().join("segment/00/deep/er/and/deeper")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", world.root().join("source/00").join(source(0xf00).to_string()))
        .unwrap();

    for limit in [1, 2, 7, 30, 1000] {
        let mut seen = Vec::new();
        for kind in ObjectKind::ALL {
            let mut after = None;
            loop {
                let page = world.blob.list(Prefix::Kind(kind), after, limit).await.unwrap();
                assert!(page.len() <= limit);
                after = page.last().map(|entry| entry.key);
                let is_last = page.len() < limit;
                seen.extend(page);
                if is_last {
                    break;
                }
            }
        }
        let names: Vec<String> = seen.iter().map(|entry| entry.key.to_string()).collect();
        assert_eq!(names.len(), 60, "limit {limit}");
        assert_eq!(names.iter().cloned().collect::<BTreeSet<_>>(), expected);
        for kind in ["source/", "segment/"] {
            assert!(names.iter().filter(|name| name.starts_with(kind)).is_sorted());
        }
        for entry in &seen {
            let on_disk = fs::metadata(world.root().join(entry.key.to_string())).unwrap();
            assert_eq!(entry.len, on_disk.len());
            let modified = on_disk.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
            assert_eq!(i128::from(entry.modified.as_micros()), i128::try_from(modified.as_micros()).unwrap());
        }
    }
}

#[tokio::test]
async fn listing_can_be_bound_to_one_rendition_or_source() {
    let world = World::new().await;
    let picture = ObjectKey::Picture(source(1), PictureHash([1; 16]));
    for key in [segment(1, 0), segment(1, 10), segment(1, 9), segment(0x101, 1), picture] {
        world.blob.put_once(key, "x".into()).await.unwrap();
    }
    let names = |keys: &[ObjectKey]| keys.iter().map(ObjectKey::to_string).collect::<Vec<_>>();
    let of_one = Prefix::SegmentsOf(rendition(1));
    assert_eq!(world.list(of_one).await, names(&[segment(1, 0), segment(1, 10), segment(1, 9)]));
    assert_eq!(world.list(Prefix::SegmentsOf(rendition(0x101))).await, names(&[segment(0x101, 1)]));
    assert_eq!(world.list(Prefix::SegmentsOf(rendition(2))).await, names(&[]));
    assert_eq!(world.list(Prefix::PicturesOf(source(1))).await, names(&[picture]));

    // The key to go on from may be gone, or lie before or behind everything.
    let after = async |after| world.blob.list(of_one, Some(after), 100).await.unwrap().len();
    assert_eq!(after(segment(1, 1)).await, 2);
    assert_eq!(after(segment(1, 9)).await, 0);
    assert_eq!(after(picture).await, 3);
    assert_eq!(after(ObjectKey::Source(source(1))).await, 0);
    assert_eq!(world.blob.list(of_one, None, 0).await.unwrap(), []);
}

#[tokio::test]
async fn files_and_folders_are_closed_to_others() {
    let world = World::new().await;
    world.blob.put_once(segment(1, 0), "x".into()).await.unwrap();
    let mut writer = world.blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    writer.write("x".into()).await.unwrap();

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut unseen = vec![world.root()];
    let mut files = 0;
    while let Some(folder) = unseen.pop() {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                unseen.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert_eq!(files, 2);
}

#[tokio::test]
async fn the_free_space_is_that_of_the_volume() {
    let world = World::new().await;
    assert!(world.blob.free_space().await.unwrap().unwrap() > 0);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(matches!(Blob::open_folder(folder.path().join("file")).await, Err(Error::Internal { .. })));
    assert!(matches!(Blob::open_folder(folder.path().join("file/below")).await, Err(Error::Internal { .. })));
}

#[tokio::test]
async fn the_sweep_removes_what_a_crash_left_and_nothing_else() {
    let mut world = World::new().await;
    let dying = world.faulty(|op| match op.kind {
        WriteKind::Finish => FaultAction::Stop,
        _ => FaultAction::Proceed,
    });
    dying.put_once(segment(1, 0), "kept".into()).await.unwrap();
    let mut killed = dying.writer(ObjectKey::Source(source(1))).await.unwrap();
    killed.write(noise(3 * MIB)).await.unwrap();
    let other = dying.writer(ObjectKey::Source(source(2))).await.unwrap();
    assert!(matches!(killed.finish().await, Err(Error::Stopped)));
    drop(other);
    assert_eq!(world.files().len(), 3, "a crash removes nothing");

    world.restart().await;
    let mut at_work = world.blob.writer(ObjectKey::Source(source(3))).await.unwrap();
    at_work.write("x".into()).await.unwrap();
    assert_eq!(world.blob.sweep_temporary().await.unwrap(), 2);
    assert_eq!(world.blob.sweep_temporary().await.unwrap(), 0);
    at_work.finish().await.unwrap();
    let kept = [segment(1, 0).to_string(), ObjectKey::Source(source(3)).to_string()];
    assert_eq!(world.files(), kept.into());
}

#[tokio::test]
async fn nothing_works_after_a_stop() {
    let world = World::new().await;
    let key = segment(1, 0);
    world.blob.put_once(key, "x".into()).await.unwrap();
    let faults = Arc::new(Faults::new(|_| FaultAction::Proceed));
    let blob = world.blob.clone().with_faults(Arc::clone(&faults));
    let reader = blob.reader(key).await.unwrap().unwrap();
    let mut writer = blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    faults.stop();

    let stopped = |error: Option<Error>| assert!(matches!(error, Some(Error::Stopped)), "{error:?}");
    stopped(blob.put_once(segment(1, 1), "x".into()).await.err());
    stopped(blob.writer(ObjectKey::Source(source(2))).await.err());
    stopped(blob.get(key).await.err());
    stopped(blob.delete(key).await.err());
    stopped(blob.list(Prefix::Kind(ObjectKind::Segment), None, 1).await.err());
    stopped(blob.free_space().await.err());
    stopped(blob.sweep_temporary().await.err());
    stopped(reader.read_at(0..1).await.err());
    stopped(reader.read_many(&[0..1]).await.err());
    stopped(writer.write(noise(MIB)).await.err());
    assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "x");
    assert_eq!(world.list(Prefix::Kind(ObjectKind::Segment)).await, [key.to_string()]);
}

#[tokio::test]
async fn at_whatever_write_it_stops_objects_are_whole_or_absent() {
    let whole = noise(2 * MIB + 5);
    for stop_at in 0.. {
        let mut world = World::new().await;
        let count = AtomicUsize::new(0);
        let blob = world.faulty(move |_| match count.fetch_add(1, Ordering::Relaxed) {
            n if n == stop_at => FaultAction::Stop,
            _ => FaultAction::Proceed,
        });
        let life = async {
            let mut writer = blob.writer(ObjectKey::Source(source(1))).await?;
            for start in (0..whole.len()).step_by(100_000) {
                writer.write(whole.slice(start..whole.len().min(start + 100_000))).await?;
            }
            writer.finish().await?;
            blob.put_once(ObjectKey::Index(source(1)), whole.clone()).await?;
            blob.delete(ObjectKey::Source(source(1))).await?;
            Ok::<_, Error>(())
        };
        let finished = life.await.is_ok();

        world.restart().await;
        world.blob.sweep_temporary().await.unwrap();
        for name in world.files() {
            assert!(
                world.blob.get(name.parse().unwrap()).await.unwrap().unwrap() == whole,
                "stopped at {stop_at}"
            );
        }
        if finished {
            assert_eq!(world.files(), [ObjectKey::Index(source(1)).to_string()].into());
            assert!(stop_at >= 6, "create, three appends, finish, put, delete: {stop_at}");
            return;
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_nothing_is_left_over() {
    for full_at in [WriteKind::Put, WriteKind::Create, WriteKind::Append, WriteKind::Finish] {
        let world = World::new().await;
        let blob =
            world.faulty(move |op| if op.kind == full_at { FaultAction::Full } else { FaultAction::Proceed });
        let life = async {
            blob.put_once(ObjectKey::Index(source(1)), "x".into()).await?;
            let mut writer = blob.writer(ObjectKey::Source(source(1))).await?;
            writer.write(noise(2 * MIB)).await?;
            writer.finish().await.map(|_| ())
        };
        assert!(matches!(life.await, Err(Error::Full)), "{full_at:?}");
        let index = ObjectKey::Index(source(1)).to_string();
        assert_eq!(world.files(), (full_at != WriteKind::Put).then_some(index).into_iter().collect());
    }
}

#[tokio::test]
async fn a_writer_that_failed_once_never_makes_an_object() {
    let world = World::new().await;
    let blob = world.faulty(|op| match op.kind {
        WriteKind::Append => FaultAction::Fail,
        _ => FaultAction::Proceed,
    });
    let mut writer = blob.writer(ObjectKey::Source(source(1))).await.unwrap();
    writer.write("small enough to wait".into()).await.unwrap();
    assert!(writer.write(noise(MIB)).await.is_err());
    assert_eq!(world.files().len(), 0);
    assert!(writer.write("more".into()).await.is_err());
    assert!(writer.finish().await.is_err());
    assert_eq!(world.files().len(), 0);
}
