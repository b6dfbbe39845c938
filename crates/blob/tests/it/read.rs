//! Reading: ranges, limits, open files and deleted ones.

use std::fs;
use std::ops::Range;

use bytes::Bytes;
use futures_util::TryStreamExt;
use kinora_blob::{Error, ObjectKey, Prefix, PutOutcome, READ_MAX};

use crate::world::{MIB, World, noise, rendition, segment, source};

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
        world.blob.delete(key).await.unwrap();
        world.blob.delete(key).await.unwrap();
        assert!(world.blob.reader(key).await.unwrap().is_none());
        assert_eq!(reader.read_at(0..5).await.unwrap(), "bytes");
        assert_eq!(world.blob.put_once(key, "again".into()).await.unwrap(), PutOutcome::Written);
        assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "again");
        world.blob.delete(key).await.unwrap();
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
