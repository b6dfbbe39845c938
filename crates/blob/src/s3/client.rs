//! Builds a client of the object library from a URL and the environment.

use std::sync::Arc;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::{BackoffConfig, ClientOptions, RetryConfig};
use url::Url;

use super::limits::S3Limits;
use super::transport::Connector;
use super::url::{AddressingStyle, StorageUrl, StorageUrlError, endpoint};
use crate::{Error, Result};

/// The region of signatures when none is set. Most stores other than Amazon's accept it.
const REGION_DEFAULT: &str = "us-east-1";

/// Builds the client. Sends no request yet.
///
/// Credentials are those that the library finds: `AWS_ACCESS_KEY_ID` with `AWS_SECRET_ACCESS_KEY` (and
/// `AWS_SESSION_TOKEN`), a web identity (`AWS_WEB_IDENTITY_TOKEN_FILE` with `AWS_ROLE_ARN`), a container's
/// role, the role of the machine.
pub(super) fn build(url: &StorageUrl, limits: &Arc<S3Limits>) -> Result<AmazonS3> {
    let builder = AmazonS3Builder::from_env();
    let from_env = |key| builder.get_config_value(&key);
    let region = url
        .region
        .clone()
        .or_else(|| from_env(AmazonS3ConfigKey::Region))
        .or_else(|| from_env(AmazonS3ConfigKey::DefaultRegion))
        .unwrap_or_else(|| REGION_DEFAULT.to_owned());
    let configured_endpoint = match &url.endpoint {
        Some(endpoint) => Some(endpoint.clone()),
        None => from_env(AmazonS3ConfigKey::S3Endpoint)
            .or_else(|| from_env(AmazonS3ConfigKey::Endpoint))
            .map(|text| endpoint(&text, "AWS_ENDPOINT_URL"))
            .transpose()
            .map_err(unusable)?,
    };
    let (endpoint, style) = endpoint_and_style(url, configured_endpoint, &region).map_err(unusable)?;
    let store_authority = authority(&endpoint);
    let allows_imds_v1 = from_env(AmazonS3ConfigKey::ImdsV1Fallback).is_some_and(|text| {
        // The values that the library accepts as true.
        matches!(text.to_ascii_lowercase().as_str(), "1" | "true" | "on" | "yes" | "y")
    });
    // The library does not retry: the transport knows better which requests can be retried.
    let no_retries =
        RetryConfig { max_retries: 0, backoff: BackoffConfig::default(), ..RetryConfig::default() };
    builder
        .with_bucket_name(&url.bucket)
        .with_region(region)
        // The second name overrides the first one, and both override the environment.
        .with_endpoint(&endpoint)
        .with_config(AmazonS3ConfigKey::S3Endpoint, &endpoint)
        .with_virtual_hosted_style_request(style == AddressingStyle::Virtual)
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_http_connector(Connector { limits: Arc::clone(limits), store_authority, allows_imds_v1 })
        .with_retry(no_retries)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        // One request per object: not every store supports the bulk deletion.
        .with_disable_bulk_delete(true)
        .with_s3_express(false)
        .build()
        .map_err(|error| Error::Rejected {
            action: "open the store of objects",
            remedy: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, both or none, in the environment of the server",
            source: std::io::Error::other(error),
        })
}

/// The base URL of keys for the library (for path style, with the bucket), and the style.
fn endpoint_and_style(
    url: &StorageUrl,
    configured_endpoint: Option<Url>,
    region: &str,
) -> std::result::Result<(String, AddressingStyle), StorageUrlError> {
    // A certificate for *.s3.amazonaws.com does not cover two more labels.
    let usual_style = match configured_endpoint {
        None if !url.bucket.contains('.') => AddressingStyle::Virtual,
        _ => AddressingStyle::Path,
    };
    let style = url.style.unwrap_or(usual_style);
    let mut endpoint = match configured_endpoint {
        Some(named) => named,
        None => Url::parse(&format!("https://s3.{region}.amazonaws.com"))
            .map_err(|_| StorageUrlError::new("region of the storage URL gives no valid endpoint URL"))?,
    };
    if style == AddressingStyle::Virtual {
        let host = format!("{}.{}", url.bucket, endpoint.host_str().unwrap_or_default());
        endpoint.set_host(Some(&host)).map_err(|_| {
            StorageUrlError::new(
                "the bucket cannot be a subdomain of this endpoint; write addressing-style=path",
            )
        })?;
    }
    Ok((endpoint.as_str().trim_end_matches('/').to_owned(), style))
}

/// Host and port in the form of a request.
fn authority(endpoint: &str) -> String {
    let (_, rest) = endpoint.split_once("://").unwrap_or(("", endpoint));
    rest.split('/').next().unwrap_or_default().to_owned()
}

fn unusable(error: StorageUrlError) -> Error {
    Error::Rejected {
        action: "open the store of objects",
        remedy: "correct the storage URL or the environment",
        source: std::io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addressing_style_puts_bucket_into_host_or_path() {
        let check = |text: &str, expected: &str, host: &str| {
            let url = StorageUrl::parse(text).unwrap();
            let region = url.region.clone().unwrap_or_else(|| REGION_DEFAULT.to_owned());
            let (endpoint, _) = endpoint_and_style(&url, url.endpoint.clone(), &region).unwrap();
            assert_eq!(endpoint, expected, "{text}");
            assert_eq!(authority(&endpoint), host, "{text}");
        };
        check(
            "s3://kinora",
            "https://kinora.s3.us-east-1.amazonaws.com",
            "kinora.s3.us-east-1.amazonaws.com",
        );
        check(
            "s3://ki.nora?region=eu-west-1",
            "https://s3.eu-west-1.amazonaws.com",
            "s3.eu-west-1.amazonaws.com",
        );
        check("s3://kinora?endpoint=http://127.0.0.1:8333", "http://127.0.0.1:8333", "127.0.0.1:8333");
        check(
            "s3://kinora?endpoint=https://s3.example.com&addressing-style=virtual",
            "https://kinora.s3.example.com",
            "kinora.s3.example.com",
        );
        check(
            "s3://kinora?endpoint=https://x.example.com/v1/s3/",
            "https://x.example.com/v1/s3",
            "x.example.com",
        );
    }

    #[test]
    fn virtual_addressing_of_an_ip_address_is_rejected() {
        let url =
            StorageUrl::parse("s3://kinora?endpoint=http://[::1]:9000&addressing-style=virtual").unwrap();
        let error = endpoint_and_style(&url, url.endpoint.clone(), "us-east-1").unwrap_err();
        assert!(error.to_string().contains("addressing-style=path"), "{error}");
    }
}
