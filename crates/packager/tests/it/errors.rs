//! Errors that callers can act on.

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::PresentationId;
use kinora_packager::{Error, FitMode, ImageFormat, Rendition, ThumbnailRequest};
use kinora_testkit::fixture;

use crate::world::TestServer;

#[tokio::test]
async fn source_without_index_is_gone() {
    let world = TestServer::new().await;
    let error = world.packager.packaged(PresentationId::of(world.source())).await.unwrap_err();
    assert!(matches!(error.root(), Error::Gone), "{error:?}");
}

#[tokio::test]
async fn damaged_index_is_an_error_and_is_not_cached() {
    let world = TestServer::new().await;
    let source = world.source();
    world
        .blob
        .put_once(ObjectKey::Index(PresentationId::of(source)), Bytes::from_static(b"no index"))
        .await
        .unwrap();
    let error = world.packager.packaged(PresentationId::of(source)).await.unwrap_err();
    assert!(matches!(error.root(), Error::Damaged(_)), "{error:?}");
    world.blob.delete(ObjectKey::Index(PresentationId::of(source))).await.unwrap();
    let error = world.packager.packaged(PresentationId::of(source)).await.unwrap_err();
    assert!(matches!(error.root(), Error::Gone), "{error:?}");
}

#[tokio::test]
async fn unlisted_segment_is_not_found() {
    let world = TestServer::new().await;
    let silent = world.store(fixture::video_only()).await;
    let (packager, last) = (&world.packager, u32::try_from(silent.index().plan.video.len()).unwrap());
    for (rendition, number) in
        [(Rendition::Video, last), (Rendition::Video, u32::MAX), (Rendition::Audio(0), 0)]
    {
        let error = packager.segment(&silent, rendition, number).await.err();
        assert!(matches!(error, Some(Error::NotListed)), "{rendition:?} {number}");
    }
    assert!(matches!(silent.playlist(Rendition::Audio(0)), Err(Error::NotListed)));
    assert!(matches!(silent.init(Rendition::Audio(0), 0), Err(Error::NotListed)));
}

#[tokio::test]
async fn audio_only_media_has_no_thumbnail() {
    let world = TestServer::new().await;
    let audio = world.store(fixture::audio_only()).await;
    let request = ThumbnailRequest {
        time_ms: None,
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: ImageFormat::Jpg,
        is_poster: false,
    };
    let error = world.thumbnail(&audio, request).await.unwrap_err();
    assert!(matches!(error.root(), Error::NoImage), "{error:?}");
    assert_eq!(world.packager.decode_first_gop(&audio).await.unwrap(), None);
}
