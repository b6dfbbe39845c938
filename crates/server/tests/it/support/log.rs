//! What the servers of a test have to say, for whoever reads why it failed.

use tracing_subscriber::EnvFilter;

/// What is logged; warnings unless told otherwise.
const VARIABLE: &str = "KINORA_TEST_LOG";

/// Writes the log to standard error, which is shown when a test fails. May run twice.
pub(super) fn start() {
    let filter = std::env::var(VARIABLE).unwrap_or_else(|_| "warn".to_owned());
    // Of several servers in one process the first one starts it.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .try_init();
}
