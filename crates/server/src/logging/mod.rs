//! Where log lines go and how they look.

mod lines;

use tracing_subscriber::EnvFilter;

use crate::settings::{LogFormat, Settings};
use lines::Lines;

/// Holds the log of the process; what waits is written when it is dropped.
#[must_use]
pub(crate) struct Log {
    _lines: Option<lines::End<std::io::Stderr>>,
}

/// Writes log lines to standard error from now on (decision 0092).
pub(crate) fn start(settings: &Settings) -> Log {
    let filter = EnvFilter::try_new(&settings.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let (lines, end) = match Lines::start(std::io::stderr()) {
        Ok(started) => started,
        Err(error) => {
            eprintln!("kinora: nothing is logged: no thread for it: {error}");
            return Log { _lines: None };
        }
    };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines).with_target(false);
    // Only the first one in a process counts; tests may start several servers.
    let _ = match settings.log_format {
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
        LogFormat::Text => {
            builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).compact().try_init()
        }
    };
    Log { _lines: Some(end) }
}
