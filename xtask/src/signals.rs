use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that request the end of a program.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> rustix::process::Signal {
        tokio::select! {
            _ = self.interrupt.recv() => rustix::process::Signal::INT,
            _ = self.terminate.recv() => rustix::process::Signal::TERM,
        }
    }

    /// A signal that has already been delivered. Does not wait for one.
    pub(crate) async fn arrived(&mut self) -> Option<rustix::process::Signal> {
        // Lets the signal driver run first.
        tokio::task::yield_now().await;
        tokio::select! {
            biased;
            asked = self.next() => Some(asked),
            () = std::future::ready(()) => None,
        }
    }
}
