//! Redirects, and URLs that are rejected before any request.

use kinora_fetch::{FetchError, UrlProblem};

use crate::server::{Server, answer, with_length};
use crate::sources::{check_refused, fetcher, open, read};

#[tokio::test]
async fn redirects_drop_fragment_and_cookies() {
    let server = Server::start(|number, _| match number {
        0 => answer(with_length("302 Found", "location: b?c#d\r\nset-cookie: a=b\r\n", "moved")),
        1 => answer(with_length("308 Permanent Redirect", "location: /e\r\n", "")),
        _ => answer(with_length("200 OK", "", "media")),
    })
    .await;
    let mut response = fetcher().open(&server.url("/x/a#f"), 0, None).await.unwrap();
    assert!(matches!(read(&mut response).await, (text, None) if text == "media"));
    let rest = format!(
        "HTTP/1.1\r\naccept-encoding: identity\r\naccept: */*\r\nhost: HOST\r\nuser-agent: Kinora/{}\r\n\r\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(server.requests(), ["/x/a", "/x/b?c", "/e"].map(|path| format!("GET {path} {rest}")));
}

/// Follows a redirect to `location` and returns the error.
async fn redirected_to(location: &str) -> FetchError {
    let bytes = with_length("301 Moved", &format!("location: {location}\r\n"), "");
    open(&Server::always(bytes).await).await.unwrap_err()
}

#[tokio::test]
async fn redirect_into_a_private_network_is_never_connected() {
    let (_, private) = Server::pair(with_length("200 OK", "", "secret")).await;
    let port = private.address.port();
    for location in [
        format!("http://127.0.0.2:{port}/"),
        format!("http://0x7f.2:{port}/"),
        format!("http://2130706434:{port}/"),
        format!("//127.0.0.2:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "http://[::1]/".into(),
    ] {
        let error = redirected_to(&location).await;
        assert!(
            matches!(error, FetchError::ForbiddenAddress(_)) && error.is_final(),
            "{location}: {error:?}"
        );
        assert_eq!(error.code().as_str(), "source_forbidden_address");
        assert!(!error.to_string().contains("127."), "{error}");
    }
    assert_eq!(private.connections(), 0);
}

#[tokio::test]
async fn redirect_to_an_invalid_url_is_rejected() {
    for (location, expected) in [
        ("ftp://127.0.0.1/", UrlProblem::Scheme),
        ("file:///etc/passwd", UrlProblem::Scheme),
        ("http://user:secret@127.0.0.1/", UrlProblem::Credentials),
        ("http://", UrlProblem::Syntax),
        ("http://[fe80::1%25lo]/", UrlProblem::Syntax),
    ] {
        let error = redirected_to(location).await;
        assert!(matches!(error, FetchError::Url(problem) if problem == expected), "{location}: {error:?}");
        assert!(error.is_final());
    }
    check_refused(
        with_length("302 Found", "", ""),
        |error| matches!(error, FetchError::Url(UrlProblem::Syntax)),
        true,
    )
    .await;
}

#[tokio::test]
async fn redirect_loop_ends_after_five_redirects() {
    let server = Server::always(with_length("307 Again", "location: /\r\n", "")).await;
    let error = open(&server).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirects) && error.is_final(), "{error:?}");
    assert_eq!(server.requests().len(), 6);

    let five = Server::start(|number, _| match number {
        0..5 => answer(with_length("307 Again", "location: /\r\n", "")),
        _ => answer(with_length("200 OK", "", "media")),
    })
    .await;
    assert!(open(&five).await.is_ok());
}

#[tokio::test]
async fn forbidden_or_malformed_url_is_never_connected() {
    let (_, private) = Server::pair("").await;
    let error = fetcher().open(&private.url("/"), 0, None).await.unwrap_err();
    assert!(matches!(error, FetchError::ForbiddenAddress(_)), "{error:?}");
    assert_eq!(private.connections(), 0);

    let server = Server::always("").await;
    let mut url = server.url("/");
    url.set_username("user").unwrap();
    let error = fetcher().open(&url, 0, None).await.unwrap_err();
    assert!(matches!(error, FetchError::Url(UrlProblem::Credentials)), "{error:?}");
    assert_eq!(server.connections(), 0);
}
