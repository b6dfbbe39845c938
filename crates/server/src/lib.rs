//! The binary: configuration, wiring, shutdown, commands.
//!
//! This crate combines everything that is known only at the start: flags and files, the system's clock and
//! randomness, the store and the engine. It has no rules about media and no contents of responses.
//!
//! Begin with [`main`], then `command/`; `wiring.rs` is the running server, `router.rs` has its routes.

mod allocator;
mod app;
mod assets;
mod backends;
mod command;
mod confinement;
mod logging;
mod media_details;
mod readiness;
mod report;
mod router;
mod scratch;
mod served_urls;
mod settings;
mod system;
mod tasks;
mod usage;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;

pub use kinora_web::roles::Roles;
pub use settings::{DatabaseUrl, LogFormat, Settings};
pub use system::{SystemClock, SystemKeys, SystemRandom};
pub use wiring::{Server, ServerOptions, StartError};

/// Runs the command line. Exit code 0: done. 1: failed, with the reason on standard error. 2: invalid
/// arguments.
pub fn main() -> ExitCode {
    allocator::tune_allocator();
    let arguments = command::Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(command::run(arguments)),
        Err(error) => Err(command::CommandError::with_cause("the process could not be set up", error)),
    };
    match result {
        Ok(code) => code,
        Err(problem) => {
            command::print_problem(&problem);
            ExitCode::FAILURE
        }
    }
}
