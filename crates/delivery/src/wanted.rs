//! The query of a manifest: which renditions a viewer wants to choose from (C-176).

use kinora_domain::Resolution;
use kinora_packager::{Order, Wanted};
use kinora_web::error::{ApiError, FieldError};

/// The parameters; others, such as a token, belong to somebody else. 422 names the wrong one as the web
/// player knows it (C-178).
pub(super) fn parse(query: &str) -> Result<Wanted, ApiError> {
    let mut wanted = Wanted::default();
    let mut problems = Vec::new();
    let mut refuse =
        |field: &str, message: String| problems.push(FieldError { field: field.into(), message });
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let into = match name.as_ref() {
            "minResolution" => &mut wanted.min,
            "maxResolution" => &mut wanted.max,
            "resolution" => &mut wanted.only,
            "renditionOrder" => {
                match value.as_ref() {
                    "asc" => wanted.order = Some(Order::Ascending),
                    "desc" => wanted.order = Some(Order::Descending),
                    _ => refuse("order", "must be asc or desc".to_owned()),
                }
                continue;
            }
            _ => continue,
        };
        *into = Resolution::from_text(&value);
        if into.is_none() {
            let names: Vec<_> = Resolution::ALL.iter().map(|name| name.as_str()).collect();
            refuse(&name, format!("must be one of {}", names.join(", ")));
        }
    }
    if let (Some(min), Some(max)) = (wanted.min, wanted.max)
        && max < min
    {
        refuse("minResolution", format!("must not be above maxResolution, {}", max.as_str()));
    }
    if problems.is_empty() { Ok(wanted) } else { Err(ApiError::invalid(problems)) }
}

/// 422: the media has no rendition that was wanted.
pub(super) fn none(wanted: Wanted) -> ApiError {
    let field = match wanted {
        Wanted { only: Some(_), .. } => "resolution",
        Wanted { min: Some(_), .. } => "minResolution",
        _ => "maxResolution",
    };
    ApiError::invalid_field(field, "this media has no such rendition")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_names_of_resolutions_and_strangers_are_ignored() {
        let read = |query| parse(query).ok();
        assert_eq!(read(""), Some(Wanted::default()));
        assert_eq!(
            read("minResolution=360p&maxResolution=720p&resolution=480p&renditionOrder=asc&token=x"),
            Some(Wanted {
                min: Some(Resolution::P360),
                max: Some(Resolution::P720),
                only: Some(Resolution::P480),
                order: Some(Order::Ascending),
            })
        );
        assert_eq!(read("renditionOrder=desc").and_then(|wanted| wanted.order), Some(Order::Descending));
        for query in [
            "minResolution=720",
            "maxResolution=",
            "resolution=720P",
            "resolution=source",
            "renditionOrder=up",
            "renditionOrder=",
            "minResolution=720p&maxResolution=480p",
        ] {
            assert_eq!(read(query), None, "{query}");
        }
    }
}
