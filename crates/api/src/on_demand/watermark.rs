//! An input of type `watermark`: an image over the video (C-200).

use kinora_domain::{Watermark, WatermarkAlign, WatermarkLength, WatermarkPlacement, WatermarkSize};
use kinora_web::fields::Fields;
use kinora_web::openapi::schema::{object, string_enum, with_default, with_description};
use serde_json::{Value, json};

use super::audio_input::source_url;
use super::media_settings_request::URL_MAX;

/// The words of the alignments: start, middle, end.
const X_ALIGNS: [&str; 3] = ["left", "center", "right"];
/// As [`X_ALIGNS`], on the other axis.
const Y_ALIGNS: [&str; 3] = ["top", "middle", "bottom"];

/// Longest length: `100.00%`.
const LENGTH_CHARS_MAX: usize = 7;

/// The texts of lengths.
const LENGTH_PATTERN: &str =
    r"^(([0-9]{1,2}(\.[0-9]{1,2})?|100(\.0{1,2})?)%|(1920|19[01][0-9]|1[0-8][0-9]{2}|[0-9]{1,3})px)$";
const OPACITY_PATTERN: &str = "^(100|[0-9]{1,2})%$";

/// Opaque, unless the client asks for less.
const OPACITY_DEFAULT: &str = "100%";
/// At the edge.
const MARGIN_DEFAULT: &str = "0px";

/// The watermark of an input; `None` when a field is wrong, which is rejected.
pub(super) fn watermark_input(input: &Fields<'_>) -> Option<Watermark> {
    if !input.is_present("url") {
        input.reject("url", "must not be null");
    }
    let url = source_url(input, "url");
    // Every wrong field is reported, so all are read.
    let placement = placement(input);
    let [width, height] = ["width", "height"].map(|name| size(input, name));
    let opacity_percent = match input.text("opacity", LENGTH_CHARS_MAX) {
        None if !input.is_present("opacity") => Some(Watermark::OPACITY_MAX),
        text => text.and_then(|text| opacity(input, text)),
    };
    Some(Watermark {
        url: url?,
        placement: placement?,
        size: WatermarkSize { width: width.ok()?, height: height.ok()? },
        opacity_percent: opacity_percent?,
    })
}

/// The position; upper left by default, as with Mux.
fn placement(input: &Fields<'_>) -> Option<WatermarkPlacement> {
    let Some(fields) = input.object("placement") else {
        let is_absent = !input.is_present("placement");
        return is_absent.then_some(WatermarkPlacement {
            x_align: WatermarkAlign::Start,
            x_margin: WatermarkLength::ZERO,
            y_align: WatermarkAlign::Start,
            y_margin: WatermarkLength::ZERO,
        });
    };
    let [x_margin, y_margin] = ["xMargin", "yMargin"]
        .map(|name| length(&fields, name).map(|length| length.unwrap_or(WatermarkLength::ZERO)));
    let (x_align, y_align) = (align(&fields, "xAlign", &X_ALIGNS), align(&fields, "yAlign", &Y_ALIGNS));
    Some(WatermarkPlacement {
        x_align: x_align?,
        x_margin: x_margin.ok()?,
        y_align: y_align?,
        y_margin: y_margin.ok()?,
    })
}

fn align(fields: &Fields<'_>, name: &str, words: &[&str; 3]) -> Option<WatermarkAlign> {
    let aligns = [WatermarkAlign::Start, WatermarkAlign::Middle, WatermarkAlign::End];
    let from_text = |text: &str| words.iter().position(|word| *word == text).map(|at| aligns[at]);
    match fields.one_of(name, words, from_text) {
        None if !fields.is_present(name) => Some(WatermarkAlign::Start),
        align => align,
    }
}

/// A value that was rejected.
struct Rejected;

/// A size, which is more than zero.
fn size(fields: &Fields<'_>, name: &str) -> Result<Option<WatermarkLength>, Rejected> {
    let size = length(fields, name)?;
    if size.is_some_and(|size| matches!(size, WatermarkLength::Percent(0) | WatermarkLength::Pixels(0))) {
        fields.reject(name, "must be more than 0");
        return Err(Rejected);
    }
    Ok(size)
}

