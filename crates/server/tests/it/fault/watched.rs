//! A media whose encoded renditions viewers request while the server restarts, and the guarantees of all
//! stored objects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use kinora_blob::{Blob, ObjectKey, ObjectKind, Prefix};
use kinora_domain::{MediaId, PresentationId, SourceId};
use kinora_packager::Rendition;
use serde_json::Value;

use super::binary::Binary;
use crate::media::boxes::fragment;
use crate::support::{text, until};

/// Objects per page.
const PAGE: usize = 1000;

/// The encoded renditions of some media: the URL of each file, and the key of its object.
pub(super) struct Watched {
    /// `None`: the file is made from the index.
    addresses: BTreeMap<String, Option<ObjectKey>>,
    playlists: Vec<String>,
    /// The bodies that viewers received, by URL.
    served: Arc<Mutex<BTreeMap<String, Bytes>>>,
}

impl Watched {
    pub(super) fn new() -> Self {
        Self { addresses: BTreeMap::new(), playlists: Vec::new(), served: Arc::default() }
    }

    /// Adds the renditions with these names of a ready media.
    pub(super) async fn add(&mut self, binary: &Binary, media: &Value, names: &[&str]) {
        let id: MediaId = text(&media["id"]).parse().expect("an id from the API");
        let row = binary.store().await.media_by_id(id).await.expect("the database is there");
        let source: SourceId = row.and_then(|media| media.source()).expect("it is ready");
        let playback = text(&media["playbackIds"][0]["id"]);
        let manifest = binary.get(&format!("/{playback}.m3u8")).send().await.text();
        for name in names {
            let file = format!("/{name}/playlist.m3u8");
            let listed = manifest.split(['\n', '"']).find(|part| part.ends_with(&file));
            let playlist = format!("/{}", listed.unwrap_or_else(|| panic!("no {name} in {manifest}")));
            let folder = playlist.strip_suffix("playlist.m3u8").expect("it ends so").to_owned();
            let rendition =
                Rendition::from_text(name).and_then(|rendition| rendition.id(PresentationId::of(source)));
            let rendition = rendition.expect("it is encoded");
            let segments = binary.get(&playlist).send().await.text();
            let count = segments.lines().filter(|line| line.ends_with(".m4s")).count();
            for n in (0..).take(count) {
                self.addresses.insert(format!("{folder}{n}.m4s"), Some(ObjectKey::Segment(rendition, n)));
            }
            let video_init = name.ends_with('p').then_some(ObjectKey::Init(rendition));
            self.addresses.insert(format!("{folder}init.mp4"), video_init);
            self.playlists.push(playlist);
        }
    }

    /// The URLs of all playlists.
    pub(super) fn playlists(&self) -> &[String] {
        &self.playlists
    }

    /// The URLs of segments that no viewer has received yet, the last of each rendition first, as a viewer
    /// who seeks requests them.
    fn missing_urls(&self) -> Vec<String> {
        let served = self.served.lock().unwrap();
        let segments = self.addresses.iter().filter(|(_, key)| matches!(key, Some(ObjectKey::Segment(..))));
        segments
            .rev()
            .map(|(address, _)| address.clone())
            .filter(|address| !served.contains_key(address))
            .collect()
    }

    /// Whether viewers have received everything.
    pub(super) fn is_served(&self) -> bool {
        self.missing_urls().is_empty()
    }

    /// Starts `count` viewers, who together request all missing segments, each one file after another, until
    /// the server has ended.
    ///
    /// Each viewer notes the bodies it receives.
    pub(super) fn viewers(&self, binary: &Binary, count: usize) -> tokio::task::JoinSet<()> {
        let mut viewers = tokio::task::JoinSet::new();
        let missing = self.missing_urls();
        for viewer_index in 0..count {
            let of_viewer: Vec<_> = missing.iter().skip(viewer_index).step_by(count).cloned().collect();
            let requests: Vec<_> =
                of_viewer.into_iter().map(|address| (binary.get(&address), address)).collect();
            let served = Arc::clone(&self.served);
            viewers.spawn(async move {
                for (request, address) in requests {
                    let Ok(answer) = request.try_send().await else { return };
                    match answer.status {
                        200 => note(&served, &address, answer.body),
                        503 => {}
                        status => panic!("{address}: {status} {}", answer.text()),
                    }
                }
            });
        }
        viewers
    }

    /// The number of received responses.
    pub(super) fn count(&self) -> usize {
        self.served.lock().unwrap().len()
    }

    /// Checks all stored objects: each is whole and equals the served bytes, and all served bytes are
    /// stored.
    pub(super) async fn check(&self, binary: &Binary) {
        let blob = binary.blob().await;
        let files = encoded_files(&blob).await;
        let found = binary.objects().await;
        let is_encoded = |path: &&String| path.starts_with("segment/") || path.starts_with("init/");
        let mut listed: Vec<String> = files.keys().cloned().collect();
        listed.sort();
        assert_eq!(
            found.iter().filter(is_encoded).cloned().collect::<Vec<_>>(),
            listed,
            "nothing else lies there"
        );
        for (address, key) in &self.addresses {
            let Some(key) = key else { continue };
            let Some(bytes) = files.get(&key.to_string()) else {
                let served = self.served.lock().unwrap();
                assert!(!served.contains_key(address), "{address} was served and is not kept");
                continue;
            };
            if matches!(key, ObjectKey::Segment(..)) {
                assert!(!fragment(bytes).durations.is_empty(), "{address}");
            }
            let answer = binary.get(address).send().await;
            assert_eq!(answer.status, 200, "{address}: {answer:?}");
            assert!(answer.body == *bytes, "{address} differs from the stored bytes");
            note(&self.served, address, answer.body);
        }
    }

    /// Fetches everything that no viewer has received yet.
    pub(super) async fn fetch_rest(&self, binary: &Binary) {
        for address in self.addresses.keys() {
            let answer = until("the file is served", async || {
                let answer = binary.get(address).send().await;
                (answer.status != 503).then_some(answer)
            })
            .await;
            assert_eq!(answer.status, 200, "{address}: {answer:?}");
            note(&self.served, address, answer.body);
        }
    }
}

/// A URL always returns the same bytes.
fn note(served: &Mutex<BTreeMap<String, Bytes>>, address: &str, body: Bytes) {
    let mut served = served.lock().unwrap();
    let first = served.entry(address.to_owned()).or_insert_with(|| body.clone());
    assert!(*first == body, "{address} has changed");
}

/// The encoded files in an object store, by path.
pub(super) async fn encoded_files(blob: &Blob) -> BTreeMap<String, Bytes> {
    let mut files = BTreeMap::new();
    for kind in [ObjectKind::Segment, ObjectKind::Init] {
        let page = blob.list(Prefix::Kind(kind), None, PAGE).await.expect("the objects answer");
        assert!(page.len() < PAGE, "more than a test makes");
        for entry in page {
            let bytes = blob.get(entry.key).await.expect("the objects answer").expect("it was listed");
            assert_eq!(bytes.len() as u64, entry.len, "{}", entry.key);
            files.insert(entry.key.to_string(), bytes);
        }
    }
    files
}
