//! The bytes of a segment are the same for every kind of request.

use bytes::Bytes;
use kinora_testkit::fixture;

use super::stream::Stream;
use crate::support::{TestApp, text};

/// Odd part lengths, so that parts start and end inside boxes, headers and samples.
const PART: usize = 4093;

#[tokio::test]
async fn segment_byte_ranges_concatenate_to_the_whole() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::thirty_seconds()).await;
    let stream = Stream::fetch(&app, text(&media["playbackIds"][0]["id"])).await;
    for rendition in stream.renditions() {
        for (number, segment) in rendition.segments.iter().enumerate().step_by(3) {
            let path = format!("{}{number}.m4s", rendition.folder);
            let mut parts = Vec::new();
            for start in (0..segment.len()).step_by(PART) {
                let last = (start + PART).min(segment.len()) - 1;
                let answer =
                    app.request("GET", &path).header("Range", &format!("bytes={start}-{last}")).send().await;
                assert_eq!(answer.status, 206);
                let range = format!("bytes {start}-{last}/{}", segment.len());
                assert_eq!(answer.header("content-range"), Some(range.as_str()));
                parts.extend_from_slice(&answer.body);
            }
            assert_eq!(Bytes::from(parts), segment, "{path}");

            let head = app.request("HEAD", &path).send().await;
            assert_eq!(head.header("content-length"), Some(segment.len().to_string().as_str()));
        }
        let beyond = format!("{}{}.m4s", rendition.folder, rendition.segments.len());
        assert_eq!(app.fetch(&beyond).await.status, 404);
    }
}
