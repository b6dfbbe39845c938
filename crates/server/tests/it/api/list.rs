//! Lists: pages, cursors and filters (C-107, C-108, C-22, D-0069).

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use serde_json::{Value, json};

use crate::support::{Answer, TestApp, text};

/// A page: its ids and its pagination.
async fn page(app: &TestApp, query: &str) -> (Vec<String>, Value) {
    let answer = app.call("GET", &format!("/v1/on-demand{query}")).send().await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    let body = answer.json();
    let items = body["data"].as_array().expect("data is a list");
    let ids = items.iter().map(|item| text(&item["id"]).to_owned()).collect();
    (ids, body["pagination"].clone())
}

fn pagination(total: u64, offset: u64, pages: u64) -> Value {
    json!({"totalRecords": total, "currentOffset": offset, "offsetCount": pages})
}

#[tokio::test]
async fn pages_list_every_media_once_in_requested_order() {
    // Sources are rejected at once: the list needs only rows.
    let app = TestApp::options().allow_loopback(false).start().await;
    assert_eq!(page(&app, "").await, (Vec::new(), pagination(0, 1, 0)));

    let mut oldest_first = Vec::new();
    for n in 0..12 {
        let media = app.create(&format!("http://127.0.0.1/{n}.mp4")).await;
        oldest_first.push(text(&media["id"]).to_owned());
    }
    let newest_first: Vec<_> = oldest_first.iter().rev().cloned().collect();

    let check = async |query: &str, ids: &[String], expected: Value| {
        assert_eq!(page(&app, query).await, (ids.to_vec(), expected), "{query}");
    };
    check("", &newest_first[..10], pagination(12, 1, 2)).await;
    check("?offset=2", &newest_first[10..], pagination(12, 2, 2)).await;
    check("?offset=3", &[], pagination(12, 3, 2)).await;
    check("?offset=4294967295", &[], pagination(12, 4_294_967_295, 2)).await;
    check("?limit=50", &newest_first, pagination(12, 1, 1)).await;
    check("?limit=12&orderBy=asc", &oldest_first, pagination(12, 1, 1)).await;
    check("?limit=1&offset=12&orderBy=desc", &oldest_first[..1], pagination(12, 12, 12)).await;
    for number in 1..=3 {
        let at = (number - 1) * 5;
        let ids = &oldest_first[at..(at + 5).min(12)];
        let query = format!("?orderBy=asc&limit=5&offset={number}");
        check(&query, ids, pagination(12, u64::try_from(number).unwrap(), 3)).await;
    }
}

#[tokio::test]
async fn list_item_equals_the_media() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
    let list = app.call("GET", "/on-demand").send().await.json();
    assert_eq!(list, json!({"success": true, "data": [media], "pagination": pagination(1, 1, 1)}));
}

/// The path and query of the link with this relation.
fn link(app: &TestApp, answer: &Answer, rel: &str) -> Option<String> {
    let links = answer.header("link")?;
    let link = links.split(", ").find(|link| link.ends_with(&format!("; rel=\"{rel}\"")))?;
    let address = link.split_once('>').expect("an address ends").0.strip_prefix('<').expect("it begins");
    Some(address.strip_prefix(&app.url("")).expect("it is one of this server").to_owned())
}

/// Follows the links from a path to the end and back, and returns the ids of each page on the way.
async fn walk(app: &TestApp, path: &str, id: &str) -> Vec<Vec<String>> {
    let get = async |path: &str| {
        let answer = app.call("GET", path).send().await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        let items = answer.data().as_array().expect("data is a list").clone();
        let ids: Vec<_> = items.iter().map(|item| text(&item[id]).to_owned()).collect();
        (ids, answer)
    };
    let (ids, mut answer) = get(path).await;
    assert_eq!(link(app, &answer, "prev"), None);
    let mut pages = vec![ids];
    while let Some(next) = link(app, &answer, "next") {
        assert_eq!(next.split('?').next(), path.split('?').next(), "it stays at its path");
        let (ids, found) = get(&next).await;
        pages.push(ids);
        assert_eq!(found.json()["pagination"]["currentOffset"], pages.len(), "{next}");
        answer = found;
    }
    let mut number = pages.len();
    while let Some(previous) = link(app, &answer, "prev") {
        number -= 1;
        let (ids, found) = get(&previous).await;
        assert_eq!(ids, pages[number - 1], "page {number} on the way back");
        assert_eq!(found.json()["pagination"]["currentOffset"], number);
        answer = found;
    }
    assert_eq!(number, 1, "the way back ends where it began");
    pages
}

