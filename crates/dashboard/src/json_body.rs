//! Bodies are JSON that says so: without a content type, or with that of a form, a page of another site
//! could send one without a preflight request.

use axum::http::{HeaderMap, header};

/// Whether the request has no body, or one of the type `application/json`.
pub(crate) fn is_json_or_empty(request: &HeaderMap) -> bool {
    match request.get(header::CONTENT_TYPE) {
        None => {
            let has_length = request.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0");
            !has_length && !request.contains_key(header::TRANSFER_ENCODING)
        }
        Some(value) => {
            let essence = value.to_str().unwrap_or("").split(';').next().unwrap_or("").trim();
            essence.eq_ignore_ascii_case("application/json")
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    #[test]
    fn body_needs_the_type_of_json() {
        let check = |headers: &[(HeaderName, &str)], expected: bool| {
            let headers: HeaderMap =
                headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
            assert_eq!(is_json_or_empty(&headers), expected, "{headers:?}");
        };
        check(&[], true);
        check(&[(header::CONTENT_LENGTH, "0")], true);
        check(&[(header::CONTENT_LENGTH, "2")], false);
        check(&[(header::TRANSFER_ENCODING, "chunked")], false);
        check(&[(header::CONTENT_TYPE, "application/json"), (header::CONTENT_LENGTH, "2")], true);
        check(&[(header::CONTENT_TYPE, "Application/JSON; charset=utf-8")], true);
        for form in ["application/x-www-form-urlencoded", "multipart/form-data; boundary=a", "text/plain", ""]
        {
            check(&[(header::CONTENT_TYPE, form)], false);
        }
    }
}
