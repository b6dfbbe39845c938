//! Where log lines go and how they look.

mod lines;

use tracing_subscriber::EnvFilter;

use crate::settings::{LogFormat, Settings};
use lines::{End, Lines};

/// Holds the log of the process; what waits is written when it is dropped.
pub(crate) type Log = End<std::io::Stderr>;

/// Writes log lines to standard error from now on (D-0091). An error means that there is no thread for
/// it.
pub(crate) fn start(settings: &Settings) -> std::io::Result<Log> {
    let filter = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let (lines, end) = Lines::start(std::io::stderr())?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines).with_target(false);
    // Only the first one in a process counts; tests may start several servers.
    let _ = match settings.log_format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => {
            builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).compact().try_init()
        }
    };
    Ok(end)
}
