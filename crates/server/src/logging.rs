//! Where log lines go and how they look.

use tracing_subscriber::EnvFilter;

use crate::settings::{LogFormat, Settings};

/// Writes log lines to standard error from now on.
pub(crate) fn start(settings: &Settings) {
    let filter = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Only the first one in a process counts; tests may start several servers.
    let _ = match settings.log_format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => {
            builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).compact().try_init()
        }
    };
}
