//! Progress of long operations.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A spinner on standard error while the command waits; nothing without a terminal.
pub(super) struct Spinner(ProgressBar);

impl Spinner {
    pub(super) fn start(text: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(text.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    pub(super) fn set_message(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar on standard error that shows the transferred bytes; nothing without a terminal. Clones are the same
/// bar.
#[derive(Clone)]
pub(super) struct TransferBar(Arc<Bar>);

struct Bar(ProgressBar);

impl TransferBar {
    pub(super) fn start(len: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template(
            "{wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left {msg}",
        );
        bar.set_style(style.expect("the template names what indicatif knows"));
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(Arc::new(Bar(bar)))
    }

    /// Sets the number of bytes that are stored already; only later bytes count for the speed.
    pub(super) fn resume_from(&self, offset: u64) {
        self.0.0.set_position(offset);
        self.0.0.reset_eta();
    }

    pub(super) fn advance(&self, bytes: u64) {
        self.0.0.inc(bytes);
    }

    pub(super) fn set_message(&self, text: &str) {
        self.0.0.set_message(text.to_owned());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
