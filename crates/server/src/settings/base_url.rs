//! Base addresses: how clients and players reach the server.

use std::net::SocketAddr;

use crate::command::CommandError;

/// `http://` and the listen address; loopback for 0.0.0.0, which no client can open (C-38).
pub(super) fn default_public_url(listen: SocketAddr, warnings: &mut Vec<String>) -> String {
    let mut reachable = listen;
    if listen.ip().is_unspecified() {
        let loopback =
            if listen.is_ipv4() { [127, 0, 0, 1].into() } else { std::net::Ipv6Addr::LOCALHOST.into() };
        reachable.set_ip(loopback);
        warnings.push(format!(
            "responses will have the URL http://{reachable}; set --public-url to the URL by which clients reach this server"
        ));
    }
    format!("http://{reachable}")
}

/// A base address: http or https, no query, no slash at the end (C-101).
pub(super) fn parse_base_url(name: &str, text: &str) -> Result<String, CommandError> {
    let wrong = || {
        CommandError::new(format!("--{name} must be a URL such as https://video.example.com, not {text:?}"))
    };
    let url = url::Url::parse(text).map_err(|_| wrong())?;
    let is_base = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    if is_base { Ok(text.trim_end_matches('/').to_owned()) } else { Err(wrong()) }
}