/// A length; `None` when it was not sent.
fn length(fields: &Fields<'_>, name: &str) -> Result<Option<WatermarkLength>, Rejected> {
    if !fields.is_present(name) {
        return Ok(None);
    }
    let text = fields.text(name, LENGTH_CHARS_MAX).ok_or(Rejected)?;
    let length = percent(text).or_else(|| pixels(text));
    if length.is_none() {
        fields.reject(
            name,
            format!(
                "must be a percentage such as \"2.5%\", up to \"100%\", or pixels such as \"24px\", up to \"{}px\"",
                WatermarkLength::PIXELS_MAX
            ),
        );
    }
    length.map(Some).ok_or(Rejected)
}

fn pixels(text: &str) -> Option<WatermarkLength> {
    let pixels = digits(text.strip_suffix("px")?, 4)?;
    (pixels <= WatermarkLength::PIXELS_MAX).then_some(WatermarkLength::Pixels(pixels))
}

/// A percentage with at most two decimal places.
fn percent(text: &str) -> Option<WatermarkLength> {
    let number = text.strip_suffix('%')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let hundredths = match fraction.len() {
        1 => digits(fraction, 1)? * 10,
        _ => digits(fraction, 2)?,
    };
    let percent = digits(whole, 3)? * 100 + hundredths;
    (percent <= WatermarkLength::PERCENT_MAX).then_some(WatermarkLength::Percent(percent))
}

fn opacity(input: &Fields<'_>, text: &str) -> Option<u8> {
    let percent = text.strip_suffix('%').and_then(|number| digits(number, 3));
    let percent = percent.and_then(|percent| u8::try_from(percent).ok());
    let percent = percent.filter(|percent| *percent <= Watermark::OPACITY_MAX);
    if percent.is_none() {
        input.reject("opacity", "must be a whole percentage from \"0%\" to \"100%\"");
    }
    percent
}

/// A number of up to `digits_max` digits; the longest ones do not begin with 0, except 0 itself.
fn digits(text: &str, digits_max: usize) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = 2 < digits_max && text.len() == digits_max && text.starts_with('0');
    (is_number && text.len() <= digits_max && !is_padded).then(|| text.parse().ok()).flatten()
}

