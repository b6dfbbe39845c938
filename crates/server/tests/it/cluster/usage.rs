//! Usage of several concurrent delivery processes is summed.

use kinora_domain::{DEVELOPMENT, Day};
use kinora_testkit::fixture;

use crate::fault::TestClock;
use crate::support::{TestApp, text};

#[tokio::test]
async fn delivered_bytes_of_two_processes_add_up() {
    let clock = TestClock::standing();
    let today = Day::of(kinora_domain::Clock::now(&clock));
    let mut one = TestApp::options().clock(clock.clone()).without_webhook().start().await;
    let mut two = TestApp::on_data_of(&one, TestApp::options().clock(clock)).await;
    let media = one.ready("/a.mp4", fixture::two_seconds()).await;
    let manifest = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    let mut bytes = 0;
    for app in [&one, &two, &one, &two, &two] {
        let answer = app.fetch(&manifest).await;
        assert_eq!(answer.status, 200);
        bytes += answer.body.len() as u64;
    }
    let (stopped, also) = tokio::join!(one.stop(), two.stop());
    assert_eq!((stopped, also), ((), ()));
    let workspace = one.store.workspace_by_name(DEVELOPMENT).await.unwrap().unwrap().id;
    let days = one.store.usage(workspace, today, today).await.unwrap().days;
    assert_eq!(days.iter().map(|day| day.used.delivered_bytes).collect::<Vec<_>>(), [bytes]);
}
