//! A handler that only responds.

use axum::Router;
use axum::http::header;
use axum::routing::get;
use bytes::Bytes;
use tokio::net::TcpListener;

use crate::Error;

/// Responds to a GET of one media with the bytes of a file, as JSON, until the process is ended.
pub(crate) async fn run(address: &str, file: &str) -> Result<(), Error> {
    let body = Bytes::from(tokio::fs::read(file).await?);
    let answer = async move || ([(header::CONTENT_TYPE, "application/json")], body);
    let router = Router::new().route("/v1/on-demand/{mediaId}", get(answer));
    let listener = TcpListener::bind(address).await?;
    axum::serve(listener, router).await?;
    Ok(())
}
