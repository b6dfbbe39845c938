//! A loop of posts without state.

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::Error;

/// Posts the bytes of a file `count` times, at most `at_once` at a time. Returns after all of them got a
/// successful response.
pub(crate) async fn run(url: &str, file: &str, count: &str, at_once: &str) -> Result<(), Error> {
    let body = Bytes::from(tokio::fs::read(file).await?);
    let (count, at_once): (usize, usize) = (count.parse()?, at_once.parse()?);
    let client = reqwest::Client::builder().build()?;
    let post = |_| client.post(url).header("content-type", "application/json").body(body.clone()).send();
    let posts = stream::iter(0..count).map(post).buffer_unordered(at_once);
    posts.map_err(Error::from).try_for_each(async |answer| Ok(answer.error_for_status().map(drop)?)).await
}
