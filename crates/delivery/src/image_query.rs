//! The viewer that requests an image, and its query parameters: read one by one, with all errors reported at
//! once.

use std::borrow::Cow;
use std::fmt::Display;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use kinora_domain::PlaybackId;
use kinora_packager::{Packaged, PlaybackClient};
use kinora_web::error::{ApiError, FieldError};

use super::authorization::{Granted, grant};
use super::playback_request::PlaybackRequest;
use crate::DeliveryState;
use crate::error;

/// Latest time of a parameter, in seconds: sized for a media of 12 hours (C-138), with a margin. A time past
/// the end selects the last frame.
const TIME_S_MAX: f64 = 1_000_000.0;

/// The viewer that requests an image of a media.
#[derive(Clone, Copy)]
pub(super) struct ImageViewer<'a> {
    pub(super) playback: PlaybackId,
    /// The proof of access of the request.
    pub(super) playback_request: &'a PlaybackRequest<'a>,
    /// The client's address; `None` where it is not known.
    pub(super) address: Option<IpAddr>,
}

impl ImageViewer<'_> {
    /// Admits the viewer to the media and its images.
    ///
    /// Every handler of images calls this first, before it reports errors of parameters. 404 where the video
    /// was found not to decode; nothing is retried then.
    pub(super) async fn authorize(self, app: &DeliveryState) -> Result<(Granted, Arc<Packaged>), ApiError> {
        let granted = grant(app, self.playback, self.playback_request).await?;
        if granted.media.is_video_withdrawn {
            return Err(error::from_packager(kinora_packager::Error::NoImage));
        }
        let packaged =
            app.packager.packaged(granted.media.presentation).await.map_err(error::from_packager)?;
        Ok((granted, packaged))
    }

    /// The client that new content is made for.
    pub(super) fn client(self) -> PlaybackClient {
        PlaybackClient { playback: self.playback, address: self.address }
    }
}

/// The parameters of a query. The last one of a name counts; unknown ones are ignored.
pub(super) struct Parameters<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    problems: Vec<FieldError>,
}

impl<'a> Parameters<'a> {
    pub(super) fn of(query: &'a str) -> Self {
        Self { pairs: url::form_urlencoded::parse(query.as_bytes()).collect(), problems: Vec::new() }
    }

    /// Its value, as text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.as_ref())
    }

    /// A time in seconds, with a fraction, as whole milliseconds.
    pub(super) fn time_ms(&mut self, name: &str) -> Option<u64> {
        let seconds =
            self.text(name)?.parse::<f64>().ok().filter(|seconds| (0.0..=TIME_S_MAX).contains(seconds));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
        let time_ms = seconds.map(|seconds| (seconds * 1000.0).round() as u64);
        if time_ms.is_none() {
            self.add_problem(name, format!("must be seconds from 0 to {TIME_S_MAX}"));
        }
        time_ms
    }

    /// A whole number within a range; `unit` is named in the error.
    pub(super) fn number(&mut self, name: &str, range: RangeInclusive<u32>, unit: &str) -> Option<u32> {
        let number = self.text(name)?.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (from, to) = range.into_inner();
            self.add_problem(name, format!("must be a whole number of {unit} from {from} to {to}"));
        }
        number
    }

    /// The value of one of these words.
    pub(super) fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let value = self.text(name)?;
        let mapped = words.iter().find(|(word, _)| *word == value).map(|(_, meant)| *meant);
        if mapped.is_none() {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            self.add_problem(name, format!("must be one of {}", words.join(", ")));
        }
        mapped
    }

    /// Adds an error of a parameter.
    pub(super) fn add_problem(&mut self, name: &str, message: impl Display) {
        self.problems.push(FieldError { field: name.to_owned(), message: message.to_string() });
    }

    /// The parsed value, or 422 with all errors.
    pub(super) fn into_result<T>(self, read: T) -> Result<T, ApiError> {
        if self.problems.is_empty() { Ok(read) } else { Err(ApiError::invalid(self.problems)) }
    }
}
