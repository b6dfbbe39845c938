//! The page: the same bytes and headers for all people, and compressed files.

use kinora_domain::Role;

use super::support::World;
use crate::support::{Answer, TestApp};

fn comparable(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let own = ["x-request-id", "date"];
    let headers = answer.headers().iter().filter(|(name, _)| !own.contains(&name.as_str()));
    (answer.status, headers.cloned().collect(), answer.text())
}

#[tokio::test]
async fn page_is_the_same_for_all_people_at_every_address() {
    let world = World::start().await;
    let first = world.app.fetch("/dashboard").await;
    assert_eq!(first.status, 200);
    let browser = world.browser_of(Role::Admin).await;
    for path in [
        "/dashboard",
        "/dashboard/",
        "/dashboard/sign-in?next=/x",
        "/dashboard/w/a/library",
        "/dashboard/apis",
    ] {
        for cookie in [String::new(), format!("kinora={}", browser.secret())] {
            let answer = world.app.request("GET", path).header("Cookie", &cookie).send().await;
            assert_eq!(comparable(&answer), comparable(&first), "{path}");
        }
    }
    assert_eq!(first.header("set-cookie"), None);
}

#[tokio::test]
async fn page_has_strict_headers() {
    let app = TestApp::options().without_webhook().public_url("https://video.example.com/").start().await;
    let page = app.fetch("/dashboard").await;
    let header = |name: &str| page.header(name).unwrap_or_default().to_owned();
    assert_eq!(
        header("content-security-policy"),
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; \
         connect-src 'self' https://video.example.com; frame-src 'self' https://video.example.com; form-action 'none'; \
         base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert_eq!(header("cross-origin-opener-policy"), "same-origin");
    assert_eq!(header("permissions-policy"), "camera=(), microphone=(), geolocation=()");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("cache-control"), "no-cache");
    assert!(page.headers().iter().all(|(name, _)| !name.starts_with("access-control-")), "{page:?}");
}

#[tokio::test]
async fn known_page_is_304() {
    let app = TestApp::options().without_webhook().start().await;
    let page = app.fetch("/dashboard").await;
    let etag = page.header("etag").expect("it has a tag").to_owned();
    for known in [etag.clone(), format!("W/{etag}"), format!("\"other\", {etag}"), "*".to_owned()] {
        let answer = app.request("GET", "/dashboard/account").header("If-None-Match", &known).send().await;
        assert_eq!((answer.status, answer.header("etag")), (304, Some(etag.as_str())), "{known}");
    }
    let other = app.request("GET", "/dashboard").header("If-None-Match", "\"other\"").send().await;
    assert_eq!((other.status, other.body), (200, page.body));
}

#[tokio::test]
async fn root_redirects_to_the_dashboard() {
    let app = TestApp::options().without_webhook().start().await;
    let answer = app.fetch("/").await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/dashboard")));
    assert_eq!(app.request("POST", "/").send().await.status, 405);
}

#[tokio::test]
async fn unknown_operation_is_404_and_wrong_method_405() {
    let app = TestApp::options().without_webhook().start().await;
    for path in
        ["/dashboard/api", "/dashboard/api/", "/dashboard/api/none", "/dashboard/api/workspaces/a/none"]
    {
        for method in ["GET", "POST"] {
            let answer = app.request(method, path).send().await;
            assert_eq!(answer.refusal(), (404, "not found".to_owned()), "{method} {path}");
        }
    }
    assert_eq!(app.request("POST", "/dashboard").send().await.refusal().0, 405);
    let wrong = app.request("PUT", "/dashboard/api/session").send().await;
    assert_eq!(wrong.refusal().0, 405);
}

/// The files of the player page are there in every build of the web part.
#[tokio::test]
async fn asset_is_sent_in_the_coding_that_the_client_prefers() {
    let app = TestApp::options().without_webhook().start().await;
    let page = app.fetch("/dashboard").await.text() + &app.fetch("/docs").await.text();
    let files = page.split('"').filter(|part| part.starts_with("/assets/"));
    for file in files {
        let plain = app.fetch(file).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{file}");
        let with =
            async |accept: &str| app.request("GET", file).header("Accept-Encoding", accept).send().await;
        let (br, gzip) = (with("gzip, deflate, br").await, with("gzip").await);
        let refused = with("br;q=0, gzip;q=0").await;
        assert_eq!((refused.header("content-encoding"), &refused.body), (None, &plain.body), "{file}");
        if plain.header("vary").is_none() {
            assert_eq!((&br.body, &gzip.body), (&plain.body, &plain.body), "{file} has one coding");
            continue;
        }
        assert_eq!(br.header("content-encoding"), Some("br"), "{file}");
        assert!(br.body.len() <= gzip.body.len() && gzip.body.len() < plain.body.len(), "{file}");
        assert_eq!(gzip.unpacked().body, plain.body, "{file}");
        for answer in [&plain, &br, &gzip] {
            assert_eq!(answer.header("vary"), Some("Accept-Encoding"), "{file}");
            assert_eq!(answer.header("content-type"), plain.header("content-type"), "{file}");
        }
        for copy in [format!("{file}.br"), format!("{file}.gz")] {
            assert_eq!(app.fetch(&copy).await.status, 404, "a compressed copy has no address");
        }
    }
}
