//! Reading: ranges, limits and deleted objects.

use std::ops::Range;

use bytes::Bytes;
use futures_util::TryStreamExt;
use kinora_blob::{Error, ObjectKey, PutOutcome};

use crate::test_store::{MIB, TestBlob, noise, on_both, segment, source};

on_both! {
    async fn range_reads_are_limited_to_the_object(world: TestBlob) {
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
            let refused = |error: Error| matches!(error, Error::OutOfRange { range: rejected, len } if rejected == range && len == end);
            assert!(refused(reader.read_at(range.clone()).await.unwrap_err()), "{range:?}");
            assert!(refused(reader.stream(range.clone()).err().unwrap()), "{range:?}");
            assert!(refused(reader.read_many(&[0..1, range.clone()]).await.unwrap_err()), "{range:?}");
        }
    }

    async fn ranges_are_returned_in_request_order(world: TestBlob) {
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

    async fn long_range_is_streamed_in_chunks(world: TestBlob) {
        let key = ObjectKey::Source(source(1));
        let bytes = noise(11 * MIB + 7);
        world.blob.put_once(key, bytes.clone()).await.unwrap();
        let reader = world.blob.reader(key).await.unwrap().unwrap();
        let streamed: Vec<Bytes> = reader.stream(3..bytes.len() as u64 - 1).unwrap().try_collect().await.unwrap();
        assert!(streamed.concat() == bytes.slice(3..bytes.len() - 1));
        assert!(streamed.iter().all(|piece| !piece.is_empty() && piece.len() <= 256 << 10));
    }

    async fn deleted_object_is_not_found_and_never_truncated(world: TestBlob) {
        let keys = [ObjectKey::Source(source(1)), segment(1, 0), segment(1, 1)];
        for key in keys {
            world.blob.put_once(key, "bytes".into()).await.unwrap();
        }
        for key in keys {
            let reader = world.blob.reader(key).await.unwrap().unwrap();
            let all_or_gone = |read: Result<Bytes, Error>| match read {
                Ok(bytes) => assert_eq!(bytes, "bytes"),
                Err(Error::Gone(gone)) => assert_eq!(gone, key),
                Err(error) => panic!("{error}"),
            };
            world.blob.delete(key).await.unwrap();
            world.blob.delete(key).await.unwrap();
            assert!(world.blob.reader(key).await.unwrap().is_none());
            assert!(world.blob.get(key).await.unwrap().is_none());
            all_or_gone(reader.read_at(0..5).await);
            all_or_gone(reader.read_many(&[0..2, 2..5]).await.map(|pieces| pieces.concat().into()));
            let streamed = reader.stream(0..5).unwrap().try_collect::<Vec<_>>().await;
            all_or_gone(streamed.map(|pieces| pieces.concat().into()));

            // Another object of the same name is not mistaken for the first one.
            assert_eq!(world.blob.put_once(key, "longer bytes".into()).await.unwrap(), PutOutcome::Written);
            all_or_gone(reader.read_at(0..5).await);
            assert_eq!(world.blob.get(key).await.unwrap().unwrap(), "longer bytes");
            assert_eq!(world.blob.reader(key).await.unwrap().unwrap().len(), 12);
            world.blob.delete(key).await.unwrap();
        }
        assert_eq!(world.everything().len(), 0);
    }
}
