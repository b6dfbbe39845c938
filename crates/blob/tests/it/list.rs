//! Listing: pages, prefixes, and files of other programs.

use kinora_domain::PresentationId;
use std::collections::BTreeSet;

use kinora_blob::{ImageHash, ObjectKey, ObjectKind, Prefix};

use crate::test_store::{TestBlob, noise, on_both, rendition, segment, source};

on_both! {
    async fn listing_pages_return_each_object_once(world: TestBlob) {
        let mut expected = BTreeSet::new();
        for n in 0..30 {
            for key in [ObjectKey::Source(source(n * 37)), segment(n % 4, u32::try_from(n).unwrap())] {
                world.blob.put_once(key, noise(usize::try_from(n).unwrap())).await.unwrap();
                expected.insert((key.to_string(), u64::try_from(n).unwrap()));
            }
        }
        // Files of other programs are not listed.
        for name in ["source/README", "source/00/.hidden", "segment/00/deep/er/and/deeper"] {
            world.put_foreign(name);
        }

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
            assert_eq!(seen.iter().map(|entry| (entry.key.to_string(), entry.len)).collect::<BTreeSet<_>>(), expected);
            for kind in ["source/", "segment/"] {
                assert!(names.iter().filter(|name| name.starts_with(kind)).is_sorted());
            }
            let first = seen[0].modified;
            assert!(first.as_micros() > 0);
            assert!(seen.iter().all(|entry| entry.modified.micros_since(first).abs() < 600_000_000));
        }
    }

    async fn listing_can_be_bound_to_one_rendition_or_source(world: TestBlob) {
        let image = ObjectKey::Image(PresentationId::of(source(1)), ImageHash([1; 16]));
        for key in [segment(1, 0), segment(1, 10), segment(1, 9), segment(0x101, 1), image] {
            world.blob.put_once(key, "x".into()).await.unwrap();
        }
        let names = |keys: &[ObjectKey]| keys.iter().map(ObjectKey::to_string).collect::<Vec<_>>();
        let of_one = Prefix::SegmentsOf(rendition(1));
        assert_eq!(world.list(of_one).await, names(&[segment(1, 0), segment(1, 10), segment(1, 9)]));
        assert_eq!(world.list(Prefix::SegmentsOf(rendition(0x101))).await, names(&[segment(0x101, 1)]));
        assert_eq!(world.list(Prefix::SegmentsOf(rendition(2))).await, names(&[]));
        assert_eq!(world.list(Prefix::ImagesOf(PresentationId::of(source(1)))).await, names(&[image]));

        // The key to continue from may be gone, or be before or after all others.
        let after = async |after| world.blob.list(of_one, Some(after), 100).await.unwrap().len();
        assert_eq!(after(segment(1, 1)).await, 2);
        assert_eq!(after(segment(1, 9)).await, 0);
        assert_eq!(after(image).await, 3);
        assert_eq!(after(ObjectKey::Source(source(1))).await, 0);
        assert_eq!(world.blob.list(of_one, None, 0).await.unwrap(), []);
    }
}
