//! The time an S3 store needs to complete a multipart upload: the lower bound for the time until ready.

use std::io::Write as _;

use bytes::Bytes;
use object_store::ObjectStoreExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::multipart::MultipartStore as _;
use object_store::path::Path;
use tokio::time::Instant;

use crate::Error;

/// The same as Kinora's.
const PART_LEN: usize = 8 << 20;

/// Uploads a file in parts and prints the duration of the completing call in milliseconds. Credentials come
/// from the environment, as usual.
pub(crate) async fn run(endpoint: &str, bucket: &str, file: &str) -> Result<(), Error> {
    let store = AmazonS3Builder::from_env()
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_bucket_name(bucket)
        .build()?;
    let bytes = Bytes::from(tokio::fs::read(file).await?);
    let path = Path::from("bench/complete");
    let upload = store.create_multipart(&path).await?;
    let mut parts = Vec::new();
    for begin in (0..bytes.len()).step_by(PART_LEN) {
        let part = bytes.slice(begin..bytes.len().min(begin + PART_LEN));
        parts.push(store.put_part(&path, &upload, parts.len(), part.into()).await?);
    }
    let started = Instant::now();
    store.complete_multipart(&path, &upload, parts).await?;
    let took_ms = started.elapsed().as_secs_f64() * 1000.0;
    store.delete(&path).await?;
    writeln!(std::io::stdout(), "{took_ms}")?;
    Ok(())
}
