//! Overlays: their stored form, and that presentations keep them.

use proptest::prelude::*;

use super::*;
use crate::index::{OVERLAY_SIDE_MAX, Overlay, OverlayAlign, OverlayLength};

fn overlay() -> Overlay {
    Overlay {
        image: [5; 16],
        image_size: (300, 80),
        x_align: OverlayAlign::End,
        x_margin: OverlayLength::Percent(250),
        y_align: OverlayAlign::Start,
        y_margin: OverlayLength::Pixels(24),
        width: Some(OverlayLength::Percent(1000)),
        height: None,
    }
}

fn source() -> Index {
    index(vec![video(12_800, 10, 1), audio(10)])
}

fn overlaid() -> Index {
    source().with_overlay(overlay()).unwrap()
}

fn not_copied(index: &Index) -> Option<(NotCopiedReason, &str)> {
    let (_, video) = index.video().unwrap();
    video.not_copied.as_ref().map(|why| (why.reason, why.detail.as_str()))
}

/// The layout of the stored form.
fn layout(index: &Index) -> u8 {
    index.to_bytes()[8]
}

fn any_length() -> impl Strategy<Value = OverlayLength> {
    prop_oneof![
        (0..=OverlayLength::PERCENT_MAX).prop_map(OverlayLength::Percent),
        any::<u16>().prop_map(OverlayLength::Pixels),
    ]
}

fn any_overlay() -> impl Strategy<Value = Overlay> {
    let align = || prop::sample::select(vec![OverlayAlign::Start, OverlayAlign::Middle, OverlayAlign::End]);
    let side = || 1..=OVERLAY_SIDE_MAX;
    let placement = (align(), any_length(), align(), any_length());
    let size = (prop::option::of(any_length()), prop::option::of(any_length()));
    (any::<SourceName>(), (side(), side()), placement, size).prop_map(
        |(image, image_size, (x_align, x_margin, y_align, y_margin), (width, height))| Overlay {
            image,
            image_size,
            x_align,
            x_margin,
            y_align,
            y_margin,
            width,
            height,
        },
    )
}

proptest! {
    #[test]
    fn overlay_round_trips_through_bytes(overlay in any_overlay()) {
        let index = source().with_overlay(overlay).unwrap();
        let bytes = index.to_bytes();
        prop_assert_eq!(Index::from_bytes(&bytes), Ok(index));
    }
}

#[test]
fn overlay_prevents_the_copy_of_the_video_alone() {
    let index = overlaid();
    assert_eq!(not_copied(&index), Some((NotCopiedReason::Watermark, "watermark")));
    assert_eq!(index.plan.video, []);
    assert!(!index.plan.audio[0].is_empty());
    let starts: Vec<_> = index.plan.encoded_video.iter().map(|segment| segment.start / 12_800).collect();
    assert_eq!(starts, [0, 2, 4, 8]);
    // A source that cannot be copied anyway keeps its reason.
    let mut odd = source();
    let TrackMedia::Video(media) = &mut odd.tracks[0].media else { unreachable!("it is one") };
    media.not_copied = Some(NotCopied::new(NotCopiedReason::Codec, "ProRes"));
    assert_eq!(not_copied(&odd.with_overlay(overlay()).unwrap()), Some((NotCopiedReason::Codec, "ProRes")));
}

#[test]
fn index_without_overlay_keeps_its_layout() {
    assert_eq!([layout(&source()), layout(&joined()), layout(&overlaid())], [4, 7, 8]);
}

#[test]
fn overlay_of_audio_or_too_large_video_is_rejected() {
    let error = index(vec![audio(3)]).with_overlay(overlay()).unwrap_err();
    assert_eq!(error, OverlayError::NoVideo);
    let mut large = source();
    let TrackMedia::Video(media) = &mut large.tracks[0].media else { unreachable!("it is one") };
    (media.width, media.height) = (8200, 4320);
    let error = large.with_overlay(overlay()).unwrap_err();
    assert_eq!(error, OverlayError::TooLarge { width: 8200, height: 4320 });
}

#[test]
fn impossible_stored_overlay_is_damage() {
    let check = |change: fn(&mut Overlay)| {
        let mut index = overlaid();
        change(index.overlay.as_mut().unwrap());
        assert_eq!(Index::from_bytes(&index.to_bytes()), Err(IndexError::Damaged));
    };
    check(|overlay| overlay.image_size.0 = 0);
    check(|overlay| overlay.image_size.1 = OVERLAY_SIDE_MAX + 1);
    check(|overlay| overlay.x_margin = OverlayLength::Percent(OverlayLength::PERCENT_MAX + 1));
}

#[test]
fn clip_keeps_the_overlay_of_its_origin() {
    let clip = overlaid().clip(ONE, 3_000_000..7_000_000).unwrap();
    assert_eq!(clip.overlay, Some(overlay()));
    assert_eq!(not_copied(&clip), Some((NotCopiedReason::Watermark, "watermark")));
    assert_eq!(Index::from_bytes(&clip.to_bytes()), Ok(clip));
}

#[test]
fn joined_parts_have_the_overlay_of_the_base() {
    let (one, two) = (source(), overlaid());
    let part = |index| SourcePart { source: ONE, index, range_us: 0..5_000_000 };
    let parts = [part(&one), part(&two)];
    let with_overlay = Index::of_parts(&parts, 1).unwrap();
    assert_eq!(with_overlay.overlay, Some(overlay()));
    assert_eq!(not_copied(&with_overlay), Some((NotCopiedReason::Watermark, "watermark")));
    assert_eq!(with_overlay.plan.video, []);
    let without = Index::of_parts(&parts, 0).unwrap();
    assert_eq!(without.overlay, None);
    // An overlay over the joined parts.
    let joined = joined().with_overlay(overlay()).unwrap();
    assert_eq!((joined.plan.video.len(), joined.parts.len()), (0, 3));
    assert_eq!(joined.plan.encoded_video.last().unwrap().end, joined.video().unwrap().0.end);
    assert_eq!(Index::from_bytes(&joined.to_bytes()), Ok(joined));
}
