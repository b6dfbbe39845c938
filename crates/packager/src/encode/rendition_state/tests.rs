//! Tests which requests join a run, and which runs are started.

use super::*;

fn stored(numbers: impl IntoIterator<Item = u32>) -> RenditionState {
    RenditionState::new(numbers.into_iter().collect())
}

/// The segments of the run that is started for a request.
fn started(pending: &PendingSegment) -> Option<Range<u32>> {
    pending.start.as_ref().map(|start| start.numbers.clone())
}

/// A lookup in the store without result, followed by a request.
fn request_segment(state: &mut RenditionState, n: u32) -> PendingSegment {
    let mark = state.stored_version();
    state.request(n, mark).unwrap()
}

fn bytes() -> SegmentResult {
    Ok(Bytes::from_static(b"segment"))
}

/// The state while a run ahead of segment 0 encodes segments 1 to 4 of 20.
fn ahead() -> (RenditionState, RunStart) {
    let mut state = stored([0]);
    let start = state.prefetch(0, 20).unwrap();
    assert_eq!((start.numbers.clone(), start.cause), (1..5, Cause::Prefetch));
    state.run_started(start.id);
    (state, start)
}

#[test]
fn second_request_joins_single_flight() {
    let mut state = stored([]);
    let mut first = request_segment(&mut state, 3);
    assert_eq!(started(&first), Some(3..4));
    assert!(first.start.as_ref().unwrap().cause == Cause::Request);
    let mut second = request_segment(&mut state, 3);
    assert_eq!(started(&second), None);
    let id = first.start.unwrap().id;
    assert!(!state.segment_done(id, 3, &bytes()), "it was started for this one alone");
    for pending in [&mut first.receiver, &mut second.receiver] {
        assert_eq!(pending.try_recv().unwrap().unwrap(), bytes().unwrap());
    }
}

