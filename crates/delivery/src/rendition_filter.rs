//! The query of a manifest: the renditions that a viewer wants to choose from (C-176).

use kinora_domain::Resolution;
use kinora_packager::{RenditionFilter, RenditionOrder};
use kinora_web::error::{ApiError, FieldError};

/// Parses the parameters; others, such as a token, are ignored. 422 names the wrong one by the web player's
/// name for it (C-178).
pub(super) fn parse(query: &str) -> Result<RenditionFilter, ApiError> {
    let mut filter = RenditionFilter::default();
    let mut problems = Vec::new();
    let mut add_problem =
        |field: &str, message: String| problems.push(FieldError { field: field.into(), message });
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        let into = match name.as_ref() {
            "minResolution" => &mut filter.min,
            "maxResolution" => &mut filter.max,
            "resolution" => &mut filter.only,
            "renditionOrder" => {
                match value.as_ref() {
                    "asc" => filter.order = Some(RenditionOrder::Ascending),
                    "desc" => filter.order = Some(RenditionOrder::Descending),
                    _ => add_problem("order", "must be asc or desc".to_owned()),
                }
                continue;
            }
            _ => continue,
        };
        *into = Resolution::from_text(&value);
        if into.is_none() {
            let names: Vec<_> = Resolution::ALL.iter().map(|name| name.as_str()).collect();
            add_problem(&name, format!("must be one of {}", names.join(", ")));
        }
    }
    if let (Some(min), Some(max)) = (filter.min, filter.max)
        && max < min
    {
        add_problem("minResolution", format!("must not be above maxResolution, {}", max.as_str()));
    }
    if problems.is_empty() { Ok(filter) } else { Err(ApiError::invalid(problems)) }
}

/// 422: no rendition of the media matches the query.
pub(super) fn no_rendition(filter: RenditionFilter) -> ApiError {
    let field = match filter {
        RenditionFilter { only: Some(_), .. } => "resolution",
        RenditionFilter { min: Some(_), .. } => "minResolution",
        _ => "maxResolution",
    };
    ApiError::invalid_field(field, "this media has no such rendition")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolution_parameters_parse_unknown_ones_ignored() {
        let read = |query| parse(query).ok();
        assert_eq!(read(""), Some(RenditionFilter::default()));
        assert_eq!(
            read("minResolution=360p&maxResolution=720p&resolution=480p&renditionOrder=asc&token=x"),
            Some(RenditionFilter {
                min: Some(Resolution::P360),
                max: Some(Resolution::P720),
                only: Some(Resolution::P480),
                order: Some(RenditionOrder::Ascending),
            })
        );
        assert_eq!(
            read("renditionOrder=desc").and_then(|filter| filter.order),
            Some(RenditionOrder::Descending)
        );
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
