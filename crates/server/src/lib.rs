//! The binary: configuration, wiring, shutdown, commands.
//!
//! Everything that is only known at the start comes together here: flags and files, the system's clock and
//! randomness, which store and which engine. Nothing here decides what a media is or what an answer says.
//!
//! Begin with [`main`], then `command/`; `wiring.rs` is the running server, `router.rs` what it answers.

mod addresses;
mod app;
mod assets;
mod command;
mod confinement;
mod health;
mod logging;
mod memory;
mod place;
mod router;
mod running;
mod scratch;
mod settings;
mod system;
mod usage;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;

pub use kinora_web::roles::Roles;
pub use settings::{DatabaseUrl, LogFormat, Settings};
pub use system::{SystemClock, SystemKeys, SystemRandom};
pub use wiring::{Server, ServerOptions, StartError};

/// Runs the command line. 0: done. 1: it could not be done, with the reason on standard error. 2: it cannot
/// be understood.
pub fn main() -> ExitCode {
    memory::keep_what_is_soon_wanted();
    let arguments = command::Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(command::run(arguments)),
        Err(error) => Err(command::Problem::with_cause("the process could not be set up", error)),
    };
    match result {
        Ok(code) => code,
        Err(problem) => {
            command::print_problem(&problem);
            ExitCode::FAILURE
        }
    }
}
