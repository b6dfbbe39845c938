//! `POST /on-demand`: what is taken, what is answered, and what published clients send.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{DEADLINE, TestApp, text};

#[tokio::test]
async fn the_answer_is_the_media_as_it_was_wished_for() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let body = json!({
        "inputs": [{"type": "video", "url": url}],
        "metadata": {"season": "2", "é": "ü"},
        "title": "A title",
        "creatorId": "creator-1",
        "accessPolicy": "private",
        "maxResolution": "2160p",
        "mediaQuality": "pro",
        "sourceAccess": true,
        "optimizeAudio": true,
        "mp4Support": "none",
        "unknown": {"is": "ignored"},
    });
    let whole = app.call("POST", "/v1/on-demand").json(&body).send().await;
    insta::assert_snapshot!("whole", app.golden().json(&whole.json()));
    let least = json!({"inputs": [{"type": "video", "url": url}]});
    let least = app.call("POST", "/on-demand").json(&least).send().await;
    insta::assert_snapshot!("least", app.golden().answer(&least));
    for answer in [whole, least] {
        assert_eq!(answer.status, 201);
        app.wait_settled(text(&answer.data()["id"])).await;
    }
}

/// Contract 2.3 and 2.5: what the SDKs send with nothing optional filled in, as headers and as body.
#[tokio::test]
async fn what_published_clients_send_by_default_never_answers_4xx() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let input = json!({"type": "video", "url": url});
    let nothing = json!({"domains": {"defaultPolicy": "allow", "allow": [], "deny": []},
        "userAgents": {"defaultPolicy": "allow", "allow": [], "deny": []}});
    let python = ("user-agent", "fastpix-sdk/python 1.1.5 2.687.13 1.0.0 fastpix-python");
    let node = ("user-agent", "fastpix-sdk/typescript 2.0.2 2.687.13 1.0.0 @fastpix/fastpix-node");
    let bodies = [
        (
            python,
            json!({"inputs": [input], "accessPolicy": "public", "optimizeAudio": false, "maxResolution": "1080p"}),
        ),
        (
            node,
            json!({"inputs": [input], "accessPolicy": "public", "maxResolution": "1080p", "mediaQuality": "standard"}),
        ),
        (node, json!({"inputs": [input], "maxResolution": "1080p", "mediaQuality": "standard"})),
        // The settings of a direct upload are the same ones, with another default in Python (contract 2.5).
        (
            python,
            json!({"inputs": [input], "accessPolicy": "public", "optimizeAudio": true, "maxResolution": "1080p"}),
        ),
        (
            node,
            json!({"inputs": [input], "accessPolicy": "public", "accessRestrictions": nothing, "metadata": {},
            "subtitles": {}, "mp4Support": "none", "sourceAccess": false, "chapters": false, "namedEntities": false,
            "summary": {"generate": false, "summaryLength": 100}}),
        ),
        (
            python,
            json!({"inputs": [input], "title": null, "creatorId": null, "metadata": null, "subtitles": null,
            "moderation": null, "accessRestrictions": null, "drmConfigurationId": null}),
        ),
    ];
    for (agent, body) in bodies {
        for path in ["/on-demand", "/v1/on-demand"] {
            let request = app.call("POST", path).header(agent.0, agent.1).header("cookie", "");
            let answer = request.header("Accept", "application/json").json(&body).send().await;
            assert_eq!(answer.status, 201, "{body}: {answer:?}");
            app.wait_settled(text(&answer.data()["id"])).await;
        }
    }
}

#[tokio::test]
async fn json_may_carry_its_character_set_or_no_type_at_all() {
    let app = TestApp::options().allow_loopback(false).start().await;
    let body = json!({"inputs": [{"type": "video", "url": "http://127.0.0.1/a.mp4"}]}).to_string();
    for content_type in ["application/json; charset=utf-8", "Application/JSON"] {
        let request = app.call("POST", "/on-demand").header("Content-Type", content_type);
        assert_eq!(request.body(body.clone()).send().await.status, 201, "{content_type}");
    }
    assert_eq!(app.call("POST", "/on-demand").body(body).send().await.status, 201);
}

#[tokio::test]
async fn a_wish_without_effect_yet_is_refused_where_leaving_it_out_would_show_something_else() {
    let app = TestApp::start().await;
    let video = json!({"type": "video", "url": "https://example.com/a.mp4", "startTime": 0, "endTime": 60});
    let watermark = json!({"type": "watermark", "url": "https://example.com/logo.png",
        "placement": {"xAlign": "left", "xMargin": "10%", "yAlign": "top", "yMargin": "10%"}});
    // The specification's own sample of this body.
    let body = json!({
        "inputs": [video, watermark],
        "metadata": {"key1": "value1"},
        "createSubtitles": {"name": "english", "metadata": {"key1": "value1"}, "languageCode": "en-us"},
        "accessPolicy": "drm",
        "mp4Support": "capped_4k",
        "optimizeAudio": true,
        "maxResolution": "1080p",
    });
    let refused = app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()));
    insta::assert_snapshot!(app.golden().json(&refused.json()));
}

#[tokio::test]
async fn media_of_one_source_are_media_of_their_own() {
    let app = TestApp::start().await;
    let first = app.ready("/a.mp4", fixture::two_seconds()).await;
    let second = app.ready("/a.mp4", fixture::two_seconds()).await;
    assert_ne!(first["id"], second["id"]);
    assert_ne!(first["playbackIds"][0]["id"], second["playbackIds"][0]["id"]);
    let ready = app
        .receiver
        .wait_for(DEADLINE, |posted| {
            posted.iter().filter(|post| post.event_type() == "video.media.ready").count() == 2
        })
        .await;
    let mut told: Vec<Value> = ready.iter().map(|post| post.json()["object"]["id"].clone()).collect();
    told.dedup();
    assert!(told.contains(&first["id"]) && told.contains(&second["id"]));
}
