//! What callers can act on.

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::PresentationId;
use kinora_packager::{Error, FitMode, PictureFormat, PictureRequest, Rendition};
use kinora_testkit::fixture;

use crate::world::World;

#[tokio::test]
async fn a_source_without_an_index_is_gone() {
    let world = World::new().await;
    let error = world.packager.packaged(PresentationId::of(world.source())).await.unwrap_err();
    assert!(matches!(error.root(), Error::Gone), "{error:?}");
}

#[tokio::test]
async fn an_index_that_is_damaged_says_so_and_is_read_again_later() {
    let world = World::new().await;
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
async fn only_what_the_plan_lists_is_there() {
    let world = World::new().await;
    let silent = world.store(fixture::video_only()).await;
    let (packager, last) = (&world.packager, u32::try_from(silent.index().plan.video.len()).unwrap());
    for (rendition, number) in
        [(Rendition::Video, last), (Rendition::Video, u32::MAX), (Rendition::Audio(0), 0)]
    {
        let error = packager.segment(&silent, rendition, number).await.err();
        assert!(matches!(error, Some(Error::NotInPlan)), "{rendition:?} {number}");
    }
    assert!(matches!(silent.playlist(Rendition::Audio(0)), Err(Error::NotInPlan)));
    assert!(matches!(silent.init(Rendition::Audio(0), 0), Err(Error::NotInPlan)));
}

#[tokio::test]
async fn sound_alone_has_no_picture() {
    let world = World::new().await;
    let sound = world.store(fixture::audio_only()).await;
    let request = PictureRequest {
        time_ms: None,
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: PictureFormat::Jpg,
        is_poster: false,
    };
    let error = world.picture(&sound, request).await.unwrap_err();
    assert!(matches!(error.root(), Error::NoPicture), "{error:?}");
    assert_eq!(world.packager.decode_first_gop(&sound).await.unwrap(), None);
}