#[test]
fn distant_keyframe_lengthens_run_and_join_distance() {
    let mut state = stored([]).with_prerolls((0..200).collect());
    assert_eq!(state.prefetch(0, 200).unwrap().numbers, 1..5, "a keyframe is near");
    assert_eq!(state.prefetch(40, 200).unwrap().numbers, 41..61);
    let run = state.prefetch(100, 200).unwrap();
    assert_eq!(run.numbers, 101..133);
    state.run_started(run.id);
    assert_eq!(started(&request_segment(&mut state, 126)), None, "another one would decode as much again");
    assert!(state.segment_done(run.id, 101, &bytes()));
    assert_eq!(state.prefetch(190, 200).unwrap().numbers, 191..200);
    // If keyframes are near, the length is the usual one.
    let mut line = stored([]).with_prerolls(vec![0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(line.prefetch(0, 9).unwrap().numbers, 1..5);
}

#[test]
fn request_joins_near_run_or_truncates_it() {
    let (mut state, run) = ahead();
    assert_eq!(started(&request_segment(&mut state, 1)), None);
    assert_eq!(started(&request_segment(&mut state, 3)), None, "two behind the next");
    assert_eq!(started(&request_segment(&mut state, 4)), Some(4..5), "too far");
    assert!(state.segment_done(run.id, 1, &bytes()) && state.segment_done(run.id, 2, &bytes()));
    assert!(!state.segment_done(run.id, 3, &bytes()), "the next one is made by the other");
}

#[test]
fn queued_prefetch_run_yields_to_request() {
    let mut state = stored([0]);
    let run = state.prefetch(0, 20).unwrap();
    let pending = request_segment(&mut state, 1);
    assert_eq!(started(&pending), Some(1..2));
    assert!(run.stop.is_cancelled(), "all of it is started anew behind the other");
    assert_eq!(state.prefetch(1, 20).unwrap().numbers, 2..6);
}

#[test]
fn prefetch_stops_at_stored_segments_and_end() {
    let check = |mut state: RenditionState, n, expected| {
        assert_eq!(state.prefetch(n, 10).map(|start| start.numbers), expected, "behind {n}");
    };
    check(stored([0]), 0, Some(1..5));
    check(stored([0, 1]), 0, Some(2..6));
    check(stored([0, 1, 2]), 0, None);
    check(stored([0, 3]), 0, Some(1..3));
    check(stored([7]), 7, Some(8..10));
    check(stored([9]), 9, None);
    check(stored([]), u32::MAX, None);
    let (mut line, _) = ahead();
    assert!(line.prefetch(0, 20).is_none(), "it is under way");
    assert_eq!(line.prefetch(3, 20).map(|start| start.numbers), Some(5..9), "before the run ends");
}

#[test]
fn run_survives_leaving_viewer() {
    let mut state = stored([]);
    let first = request_segment(&mut state, 5);
    let waiting = first.start.unwrap();
    drop(first.receiver);
    state.request_ended(5);
    assert!(!waiting.stop.is_cancelled());
    let mut rejoined = request_segment(&mut state, 5);
    assert_eq!(started(&rejoined), None);
    state.run_started(waiting.id);
    state.segment_done(waiting.id, 5, &bytes());
    assert!(rejoined.receiver.try_recv().unwrap().is_ok());
}

#[test]
fn prepare_run_is_single_flight_and_yields_to_request() {
    let mut state = stored([]);
    let mut first = state.prepare(0).unwrap();
    let prepared = first.start.take().unwrap();
    assert_eq!((prepared.numbers.clone(), prepared.cause), (0..1, Cause::Prepare));
    let mut second = state.prepare(0).unwrap();
    assert!(second.start.is_none(), "it waits for the first one");
    let requested = request_segment(&mut state, 0).start.unwrap();
    assert_eq!((requested.numbers, requested.cause), (0..1, Cause::Request), "it has no place yet");
    assert!(prepared.stop.is_cancelled());
    state.run_started(requested.id);
    state.segment_done(requested.id, 0, &bytes());
    for waiting in [&mut first, &mut second] {
        assert!(waiting.receiver.try_recv().unwrap().is_ok(), "the run of the request answers it");
    }

    let mut line = stored([]);
    let prepared = line.prepare(0).unwrap().start.unwrap();
    line.run_started(prepared.id);
    assert_eq!(started(&request_segment(&mut line, 0)), None);
    assert!(stored([0]).prepare(0).is_none());
}

#[test]
fn failed_run_fails_its_waiting_requests() {
    let (mut state, run) = ahead();
    let mut unfinished = request_segment(&mut state, 2);
    let mut finished = request_segment(&mut state, 1);
    state.segment_done(run.id, 1, &bytes());
    state.run_ended(run.id, &Arc::new(Error::Busy));
    assert!(finished.receiver.try_recv().unwrap().is_ok());
    assert!(matches!(&unfinished.receiver.try_recv().unwrap(), Err(error) if matches!(**error, Error::Busy)));
    assert_eq!(started(&request_segment(&mut state, 2)), Some(2..3));
}

#[test]
fn segment_fails_after_two_runs_rendition_after_three_segments() {
    let mut state = stored([]);
    assert!(!state.note_failed(4, 20, false) && !state.is_given_up(4));
    assert!(!state.note_failed(4, 20, false) && state.is_given_up(4));
    assert!(!state.note_failed(4, 20, false), "one and the same counts once");
    assert!(!state.note_failed(5, 20, true) && state.is_given_up(5));
    assert_eq!(state.prefetch(3, 20).map(|start| start.numbers), None, "an abandoned segment is not tried");
    assert!(state.note_failed(6, 20, true));

    let mut line = stored([]);
    line.note_failed(1, 20, true);
    line.note_failed(2, 20, true);
    let run = request_segment(&mut line, 3).start.unwrap();
    line.segment_done(run.id, 3, &bytes());
    assert!(!line.note_failed(4, 20, true), "one was made in between");
    assert!(stored([]).note_failed(0, 1, true), "it was all there is");
}

#[test]
fn full_disk_serves_waiting_requests_without_storing() {
    let (mut state, start) = ahead();
    let mut waited = request_segment(&mut state, 3);
    assert_eq!(started(&waited), None);
    let unstored = bytes().unwrap();
    assert!(state.segment_done_unstored(start.id, 1, unstored.clone()));
    assert!(state.segment_done_unstored(start.id, 2, unstored.clone()));
    assert!(!state.segment_done_unstored(start.id, 3, unstored.clone()), "the last one has no waiter");
    assert_eq!(waited.receiver.try_recv().unwrap().unwrap(), unstored);
    assert_eq!(started(&request_segment(&mut state, 3)), Some(3..4), "it is made again");

    let (mut line, start) = ahead();
    assert!(!line.segment_done_unstored(start.id, 1, unstored), "no segment has a waiter");
    let mut later = request_segment(&mut line, 2);
    assert_eq!(started(&later), Some(2..3), "an ended run has no waiter");
    line.run_ended(start.id, &Arc::new(Error::Busy));
    assert!(
        later.receiver.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty),
        "and its end is not that of another run"
    );
}

#[test]
fn stop_cancels_all_runs() {
    let (mut state, run) = ahead();
    let mut waiting = request_segment(&mut state, 1);
    state.stop();
    assert!(run.stop.is_cancelled());
    assert!(waiting.receiver.try_recv().is_err());
    assert_eq!(started(&request_segment(&mut state, 1)), Some(1..2));
}

#[test]
fn segment_stored_during_lookup_is_not_encoded_again() {
    let (mut state, run) = ahead();
    let mark = state.stored_version();
    state.segment_done(run.id, 1, &bytes());
    assert!(state.request(1, mark).is_none(), "it is there");
    // A later lookup without result is right: the segment was evicted.
    assert_eq!(started(&request_segment(&mut state, 1)), Some(1..2));
}

#[test]
fn join_only_request_waits_for_near_run() {
    let (mut state, run) = ahead();
    assert_eq!(state.join(3).map(|pending| started(&pending)), Some(None));
    assert!(state.join(4).is_none() && state.join(9).is_none());
    for n in 1..4 {
        assert!(state.segment_done(run.id, n, &bytes()), "the run goes on behind segment {n}");
    }
    let mut line = stored([0]);
    let waiting = line.prefetch(0, 20).unwrap();
    assert!(line.join(1).is_none() && !waiting.stop.is_cancelled());
}
