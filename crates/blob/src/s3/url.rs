//! The storage URL: the location of a bucket, as an operator writes it.

use std::fmt;
use std::str::FromStr;

use url::Url;

/// The shortest and the longest name of a bucket.
///
/// Amazon S3, "General purpose bucket naming rules"; other stores allow no more.
const BUCKET_LEN: std::ops::RangeInclusive<usize> = 3..=63;

/// The longest URL that is parsed.
const URL_BYTES_MAX: usize = 2048;

/// The longest prefix: half of the longest key (1,024 bytes in Amazon S3), so that our keys fit after it.
const PREFIX_BYTES_MAX: usize = 512;

/// The URL of a bucket: `s3://bucket/prefix?endpoint=https://...&region=...&addressing-style=path`.
///
/// All parts except the bucket are optional. `endpoint` is the http(s) URL of a store other than Amazon's;
/// plain `http` is allowed, for a local store or a test. `addressing-style` is the position of the bucket:
/// `path` (`https://host/bucket/...`, the default with an endpoint) or `virtual`
/// (`https://bucket.host/...`, the default for Amazon). Missing parts come from the environment:
/// `AWS_REGION`, `AWS_ENDPOINT_URL`.
///
/// Contains no secret: a URL with credentials is rejected. So it may be shown and logged.
#[derive(Clone, PartialEq, Eq)]
pub struct StorageUrl {
    pub(super) bucket: String,
    /// Without slashes at its ends; empty for the whole bucket.
    pub(super) prefix: String,
    pub(super) endpoint: Option<Url>,
    pub(super) region: Option<String>,
    pub(super) style: Option<AddressingStyle>,
}

/// The position of the bucket name in a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressingStyle {
    Path,
    Virtual,
}

impl AddressingStyle {
    const fn text(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Virtual => "virtual",
        }
    }
}

/// Why a URL is rejected: a sentence that names the part and the correct form. Never repeats a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StorageUrlError(String);

impl StorageUrlError {
    pub(super) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl StorageUrl {
    /// Parses a URL.
    pub fn parse(text: &str) -> Result<Self, StorageUrlError> {
        if text.len() > URL_BYTES_MAX {
            return Err(StorageUrlError::new(format!(
                "the storage URL is longer than {URL_BYTES_MAX} characters"
            )));
        }
        let url = Url::parse(text).map_err(|_| {
            StorageUrlError::new(
                "the storage URL is not a URL; write s3://bucket/prefix?endpoint=https://...&region=...",
            )
        })?;
        if url.scheme() != "s3" {
            return Err(StorageUrlError::new(format!(
                "the storage URL begins with {}:; only s3://bucket/prefix is known (a folder needs no URL: see --data-dir)",
                url.scheme()
            )));
        }
        reject_credentials(&url, "the storage URL")?;
        if url.port().is_some() {
            return Err(StorageUrlError::new(
                "the storage URL has a port after the bucket; set the address of the store with endpoint=http://host:port",
            ));
        }
        if url.fragment().is_some() {
            return Err(StorageUrlError::new("the storage URL has a part after #; leave it out"));
        }
        let mut storage = Self {
            bucket: bucket(url.host_str().unwrap_or_default())?,
            prefix: prefix(url.path())?,
            endpoint: None,
            region: None,
            style: None,
        };
        for (name, value) in url.query_pairs() {
            storage.set(&name, &value)?;
        }
        Ok(storage)
    }

    /// Sets one named part, which must not be set yet.
    fn set(&mut self, name: &str, value: &str) -> Result<(), StorageUrlError> {
        let is_set = match name {
            "endpoint" => self.endpoint.replace(endpoint(value, "endpoint of the storage URL")?).is_some(),
            "region" => self.region.replace(region(value)?).is_some(),
            "addressing-style" => {
                let style = match value {
                    "path" => AddressingStyle::Path,
                    "virtual" => AddressingStyle::Virtual,
                    _ => {
                        return Err(StorageUrlError::new(format!(
                            "addressing-style of the storage URL is {value:?}; write path or virtual"
                        )));
                    }
                };
                self.style.replace(style).is_some()
            }
            // The value may be a secret; the name is not.
            _ => {
                return Err(StorageUrlError::new(format!(
                    "the storage URL has an unknown part {name:?}; known are endpoint, region and addressing-style \
                     (credentials come from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
                )));
            }
        };
        if is_set {
            return Err(StorageUrlError::new(format!("the storage URL has {name} twice; leave one out")));
        }
        Ok(())
    }
}

fn bucket(name: &str) -> Result<String, StorageUrlError> {
    if name.is_empty() {
        return Err(StorageUrlError::new("the storage URL names no bucket; write s3://bucket/prefix"));
    }
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_name = BUCKET_LEN.contains(&name.len())
        && name.chars().all(is_inner)
        && name.starts_with(is_edge)
        && name.ends_with(is_edge);
    if is_name {
        return Ok(name.to_owned());
    }
    Err(StorageUrlError::new(format!(
        "the bucket {name:?} of the storage URL is not a valid name: use 3 to 63 lower case letters, digits, hyphens and dots"
    )))
}

fn prefix(path: &str) -> Result<String, StorageUrlError> {
    let prefix = path.strip_prefix('/').unwrap_or(path);
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if prefix.is_empty() {
        return Ok(String::new());
    }
    // Amazon S3, "Object key naming guidelines", safe characters: these look the same in a URL and in a
    // listing.
    let is_safe =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '!' | '-' | '_' | '.' | '*' | '\'' | '(' | ')');
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(is_safe);
    if prefix.len() <= PREFIX_BYTES_MAX && prefix.split('/').all(is_part) {
        return Ok(prefix.to_owned());
    }
    Err(StorageUrlError::new(format!(
        "the prefix {prefix:?} of the storage URL cannot be used: write words of letters, digits and -_.!*'() between single \
         slashes, {PREFIX_BYTES_MAX} characters at most"
    )))
}