#[tokio::test]
async fn link_headers_page_forward_and_backward_through_every_list() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let (mut media, mut uploads, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..5 {
        media.push(text(&app.create(&format!("http://127.0.0.1/{n}.mp4")).await["id"]).to_owned());
        let upload =
            app.call("POST", "/on-demand/upload").json(&json!({"corsOrigin": "*"})).send().await.data();
        uploads.push(text(&upload["uploadId"]).to_owned());
    }
    for _ in 0..3 {
        keys.push(text(&app.call("POST", "/iam/signing-keys").send().await.data()["id"]).to_owned());
    }
    for (path, id, mut all) in [
        ("/v1/on-demand", "id", media),
        ("/on-demand/uploads", "uploadId", uploads),
        ("/v1/iam/signing-keys", "id", keys),
    ] {
        for order in ["asc", "desc"] {
            let pages = walk(&app, &format!("{path}?limit=2&orderBy={order}"), id).await;
            assert_eq!(pages.concat(), all, "{path}");
            assert!(pages.iter().rev().skip(1).all(|page| page.len() == 2), "{path}");
            all.reverse();
        }
        assert_eq!(walk(&app, &format!("{path}?limit=50"), id).await.len(), 1, "no link leads nowhere");
    }
}

#[tokio::test]
async fn filters_persist_across_pages_invalid_filters_are_422() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let mut created = Vec::new();
    for n in 0..6 {
        let creator = if n % 2 == 0 { "ann & co" } else { "ben" };
        let fields =
            json!({"title": format!("Clip {n}"), "creatorId": creator, "metadata": {"k [1]": "v=&"}});
        let media = app.create_with(&format!("http://127.0.0.1/{n}.mp4"), fields).await;
        if n % 2 == 0 {
            created.push(text(&media["id"]).to_owned());
        }
    }
    created.reverse();
    let filters = "creatorId=ann+%26+co&title=CLIP&metadata[k%20[1]]=v%3D%26&metadataKey=k%20[1]&createdAfter=2020-01-01";
    assert_eq!(
        walk(&app, &format!("/v1/on-demand?limit=2&{filters}"), "id").await,
        [&created[..2], &created[2..]]
    );
    let (found, pages) = page(&app, &format!("?{filters}")).await;
    assert_eq!((found, pages), (created.clone(), pagination(3, 1, 1)));
    assert_eq!(page(&app, "?createdBefore=2020-01-01").await, (Vec::new(), pagination(0, 1, 0)));

    // States of the contract that no media of this server has.
    for state in ["Downloaded", "Validating", "In+Queue", "In%20Queue", "Processing"] {
        for filters in ["", "&title=clip&creatorId=ben", "&createdAfter=2020-01-01"] {
            let none = page(&app, &format!("?limit=2&status={state}{filters}")).await;
            assert_eq!(none, (Vec::new(), pagination(0, 1, 0)), "{state}{filters}");
        }
        assert_eq!(page(&app, &format!("?status={state}&offset=9")).await, (Vec::new(), pagination(0, 9, 0)));
    }

    let next =
        link(&app, &app.call("GET", "/v1/on-demand?limit=2").send().await, "next").expect("there is more");
    let cursor = next.split("cursor=").nth(1).expect("a link has a cursor");
    // The first letter is the version.
    let broken = format!("B{}", &cursor[1..]);
    let mut golden = app.golden();
    golden.name(cursor, "[cursor]");
    golden.name(&broken, "[broken]");
    let mut transcript = String::new();
    for query in [
        format!("cursor={broken}"),
        format!("cursor={cursor}&offset=2&orderBy=asc"),
        format!("cursor={cursor}&status=Ready"),
        "cursor=&limit=51&status=ready&title=&metadata=1".to_owned(),
        "createdAfter=now&creatorId=a&creatorId=b".to_owned(),
        "createdAfter=2025-01-02&createdBefore=2025-01-01".to_owned(),
    ] {
        let refused = app.call("GET", &format!("/v1/on-demand?{query}")).send().await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{query}");
        transcript += &format!("GET ?{}\n{}\n\n", golden.text(&query), golden.text(&refused.text()));
    }
    insta::assert_snapshot!(transcript);
    for path in ["/v1/on-demand/uploads", "/v1/iam/signing-keys", "/v1/on-demand/drm-configurations"] {
        let refused = app.call("GET", &format!("{path}?cursor={cursor}")).send().await;
        assert_eq!(refused.json()["error"]["fields"][0]["field"], "cursor", "{path}");
    }
}

#[tokio::test]
async fn cursor_of_another_workspace_lists_none_of_its_media() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    for n in 0..3 {
        app.create(&format!("http://127.0.0.1/{n}.mp4")).await;
    }
    let next =
        link(&app, &app.call("GET", "/v1/on-demand?limit=1").send().await, "next").expect("there is more");
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let shown = app.request("GET", &next).token(&other_token).send().await;
    assert_eq!((shown.data(), shown.header("link")), (json!([]), None));
    let shown = app.request("GET", &next).token(&reader).send().await.data();
    assert_eq!(shown.as_array().map(Vec::len), Some(1));
}
