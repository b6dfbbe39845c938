//! Destination and format of log lines.

mod buffer;

use tracing_subscriber::EnvFilter;

use crate::settings::{LogFormat, Settings};
use buffer::{LogBuffer, LogGuard};

/// The log of the process; the drop writes the waiting lines.
pub(crate) type Log = LogGuard<std::io::Stderr>;

/// Starts to write log lines to standard error (D-0091). Fails when no thread can be started.
pub(crate) fn start(settings: &Settings) -> std::io::Result<Log> {
    let filter = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let (lines, end) = LogBuffer::start(std::io::stderr())?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines).with_target(false);
    // Only the first subscriber in a process counts; tests may start several servers.
    let _ = match settings.log_format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => {
            builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).compact().try_init()
        }
    };
    Ok(end)
}
