//! The addresses of sources, for readers who may not change media (D-0164).

use kinora_domain::MediaId;
use url::Url;

/// The source of a clip, before the ID of its media. The underscore makes it no URL by RFC 3986.
const CLIP_SOURCE: &str = "fp_mediaId://";

/// An address without credentials, query and fragment; empty if it is none. The query is often a signature
/// that opens the source.
pub fn without_secrets(address: &str) -> String {
    if address.strip_prefix(CLIP_SOURCE).is_some_and(|id| id.parse::<MediaId>().is_ok()) {
        return address.to_owned();
    }
    let Ok(mut url) = Url::parse(address) else { return String::new() };
    // The parser changes the spelling, so an address without secrets is not replaced.
    if url.username().is_empty() && url.password().is_none() && !address.contains(['?', '#']) {
        return address.to_owned();
    }
    url.set_query(None);
    url.set_fragment(None);
    // Both fail only for addresses without a host, which have no credentials.
    let _ = (url.set_username(""), url.set_password(None));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_no_credentials_and_no_query() {
        let check = |address, expected: &str| assert_eq!(without_secrets(address), expected);
        let signed = "https://me:secret@s3.example:8443/a%20b.mp4?X-Amz-Signature=secret#t";
        check(signed, "https://s3.example:8443/a%20b.mp4");
        check("https://secret@s3.example/a.mp4", "https://s3.example/a.mp4");
        check("https://s3.example/a.mp4?", "https://s3.example/a.mp4");
        check("https://S3.example/a.mp4", "https://S3.example/a.mp4");
        let clip = "fp_mediaId://019a492c-41f3-7001-8203-040506070809";
        check(clip, clip);
        check("fp_mediaId://me:secret@s3.example/a.mp4?token=secret", "");
        check("no address", "");
    }
}
