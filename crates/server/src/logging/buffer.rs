//! Writes log lines in batches: under load many lines share one system call.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Longest time a line waits for others. A reader of the log does not notice it; a killed process loses that
/// much of its log.
const WAIT_MAX: Duration = Duration::from_millis(50);
/// Most bytes that wait: some hundred lines.
const WAITING_MAX: usize = 64 << 10;

/// Takes lines. Warnings and errors are written at once, after the waiting lines.
pub(super) struct LogBuffer<W>(Arc<Shared<W>>);

struct Shared<W> {
    state: Mutex<State<W>>,
    /// Notified when a first line waits, or the log has ended.
    changed: Condvar,
}

struct State<W> {
    out: W,
    waiting: Vec<u8>,
    has_ended: bool,
}

/// Ends the writer thread on drop, after it has written the waiting lines. Later lines are written at once.
#[must_use]
pub(crate) struct LogGuard<W> {
    shared: Arc<Shared<W>>,
    thread: Option<JoinHandle<()>>,
}

/// The writer of one event.
pub(super) struct LogLine<'a, W> {
    shared: &'a Shared<W>,
    is_urgent: bool,
}

impl<W: Write + Send + 'static> LogBuffer<W> {
    /// Lines that go to `out`. Fails when no thread can be started.
    pub(super) fn start(out: W) -> io::Result<(Self, LogGuard<W>)> {
        let state = State { out, waiting: Vec::with_capacity(WAITING_MAX), has_ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let writer = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("kinora-log".into()).spawn(move || writer.run())?;
        Ok((Self(Arc::clone(&shared)), LogGuard { shared, thread: Some(thread) }))
    }
}

impl<W: Write> Shared<W> {
    /// A panic under the lock leaves fewer bytes written, which does no harm.
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
        // A failure of the log cannot be reported anywhere.
        let _ = self.out.write_all(&self.waiting).and_then(|()| self.out.flush());
        self.waiting.clear();
    }
}

impl<W: Write> Write for LogLine<'_, W> {
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

impl<'a, W: Write + 'static> MakeWriter<'a> for LogBuffer<W> {
    type Writer = LogLine<'a, W>;

    fn make_writer(&'a self) -> Self::Writer {
        LogLine { shared: &self.0, is_urgent: true }
    }

    fn make_writer_for(&'a self, event: &Metadata<'_>) -> Self::Writer {
        LogLine { shared: &self.0, is_urgent: *event.level() <= Level::WARN }
    }
}

impl<W> Drop for LogGuard<W> {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    struct TestOutput(Sender<String>);

    impl Write for TestOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8(bytes.to_vec()).unwrap()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn started() -> (LogBuffer<TestOutput>, LogGuard<TestOutput>, Receiver<String>) {
        let (sender, output) = channel();
        let (lines, end) = LogBuffer::start(TestOutput(sender)).unwrap();
        (lines, end, output)
    }

    fn log(lines: &LogBuffer<TestOutput>, is_urgent: bool, line: &str) {
        LogLine { shared: &lines.0, is_urgent }.write_all(line.as_bytes()).unwrap();
    }

    #[test]
    fn lines_are_flushed_in_order() {
        let (lines, _end, output) = started();
        let mut written = String::new();
        for line in ["a\n", "b\n", "c\n"] {
            log(&lines, false, line);
        }
        while written.len() < 6 {
            written += &output.recv().unwrap();
        }
        assert_eq!(written, "a\nb\nc\n");
    }

    #[test]
    fn warning_flushes_buffered_lines() {
        let (lines, _end, output) = started();
        log(&lines, false, "a\n");
        log(&lines, true, "b\n");
        assert_eq!(output.try_iter().collect::<String>(), "a\nb\n");
    }

    #[test]
    fn log_buffer_is_bounded() {
        let (lines, _end, output) = started();
        let line = "x".repeat(WAITING_MAX);
        log(&lines, false, &line);
        assert_eq!(output.try_iter().collect::<String>(), line);
    }

    #[test]
    fn drop_flushes_log_buffer_later_lines_are_unbuffered() {
        let (lines, end, output) = started();
        log(&lines, false, "a\n");
        drop(end);
        assert_eq!(output.try_iter().collect::<String>(), "a\n");
        log(&lines, false, "b\n");
        assert_eq!(output.try_iter().collect::<String>(), "b\n");
    }
}
