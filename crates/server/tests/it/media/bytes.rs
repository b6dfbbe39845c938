//! The bytes of a segment are the same however they are asked for.

use bytes::Bytes;
use kinora_testkit::fixture;

use super::stream::Stream;
use crate::support::{TestApp, text};

/// Parts of odd lengths, so that they begin and end inside boxes, heads and samples.
const PART: usize = 4093;

#[tokio::test]
async fn the_parts_of_a_segment_make_up_its_whole() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::thirty_seconds()).await;
    let stream = Stream::fetch(&app, text(&media["playbackIds"][0]["id"])).await;
    for rendition in stream.renditions() {
        for (number, whole) in rendition.segments.iter().enumerate().step_by(3) {
            let path = format!("{}{number}.m4s", rendition.folder);
            let mut parts = Vec::new();
            for start in (0..whole.len()).step_by(PART) {
                let last = (start + PART).min(whole.len()) - 1;
                let answer =
                    app.request("GET", &path).header("Range", &format!("bytes={start}-{last}")).send().await;
                assert_eq!(answer.status, 206);
                let range = format!("bytes {start}-{last}/{}", whole.len());
                assert_eq!(answer.header("content-range"), Some(range.as_str()));
                parts.extend_from_slice(&answer.body);
            }
            assert_eq!(Bytes::from(parts), whole, "{path}");

            let head = app.request("HEAD", &path).send().await;
            assert_eq!(head.header("content-length"), Some(whole.len().to_string().as_str()));
        }
        let beyond = format!("{}{}.m4s", rendition.folder, rendition.segments.len());
        assert_eq!(app.fetch(&beyond).await.status, 404);
    }
}
