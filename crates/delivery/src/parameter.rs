//! Who asks for a picture, and with which query parameters: read one by one, all that are wrong told at once.

use std::borrow::Cow;
use std::fmt::Display;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

use kinora_domain::PlaybackId;
use kinora_packager::{Asker, Packaged};
use kinora_web::error::{ApiError, FieldError};

use super::gate::{Granted, grant};
use super::viewing::Viewing;
use crate::DeliveryState;
use crate::error;

/// Latest time of a parameter: sized for a media of 12 hours (C-138), with room. A time past the end is the
/// last frame.
const TIME_S_MAX: f64 = 1_000_000.0;

/// Who asks for a picture of what.
#[derive(Clone, Copy)]
pub(super) struct Viewer<'a> {
    pub(super) playback: PlaybackId,
    /// By what they would be let in.
    pub(super) viewing: &'a Viewing<'a>,
    /// Whence; `None` where that is not known.
    pub(super) address: Option<IpAddr>,
}

impl Viewer<'_> {
    /// What this one may see of the media, and its pictures: the one place where all that shows them asks,
    /// before anything is said of its parameters. 404 where they turned out not to decode, for which nothing
    /// is tried again.
    pub(super) async fn look(self, app: &DeliveryState) -> Result<(Granted, Arc<Packaged>), ApiError> {
        let granted = grant(app, self.playback, self.viewing).await?;
        if granted.offer.is_video_withdrawn {
            return Err(error::from_packager(kinora_packager::Error::NoPicture));
        }
        let packaged =
            app.packager.packaged(granted.offer.presentation).await.map_err(error::from_packager)?;
        Ok((granted, packaged))
    }

    /// For whom something has to be made.
    pub(super) fn asker(self) -> Asker {
        Asker { playback: self.playback, address: self.address }
    }
}

/// The parameters of a query. Of one that is there twice the last counts; those nobody asks for are nobody's
/// business.
pub(super) struct Parameters<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    problems: Vec<FieldError>,
}

impl<'a> Parameters<'a> {
    pub(super) fn of(query: &'a str) -> Self {
        Self { pairs: url::form_urlencoded::parse(query.as_bytes()).collect(), problems: Vec::new() }
    }

    /// Its value as it was sent.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(found, _)| found == name).map(|(_, value)| value.as_ref())
    }

    /// Seconds with a fraction, as whole milliseconds.
    pub(super) fn time_ms(&mut self, name: &str) -> Option<u64> {
        let seconds =
            self.text(name)?.parse::<f64>().ok().filter(|seconds| (0.0..=TIME_S_MAX).contains(seconds));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
        let time_ms = seconds.map(|seconds| (seconds * 1000.0).round() as u64);
        if time_ms.is_none() {
            self.refuse(name, format!("must be seconds from 0 to {TIME_S_MAX}"));
        }
        time_ms
    }

    /// A whole number of something.
    pub(super) fn number(&mut self, name: &str, range: RangeInclusive<u32>, of_what: &str) -> Option<u32> {
        let number = self.text(name)?.parse().ok().filter(|number| range.contains(number));
        if number.is_none() {
            let (from, to) = range.into_inner();
            self.refuse(name, format!("must be a whole number of {of_what} from {from} to {to}"));
        }
        number
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let value = self.text(name)?;
        let meant = words.iter().find(|(word, _)| *word == value).map(|(_, meant)| *meant);
        if meant.is_none() {
            let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            self.refuse(name, format!("must be one of {}", words.join(", ")));
        }
        meant
    }

    /// Says what is wrong with a parameter.
    pub(super) fn refuse(&mut self, name: &str, message: impl Display) {
        self.problems.push(FieldError { field: name.to_owned(), message: message.to_string() });
    }

    /// What was read, or 422 with all that is wrong.
    pub(super) fn into_result<T>(self, read: T) -> Result<T, ApiError> {
        if self.problems.is_empty() { Ok(read) } else { Err(ApiError::invalid(self.problems)) }
    }
}
