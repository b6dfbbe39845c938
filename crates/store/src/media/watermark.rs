//! The watermark of a media, as JSON in a row.

use kinora_domain::{Watermark, WatermarkAlign, WatermarkLength, WatermarkPlacement, WatermarkSize};
use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Serialize, Deserialize)]
pub(crate) struct WatermarkJson {
    url: String,
    x: AlignJson,
    x_margin: LengthJson,
    y: AlignJson,
    y_margin: LengthJson,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<LengthJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    height: Option<LengthJson>,
    /// In percent.
    opacity: u8,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AlignJson {
    Start,
    Middle,
    End,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LengthJson {
    /// In hundredths.
    Percent(u16),
    Pixels(u16),
}

impl WatermarkJson {
    /// The JSON of a watermark; `None` for none.
    pub(crate) fn text(watermark: Option<&Watermark>) -> Option<String> {
        let text = |watermark| serde_json::to_string(&Self::from(watermark));
        watermark.map(|watermark| text(watermark).expect("texts and numbers are always JSON"))
    }

    pub(crate) fn read(text: Option<String>) -> Result<Option<Watermark>, Error> {
        let read =
            text.map(|text| serde_json::from_str::<Self>(&text)).transpose().map_err(Error::internal)?;
        Ok(read.map(Watermark::from))
    }
}

impl From<&Watermark> for WatermarkJson {
    fn from(watermark: &Watermark) -> Self {
        let WatermarkPlacement { x_align, x_margin, y_align, y_margin } = watermark.placement;
        Self {
            url: watermark.url.clone(),
            x: x_align.into(),
            x_margin: x_margin.into(),
            y: y_align.into(),
            y_margin: y_margin.into(),
            width: watermark.size.width.map(LengthJson::from),
            height: watermark.size.height.map(LengthJson::from),
            opacity: watermark.opacity_percent,
        }
    }
}

impl From<WatermarkJson> for Watermark {
    fn from(json: WatermarkJson) -> Self {
        Self {
            url: json.url,
            placement: WatermarkPlacement {
                x_align: json.x.into(),
                x_margin: json.x_margin.into(),
                y_align: json.y.into(),
                y_margin: json.y_margin.into(),
            },
            size: WatermarkSize {
                width: json.width.map(WatermarkLength::from),
                height: json.height.map(WatermarkLength::from),
            },
            opacity_percent: json.opacity,
        }
    }
}

impl From<WatermarkAlign> for AlignJson {
    fn from(align: WatermarkAlign) -> Self {
        match align {
            WatermarkAlign::Start => Self::Start,
            WatermarkAlign::Middle => Self::Middle,
            WatermarkAlign::End => Self::End,
        }
    }
}

impl From<AlignJson> for WatermarkAlign {
    fn from(json: AlignJson) -> Self {
        match json {
            AlignJson::Start => Self::Start,
            AlignJson::Middle => Self::Middle,
            AlignJson::End => Self::End,
        }
    }
}

impl From<WatermarkLength> for LengthJson {
    fn from(length: WatermarkLength) -> Self {
        match length {
            WatermarkLength::Percent(hundredths) => Self::Percent(hundredths),
            WatermarkLength::Pixels(pixels) => Self::Pixels(pixels),
        }
    }
}

impl From<LengthJson> for WatermarkLength {
    fn from(json: LengthJson) -> Self {
        match json {
            LengthJson::Percent(hundredths) => Self::Percent(hundredths),
            LengthJson::Pixels(pixels) => Self::Pixels(pixels),
        }
    }
}