fn region(value: &str) -> Result<String, StorageUrlError> {
    let is_region = (1..=64).contains(&value.len())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if is_region {
        return Ok(value.to_owned());
    }
    Err(StorageUrlError::new(format!(
        "region of the storage URL is {value:?}; write a name such as us-east-1 (auto for Cloudflare R2)"
    )))
}

/// Parses the URL of a store; `source_name` names its origin in errors.
pub(super) fn endpoint(value: &str, source_name: &str) -> Result<Url, StorageUrlError> {
    let wrong = |what: &str| {
        StorageUrlError::new(format!("{source_name} {what}; write http://host:port or https://host"))
    };
    let url = Url::parse(value).map_err(|_| wrong("is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("is not an http or https URL"));
    }
    reject_credentials(&url, source_name)?;
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("names no host"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has a part after ? or #"));
    }
    Ok(url)
}

fn reject_credentials(url: &Url, source_name: &str) -> Result<(), StorageUrlError> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(());
    }
    Err(StorageUrlError::new(format!(
        "{source_name} contains credentials; remove them and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
    )))
}

impl FromStr for StorageUrl {
    type Err = StorageUrlError;

    fn from_str(text: &str) -> Result<Self, StorageUrlError> {
        Self::parse(text)
    }
}

impl fmt::Display for StorageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        let mut separator = '?';
        let mut part = |name: &str, value: &str| {
            write!(f, "{separator}{name}={value}")?;
            separator = '&';
            Ok(())
        };
        if let Some(endpoint) = &self.endpoint {
            part("endpoint", endpoint.as_str().trim_end_matches('/'))?;
        }
        if let Some(region) = &self.region {
            part("region", region)?;
        }
        if let Some(style) = self.style {
            part("addressing-style", style.text())?;
        }
        Ok(())
    }
}

impl fmt::Debug for StorageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StorageUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_url_round_trips_as_text() {
        for text in [
            "s3://kinora",
            "s3://my.media-7/a/b_c",
            "s3://kinora?endpoint=http://127.0.0.1:8333&region=us-east-1",
            "s3://kinora/p?endpoint=https://s3.example.com&region=auto&addressing-style=virtual",
            "s3://kinora?endpoint=https://x.example.com/storage/v1/s3",
            "s3://kinora?region=eu-central-1&addressing-style=path",
        ] {
            let url = StorageUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), text);
            assert_eq!(format!("{url:?}"), format!("StorageUrl({text})"));
            assert_eq!(StorageUrl::parse(&url.to_string()), Ok(url));
        }
        let url =
            StorageUrl::parse("s3://kinora/a/?region=r&endpoint=https%3A%2F%2Fs3.example.com%2F").unwrap();
        assert_eq!(url.to_string(), "s3://kinora/a?endpoint=https://s3.example.com&region=r");
    }

    #[test]
    fn invalid_url_error_names_the_part_without_secrets() {
        let check = |text: &str, expected: &[&str]| {
            let error = StorageUrl::parse(text).unwrap_err().to_string();
            for words in expected {
                assert!(error.contains(words), "{text}: {error}");
            }
            assert!(!error.contains("hush"), "{text}: a secret is repeated: {error}");
        };
        check("", &["is not a URL", "s3://bucket/prefix"]);
        check("bucket/prefix", &["is not a URL"]);
        check("/var/lib/kinora", &["is not a URL"]);
        check("file:///var/lib", &["begins with file:", "s3://bucket/prefix"]);
        check("s3://", &["names no bucket"]);
        check("s3:///prefix", &["names no bucket"]);
        check("s3:bucket", &["names no bucket"]);
        check("s3://ab", &["\"ab\"", "3 to 63"]);
        check("s3://Kinora", &["\"Kinora\"", "lower case"]);
        check("s3://-kinora", &["is not a valid name"]);
        check(&format!("s3://{}", "b".repeat(64)), &["is not a valid name"]);
        check("s3://kinora:9000/p", &["port", "endpoint=http://host:port"]);
        check("s3://kinora/p#part", &["after #"]);
        check("s3://id:hush@kinora", &["contains credentials", "AWS_SECRET_ACCESS_KEY"]);
        check("s3://id@kinora", &["contains credentials"]);
        check("s3://kinora/a//b", &["prefix", "single slashes"]);
        check("s3://kinora/a%20b", &["prefix"]);
        check(&format!("s3://kinora/{}", "p".repeat(513)), &["512"]);
        check(&format!("s3://kinora/{}", "p".repeat(2048)), &["longer than 2048"]);
        check(
            "s3://kinora?secret_access_key=hush",
            &["\"secret_access_key\"", "endpoint, region and addressing-style"],
        );
        check("s3://kinora?endpoint=127.0.0.1:8333", &["endpoint", "http://host:port"]);
        check("s3://kinora?endpoint=ftp://host", &["not an http or https"]);
        check("s3://kinora?endpoint=", &["endpoint of the storage URL is not a URL"]);
        check(
            "s3://kinora?endpoint=http://id:hush@host",
            &["endpoint of the storage URL contains credentials"],
        );
        check("s3://kinora?endpoint=http://host?x=hush", &["after ? or #"]);
        check("s3://kinora?region=", &["region", "us-east-1"]);
        check("s3://kinora?region=eu/../x", &["region"]);
        check("s3://kinora?region=a&region=b", &["region twice"]);
        check("s3://kinora?addressing-style=host", &["\"host\"", "path or virtual"]);
    }
}
