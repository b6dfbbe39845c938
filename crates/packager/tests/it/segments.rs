//! A segment has the same bytes in full or by ranges, from memory or from the file.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_packager::{Error, Packaged, Rendition};
use kinora_testkit::fixture;

use crate::world::TestServer;

/// A range of the first segment.
async fn part(
    world: &TestServer,
    packaged: &Arc<Packaged>,
    rendition: Rendition,
    range: Range<u64>,
) -> Bytes {
    let segment = world.packager.segment(packaged, rendition, 0).await.unwrap();
    let parts: Vec<Bytes> = segment.stream(range).map(|part| part.unwrap()).collect().await;
    parts.concat().into()
}

/// Every range of the first segment equals that range of the full segment.
async fn check_parts(file: Bytes, rendition: Rendition) {
    let world = TestServer::new().await;
    let packaged = world.store(file).await;
    let len = world.packager.segment(&packaged, rendition, 0).await.unwrap().total_len();
    let full = part(&world, &packaged, rendition, 0..len).await;
    assert_eq!(full.len() as u64, len);
    for range in [
        0..0,
        0..1,
        3..700,
        len / 2..len / 2 + 1,
        len / 3..len,
        len - 1..len,
        len..len,
        0..len + 5,
        len + 1..len + 9,
    ] {
        let expected =
            usize::try_from(range.start.min(len)).unwrap()..usize::try_from(range.end.min(len)).unwrap();
        assert_eq!(
            part(&world, &packaged, rendition, range.clone()).await,
            full[expected],
            "{range:?} of {len}"
        );
    }
}

#[tokio::test]
async fn small_segment_equals_its_byte_ranges() {
    check_parts(fixture::two_seconds(), Rendition::Video).await;
    check_parts(fixture::two_seconds(), Rendition::Audio(0)).await;
}

#[tokio::test]
async fn uncached_large_segment_is_the_same_in_ranges() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::ultra_hd()).await;
    let segment = world.packager.segment(&packaged, Rendition::Video, 0).await.unwrap();
    assert_eq!(segment.whole(), None, "it stays in its file");
    check_parts(fixture::ultra_hd(), Rendition::Video).await;
}

#[tokio::test]
async fn small_segment_is_cached_after_one_read() {
    let world = TestServer::new().await;
    let source = world.source();
    let packaged = world.store_as(source, fixture::two_seconds()).await;
    let fetch_audio = async || {
        let segment = world.packager.segment(&packaged, Rendition::Audio(0), 0).await;
        segment.map(|segment| segment.whole().expect("it is small"))
    };
    let first = fetch_audio().await.unwrap();
    world.blob.delete(ObjectKey::Source(source)).await.unwrap();
    assert_eq!(fetch_audio().await.unwrap(), first, "its file is not asked any more");
    let other = world.packager.segment(&packaged, Rendition::Video, 0).await.err();
    assert!(matches!(other, Some(Error::Gone)), "bytes that were not read are deleted");
}