/// The OpenAPI schema of such an input.
pub(super) fn watermark_input_schema() -> Value {
    let url = json!({"type": "string", "maxLength": URL_MAX, "pattern": "^https?://"});
    let url = with_description(
        url,
        "URL of the image: PNG, JPEG, WebP, or the first frame of a GIF. At most 10 MiB and 50 megapixels.",
    );
    let text = |pattern: &str| json!({"type": "string", "maxLength": LENGTH_CHARS_MAX, "pattern": pattern});
    let length = |description: &str| with_description(text(LENGTH_PATTERN), description);
    let align = |words: [&'static str; 3]| with_default(string_enum(words), words[0]);
    let placement = object(
        &[],
        [
            (
                "xAlign",
                with_description(align(X_ALIGNS), "The edge from which `xMargin` counts, or the middle."),
            ),
            (
                "xMargin",
                with_default(
                    length(
                        "Distance from this edge, in percent of the width or in pixels; with `center`, to the right.",
                    ),
                    MARGIN_DEFAULT,
                ),
            ),
            (
                "yAlign",
                with_description(align(Y_ALIGNS), "The edge from which `yMargin` counts, or the middle."),
            ),
            (
                "yMargin",
                with_default(
                    length(
                        "Distance from this edge, in percent of the height or in pixels; with `middle`, downwards.",
                    ),
                    MARGIN_DEFAULT,
                ),
            ),
        ],
    );
    object(
        &["type", "url"],
        [
            ("type", string_enum(["watermark"])),
            ("url", url),
            (
                "placement",
                with_description(
                    placement,
                    "Position. Pixels are those of the video when it fits 1920x1080, or 1080x1920 if it is higher than wide.",
                ),
            ),
            (
                "width",
                length(
                    "Width, more than 0. One of `width` and `height` keeps the aspect ratio. Default: the size of the image, in pixels of a video that fits 1920x1080.",
                ),
            ),
            ("height", length("Height, more than 0.")),
            (
                "opacity",
                with_default(with_description(text(OPACITY_PATTERN), "Opacity in percent."), OPACITY_DEFAULT),
            ),
        ],
    )
}

#[cfg(test)]
mod tests {
    use kinora_web::fields::Problems;

    use super::*;

    const URL: &str = "https://example.com/logo.png";

    fn read(fields: Value) -> Result<Watermark, String> {
        let mut body = json!({"type": "watermark", "url": URL});
        let Value::Object(fields) = fields else { panic!("an object") };
        body.as_object_mut().unwrap().extend(fields);
        let problems = Problems::default();
        let read = Fields::of_body(&body, &problems).and_then(|fields| watermark_input(&fields));
        problems.into_result(read).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn published_example_parses() {
        let placement = json!({"xAlign": "right", "xMargin": "10%", "yAlign": "middle", "yMargin": "24px"});
        let body =
            json!({"placement": placement, "width": "2.5%", "height": "99.99%", "opacity": "80%", "more": 1});
        let expected = Watermark {
            url: URL.into(),
            placement: WatermarkPlacement {
                x_align: WatermarkAlign::End,
                x_margin: WatermarkLength::Percent(1000),
                y_align: WatermarkAlign::Middle,
                y_margin: WatermarkLength::Pixels(24),
            },
            size: WatermarkSize {
                width: Some(WatermarkLength::Percent(250)),
                height: Some(WatermarkLength::Percent(9999)),
            },
            opacity_percent: 80,
        };
        assert_eq!(read(body), Ok(expected));
    }

    #[test]
    fn default_is_the_upper_left_corner_and_opaque() {
        let expected = Watermark {
            url: URL.into(),
            placement: WatermarkPlacement {
                x_align: WatermarkAlign::Start,
                x_margin: WatermarkLength::Pixels(0),
                y_align: WatermarkAlign::Start,
                y_margin: WatermarkLength::Pixels(0),
            },
            size: WatermarkSize::default(),
            opacity_percent: 100,
        };
        for body in [json!({}), json!({"placement": {}}), json!({"placement": null, "opacity": null})] {
            assert_eq!(read(body), Ok(expected.clone()));
        }
    }

    #[test]
    fn limits_of_lengths_and_opacity_are_accepted() {
        for margin in ["0%", "0px", "100%", "100.00%", "1920px", "07px", "0.01%", "7.5%"] {
            let read = read(json!({"placement": {"xMargin": margin, "yMargin": margin}}));
            assert!(read.is_ok(), "{margin}: {read:?}");
        }
        for opacity in ["0%", "7%", "100%"] {
            assert!(read(json!({"opacity": opacity})).is_ok(), "{opacity}");
        }
    }

    #[test]
    fn invalid_fields_are_named() {
        let margins = [
            "", "10", "abc", "101%", "100.01%", "-1%", "-1px", "1921px", "1,5%", "1.234%", "1.%", ".5%",
            "10 %", " 10%", "10% ", "10PX", "1.5px", "+1px", "0100px", "%", "px", "١%",
        ];
        for margin in margins {
            for name in ["xMargin", "yMargin"] {
                check(json!({"placement": {name: margin}}), &format!("placement.{name}"));
            }
            for name in ["width", "height"] {
                check(json!({name: margin}), name);
            }
        }
        for (body, field) in [
            (json!({"url": null}), "url"),
            (json!({"url": "ftp://example.com/a.png"}), "url"),
            (json!({"url": 7}), "url"),
            (json!({"placement": "left"}), "placement"),
            (json!({"placement": {"xAlign": "top"}}), "placement.xAlign"),
            (json!({"placement": {"xAlign": "Left"}}), "placement.xAlign"),
            (json!({"placement": {"yAlign": "center"}}), "placement.yAlign"),
            (json!({"placement": {"xMargin": 10}}), "placement.xMargin"),
            (json!({"width": "0%"}), "width"),
            (json!({"height": "0px"}), "height"),
            (json!({"width": 100}), "width"),
            (json!({"opacity": "101%"}), "opacity"),
            (json!({"opacity": "-1%"}), "opacity"),
            (json!({"opacity": "80.5%"}), "opacity"),
            (json!({"opacity": "80"}), "opacity"),
            (json!({"opacity": 0.8}), "opacity"),
            (json!({"opacity": "300%"}), "opacity"),
        ] {
            check(body, field);
        }
    }

    #[track_caller]
    fn check(body: Value, field: &str) {
        let rejected = read(body.clone()).expect_err(&body.to_string());
        assert!(rejected.contains(&format!("field: \"{field}\"")), "{body}: {rejected}");
    }
}
