//! Lines of the log on their way out: many in one call of the system, where many are answered.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// So long a line may wait for others. Who watches a log does not see it; a process that is killed loses so
/// much of it.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// So much waits at most, in bytes: some hundred lines.
const WAITING_MAX: usize = 64 << 10;

/// Takes lines. Those that warn are written at once, behind those that wait.
pub(super) struct Lines<W>(Arc<Shared<W>>);

struct Shared<W> {
    state: Mutex<State<W>>,
    /// A first line waits, or there will be none any more.
    changed: Condvar,
}

struct State<W> {
    out: W,
    waiting: Vec<u8>,
    has_ended: bool,
}

/// Ends the thread that writes, and writes what waits, when it is dropped. What is logged later is written at
/// once.
#[must_use]
pub(crate) struct End<W> {
    shared: Arc<Shared<W>>,
    thread: Option<JoinHandle<()>>,
}

/// What one event is written to.
pub(super) struct Line<'a, W> {
    shared: &'a Shared<W>,
    is_urgent: bool,
}

impl<W: Write + Send + 'static> Lines<W> {
    /// Lines that go to `out`. An error means that there is no thread for it.
    pub(super) fn start(out: W) -> io::Result<(Self, End<W>)> {
        let state = State { out, waiting: Vec::with_capacity(WAITING_MAX), has_ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let writer = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("kinora-log".into()).spawn(move || writer.run())?;
        Ok((Self(Arc::clone(&shared)), End { shared, thread: Some(thread) }))
    }
}

impl<W: Write> Shared<W> {
    /// Whoever panics while it holds the lock has written less than it wanted, and no harm is done.
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.has_ended {
            if state.waiting.is_empty() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let others = self.changed.wait_timeout(state, WAIT_MAX).unwrap_or_else(PoisonError::into_inner);
            state = others.0;
            state.write();
        }
        state.write();
    }
}

impl<W: Write> State<W> {
    fn write(&mut self) {
        // A log that cannot be written is nothing that could be told of.
        let _ = self.out.write_all(&self.waiting).and_then(|()| self.out.flush());
        self.waiting.clear();
    }
}

impl<W: Write> Write for Line<'_, W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.lock();
        let is_first = state.waiting.is_empty();
        state.waiting.extend_from_slice(line);
        if self.is_urgent || state.has_ended || state.waiting.len() >= WAITING_MAX {
            state.write();
        } else if is_first {
            self.shared.changed.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a, W: Write + 'static> MakeWriter<'a> for Lines<W> {
    type Writer = Line<'a, W>;

    fn make_writer(&'a self) -> Self::Writer {
        Line { shared: &self.0, is_urgent: true }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> Self::Writer {
        Line { shared: &self.0, is_urgent: *event.level() <= Level::WARN }
    }
}

impl<W> Drop for End<W> {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    struct Told(Sender<String>);

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn started() -> (Lines<Told>, End<Told>, Receiver<String>) {
        let (sender, told) = channel();
        let (lines, end) = Lines::start(Told(sender)).unwrap();
        (lines, end, told)
    }

    fn log(lines: &Lines<Told>, is_urgent: bool, line: &str) {
        Line { shared: &lines.0, is_urgent }.write_all(line.as_bytes()).unwrap();
    }

    #[test]
    fn lines_go_out_by_themselves_in_their_order() {
        let (lines, _end, told) = started();
        let mut written = String::new();
        for line in ["a\n", "b\n", "c\n"] {
            log(&lines, false, line);
        }
        while written.len() < 6 {
            written += &told.recv().unwrap();
        }
        assert_eq!(written, "a\nb\nc\n");
    }

    #[test]
    fn a_warning_goes_out_before_its_writer_goes_on_and_takes_along_what_waits() {
        let (lines, _end, told) = started();
        log(&lines, false, "a\n");
        log(&lines, true, "b\n");
        assert_eq!(told.try_iter().collect::<String>(), "a\nb\n");
    }

    #[test]
    fn what_waits_has_a_bound() {
        let (lines, _end, told) = started();
        let line = "x".repeat(WAITING_MAX);
        log(&lines, false, &line);
        assert_eq!(told.try_iter().collect::<String>(), line);
    }

    #[test]
    fn the_end_takes_along_what_waits_and_later_lines_do_not_wait() {
        let (lines, end, told) = started();
        log(&lines, false, "a\n");
        drop(end);
        assert_eq!(told.try_iter().collect::<String>(), "a\n");
        log(&lines, false, "b\n");
        assert_eq!(told.try_iter().collect::<String>(), "b\n");
    }
}
