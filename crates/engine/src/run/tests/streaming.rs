//! Runs that are fed while they work: the timing of their output, and the result of each failure.

use std::io;

use futures_util::{Stream, StreamExt, stream};
use tokio::sync::oneshot;

use super::*;
use crate::output_stream::OutputStream;
use crate::run::TimeoutKind;

fn chunk(bytes: impl Into<Bytes>) -> io::Result<Bytes> {
    Ok(bytes.into())
}

fn start(
    program: &Program,
    limits: Limits,
    feed: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> OutputStream {
    program.runner.start(job(&[], limits), feed, TimeoutKind::Idle)
}

/// The complete output, and how it ends.
async fn all(mut run: OutputStream) -> (String, Result<(), EngineError>) {
    let mut output = Vec::new();
    while let Some(chunk) = run.next().await {
        match chunk {
            Ok(bytes) => output.extend_from_slice(&bytes),
            Err(error) => {
                assert!(run.next().await.is_none(), "nothing comes after the error");
                return (String::from_utf8(output).unwrap(), Err(error));
            }
        }
    }
    assert!(run.next().await.is_none(), "an end is the end");
    (String::from_utf8(output).unwrap(), Ok(()))
}

/// Runs a script fed with `feed`, and compares its output and its result.
async fn check(
    script: &str,
    limits: Limits,
    feed: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    (output, end): (&str, &str),
) {
    let program = Program::new(script);
    let (found, ended) = all(start(&program, limits, feed)).await;
    assert_eq!((found.as_str(), format!("{ended:?}").as_str()), (output, end), "{script}");
    program.until_running(0).await;
}

/// Fires all timers up to `duration` from now.
async fn pass(duration: Duration) {
    tokio::time::pause();
    tokio::time::advance(duration).await;
    tokio::time::resume();
}

/// A feed that stays pending.
fn silence() -> impl Stream<Item = io::Result<Bytes>> {
    stream::pending()
}

#[tokio::test]
async fn output_streams_while_the_feed_is_open() {
    let program = Program::new("while read line; do echo $line $line; done");
    let (feed, chunks) = tokio::sync::mpsc::channel(1);
    let chunks = stream::unfold(chunks, |mut chunks| async { Some((chunk(chunks.recv().await?), chunks)) });
    let mut run = start(&program, limits(LONG), chunks);
    for word in ["one", "two", "three"] {
        feed.send(format!("{word}\n")).await.unwrap();
        assert_eq!(run.chunk().await.unwrap().unwrap(), format!("{word} {word}\n"));
    }
    drop(feed);
    assert!(run.chunk().await.is_none());
}

#[tokio::test]
async fn deadline_excludes_pauses_of_the_feed() {
    let (go_on, gone_on) = oneshot::channel();
    let tail = stream::once(async move {
        gone_on.await.map_err(io::Error::other)?;
        chunk("end\n")
    });
    let program = Program::new("exec cat");
    let mut run = start(&program, limits(LONG), stream::iter([chunk("begin\n")]).chain(tail));
    // It comes back after it was written, and since then the run waits for its feed.
    assert_eq!(run.chunk().await.unwrap().unwrap(), "begin\n");
    pass(10 * LONG).await;
    go_on.send(()).unwrap();
    let (output, end) = all(run).await;
    assert_eq!(output, "end\n");
    end.unwrap();
}

/// That no time passes meanwhile is tested with the pipes.
#[tokio::test]
async fn output_is_complete_although_the_caller_paused() {
    let program = Program::new(&format!("exec head -c 1000000 $0\n{}", "#".repeat(1_000_000)));
    let mut run = start(&program, limits(LONG), stream::empty());
    let first = run.chunk().await.unwrap().unwrap().len();
    super::check("echo another run", limits(LONG), "ok: another run\n").await;
    let (rest, end) = all(run).await;
    end.unwrap();
    assert_eq!(first + rest.len(), 1_000_000);
}

/// A script that prints `output` and then hangs is killed at its deadline. Once in a test: a process started
/// on a clock that has jumped would count the jump, because its thread uses the system's clock only.
async fn check_hangs(
    script: &str,
    feed: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    output: &str,
) {
    let program = Program::new(script);
    let mut run = start(&program, limits(LONG), feed);
    let mut received = Vec::new();
    while received.len() < output.len() {
        received.extend_from_slice(&run.chunk().await.unwrap().unwrap());
    }
    assert_eq!(String::from_utf8_lossy(&received), output, "{script}");
    // No other event is pending, so the clock jumps to the deadline.
    tokio::time::pause();
    let (more, end) = all(run).await;
    tokio::time::resume();
    assert_eq!((more.as_str(), format!("{end:?}").as_str()), ("", "Err(TimedOut(60s))"), "{script}");
    program.until_running(0).await;
}

/// A feed that never ends.
fn endless() -> impl Stream<Item = io::Result<Bytes>> {
    stream::repeat_with(|| chunk(vec![b'a'; 1 << 16]))
}

#[tokio::test]
async fn process_that_hangs_with_its_feed_full_is_killed() {
    check_hangs("while :; do :; done", endless(), "").await;
}

#[tokio::test]
async fn process_that_hangs_after_its_output_is_killed() {
    let script = "echo begin; exec tail -f $0";
    check_hangs(script, endless(), &format!("begin\n#!/bin/sh\n{script}\n")).await;
}

#[tokio::test]
async fn process_that_hangs_after_its_input_is_killed() {
    check_hangs("read line; printf %s \"$line\"; while :; do :; done", stream::iter([chunk("all")]), "all")
        .await;
}

#[tokio::test]
async fn each_byte_that_moves_restarts_the_deadline() {
    // Each piece of work lasts until a file exists, and its byte comes after more than half of the deadline.
    let deadline = 60 * LONG;
    let work =
        "i=0; while [ $i -lt 5 ]; do until [ -e $1/$i ]; do :; done; read n; printf %s $n; i=$((i+1)); done";
    let (program, done) = (Program::new(work), tempfile::tempdir().unwrap());
    let job = job(&[done.path().to_str().unwrap()], Limits { deadline, ..limits(LONG) });
    let mut run = program.runner.start(job, stream::iter([chunk("0\n1\n2\n3\n4\n")]), TimeoutKind::Idle);
    for n in ["0", "1", "2", "3", "4"] {
        pass(deadline * 3 / 5).await;
        fs::write(done.path().join(n), "").unwrap();
        assert_eq!(run.chunk().await.unwrap().unwrap(), n);
    }
    assert!(run.chunk().await.is_none());
}

#[tokio::test]
async fn each_failure_has_its_own_error() {
    let crash = "read line; echo $line; echo half of a fragm; kill -SEGV $$ || exit 139";
    let half = "begin\nhalf of a fragm\n";
    let feed = || stream::iter([chunk("begin\n")]);
    check(crash, limits(LONG), feed(), (half, "Err(Failed { exit: Some(139) })")).await;
    check("echo half; exit 1", limits(LONG), silence(), ("half\n", "Err(Failed { exit: Some(1) })")).await;
    let cpu = Limits { cpu: Duration::from_secs(1), ..limits(LONG) };
    check("while :; do :; done", cpu, silence(), ("", "Err(CpuExhausted(1s))")).await;
    check(
        "read line; exit 0",
        limits(LONG),
        stream::iter([chunk("ab"), Err(io::ErrorKind::NotFound.into())]),
        ("", "Err(Input(Kind(NotFound)))"),
    )
    .await;
    let memory = "echo x264: malloc of size 9 failed >&2; exit 1";
    check(memory, limits(LONG), feed(), ("", "Err(MemoryExhausted { max_bytes: 67108864 })")).await;
    let full = "echo av_interleaved_write_frame: No space left on device >&2; exit 1";
    check(full, limits(LONG), feed(), ("", "Err(DiskFull)")).await;

    let program = Program::new("exec yes $0");
    let (output, end) = all(start(&program, limits(LONG), silence())).await;
    assert!(matches!(end, Err(EngineError::OutputTooLarge { max_bytes: 1_048_576 })), "{end:?}");
    assert!(output.len() <= 1 << 20);
    program.until_running(0).await;
}

#[tokio::test]
async fn early_process_exit_ends_the_run_with_an_open_feed() {
    check(
        "exec head -c 3",
        limits(LONG),
        stream::iter([chunk("abcdef")]).chain(silence()),
        ("abc", "Ok(())"),
    )
    .await;
    check("echo nothing wanted", limits(LONG), silence(), ("nothing wanted\n", "Ok(())")).await;
}

#[tokio::test]
async fn dropped_output_stream_kills_process() {
    let program = Program::without_filter(
        "if [ \"$1\" != child ]; then $0 child & echo begun; fi; while :; do :; done",
    );
    let mut run = start(&program, limits(LONG), silence());
    assert_eq!(run.chunk().await.unwrap().unwrap(), "begun\n");
    program.until_running(2).await;
    drop(run);
    program.until_running(0).await;

    let one = Runner::new(program.runner.sandbox.clone(), Admission::new(NonZeroUsize::new(1)));
    let mut running = one.start(job(&[], limits(LONG)), silence(), TimeoutKind::Idle);
    assert!(running.chunk().await.unwrap().is_ok());
    let mut waiting = one.start(job(&[], limits(LONG)), silence(), TimeoutKind::Idle);
    tokio::select! {
        biased;
        _ = waiting.chunk() => panic!("there is one place"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(one.admission.load().waiting, 1);
    drop(waiting);
    while one.admission.load().waiting != 0 {
        tokio::task::yield_now().await;
    }
    drop(running);
    program.until_running(0).await;
}

/// Waits until the one process of `program` is stopped: `T` in proc_pid_stat(5).
async fn until_stopped(program: &Program) {
    let folder = program.folder.path().to_str().unwrap();
    let is_stopped = |process: &Path| {
        let command_line = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command_line).contains(folder)
            && fs::read_to_string(process.join("stat")).is_ok_and(|stat| stat.contains(") T "))
    };
    let mut interval = tokio::time::interval(Duration::from_millis(2));
    while !fs::read_dir("/proc").unwrap().any(|entry| is_stopped(&entry.unwrap().path())) {
        interval.tick().await;
    }
}

#[tokio::test]
async fn background_run_is_paused_for_viewer() {
    let background = Program::new("echo begun; read line; printf %s \"$line\"");
    let admission = Admission::new(NonZeroUsize::new(1));
    let one = Runner::new(background.runner.sandbox.clone(), admission.clone());
    let (finish, finished) = oneshot::channel();
    let feed = stream::once(async move {
        finished.await.map_err(io::Error::other)?;
        chunk("and finished")
    });
    let mut run =
        one.start(Job { priority: Priority::Background, ..job(&[], limits(LONG)) }, feed, TimeoutKind::Total);
    assert_eq!(run.chunk().await.unwrap().unwrap(), "begun\n");

    let viewer = Program::new("while :; do :; done");
    let viewers = Runner::new(viewer.runner.sandbox.clone(), admission);
    let mut viewing = Box::pin(viewers.run(job(&[], limits(LONG))));
    tokio::select! {
        end = &mut viewing => panic!("ended by itself: {end:?}"),
        () = until_stopped(&background) => {}
    }
    drop(viewing);

    finish.send(()).unwrap();
    let (output, end) = all(run).await;
    end.unwrap();
    assert_eq!(output, "and finished");
    background.until_running(0).await;
}

#[tokio::test]
async fn paused_run_can_be_dropped() {
    let background = Program::new("echo begun; while :; do :; done");
    let admission = Admission::new(NonZeroUsize::new(1));
    let one = Runner::new(background.runner.sandbox.clone(), admission.clone());
    let job_of = |priority| Job { priority, ..job(&[], limits(LONG)) };
    let mut run = one.start(job_of(Priority::Background), silence(), TimeoutKind::Idle);
    assert!(run.chunk().await.unwrap().is_ok());
    let mut viewer = one.start(job_of(Priority::Viewer), silence(), TimeoutKind::Idle);
    assert!(viewer.chunk().await.unwrap().is_ok());
    drop(run);
    background.until_running(1).await;
    drop(viewer);
    background.until_running(0).await;
}
