//! Logging of the servers of a test, for the analysis of failures.

use tracing_subscriber::EnvFilter;

/// The log filter; `warn` by default.
const VARIABLE: &str = "KINORA_TEST_LOG";

/// Writes the log to standard error, which is printed when a test fails. May run twice.
pub(super) fn start() {
    let filter = std::env::var(VARIABLE).unwrap_or_else(|_| "warn".to_owned());
    // Only the first server of a process starts it.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
}
