//! Who waits for whom, and which runs are started.

use super::*;

fn kept(numbers: impl IntoIterator<Item = u32>) -> Line {
    Line::new(numbers.into_iter().collect())
}

/// The segments of the run that is started for a request.
fn started(wanted: &Wanted) -> Option<Range<u32>> {
    wanted.start.as_ref().map(|start| start.numbers.clone())
}

/// Somebody looks in the store, finds nothing, and asks.
fn want(line: &mut Line, n: u32) -> Wanted {
    let looking = line.looking();
    line.want(n, looking).unwrap()
}

fn bytes() -> Made {
    Ok(Bytes::from_static(b"segment"))
}

/// A line on which a run ahead of segment 0 is under way: segments 1 to 4 of 20.
fn ahead() -> (Line, Start) {
    let mut line = kept([0]);
    let start = line.ahead(0, 20).unwrap();
    assert_eq!((start.numbers.clone(), start.cause), (1..5, Cause::Ahead));
    line.running(start.id);
    (line, start)
}

#[test]
fn the_second_who_asks_joins_the_first() {
    let mut line = kept([]);
    let mut first = want(&mut line, 3);
    assert_eq!(started(&first), Some(3..4));
    assert!(first.start.as_ref().unwrap().cause == Cause::Request);
    let mut second = want(&mut line, 3);
    assert_eq!(started(&second), None);
    let id = first.start.unwrap().id;
    assert!(!line.reached(id, 3, &bytes()), "it was started for this one alone");
    for wanted in [&mut first.made, &mut second.made] {
        assert_eq!(wanted.try_recv().unwrap().unwrap(), bytes().unwrap());
    }
}

#[test]
fn far_behind_a_keyframe_runs_are_longer_and_waited_for_longer() {
    let mut line = kept([]).with_leads((0..200).collect());
    assert_eq!(line.ahead(0, 200).unwrap().numbers, 1..5, "a keyframe is near");
    assert_eq!(line.ahead(40, 200).unwrap().numbers, 41..61);
    let run = line.ahead(100, 200).unwrap();
    assert_eq!(run.numbers, 101..133);
    line.running(run.id);
    assert_eq!(started(&want(&mut line, 126)), None, "another one would decode as much again");
    assert!(line.reached(run.id, 101, &bytes()));
    assert_eq!(line.ahead(190, 200).unwrap().numbers, 191..200);
    // Where keyframes are near it is as everywhere.
    let mut line = kept([]).with_leads(vec![0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(line.ahead(0, 9).unwrap().numbers, 1..5);
}

#[test]
fn a_run_is_joined_for_what_it_makes_soon_and_cut_for_what_it_makes_later() {
    let (mut line, run) = ahead();
    assert_eq!(started(&want(&mut line, 1)), None);
    assert_eq!(started(&want(&mut line, 3)), None, "two behind the next");
    assert_eq!(started(&want(&mut line, 4)), Some(4..5), "too far");
    assert!(line.reached(run.id, 1, &bytes()) && line.reached(run.id, 2, &bytes()));
    assert!(!line.reached(run.id, 3, &bytes()), "the next one is made by the other");
}

#[test]
fn a_run_that_nobody_waits_for_and_that_has_no_place_gives_way() {
    let mut line = kept([0]);
    let run = line.ahead(0, 20).unwrap();
    let wanted = want(&mut line, 1);
    assert_eq!(started(&wanted), Some(1..2));
    assert!(run.stop.is_cancelled(), "all of it is started anew behind the other");
    assert_eq!(line.ahead(1, 20).unwrap().numbers, 2..6);
}

#[test]
fn what_comes_next_is_made_up_to_what_is_there_and_no_further_than_the_end() {
    let check = |mut line: Line, n, expected| {
        assert_eq!(line.ahead(n, 10).map(|start| start.numbers), expected, "behind {n}");
    };
    check(kept([0]), 0, Some(1..5));
    check(kept([0, 1]), 0, Some(2..6));
    check(kept([0, 1, 2]), 0, None);
    check(kept([0, 3]), 0, Some(1..3));
    check(kept([7]), 7, Some(8..10));
    check(kept([9]), 9, None);
    check(kept([]), u32::MAX, None);
    let (mut line, _) = ahead();
    assert!(line.ahead(0, 20).is_none(), "it is under way");
    assert_eq!(line.ahead(3, 20).map(|start| start.numbers), Some(5..9), "before the run ends");
}

#[test]
fn a_run_keeps_its_turn_when_its_viewer_leaves_and_is_joined_by_the_next_request() {
    let mut line = kept([]);
    let first = want(&mut line, 5);
    let waiting = first.start.unwrap();
    drop(first.made);
    line.left(5);
    assert!(!waiting.stop.is_cancelled());
    let mut again = want(&mut line, 5);
    assert_eq!(started(&again), None);
    line.running(waiting.id);
    line.reached(waiting.id, 5, &bytes());
    assert!(again.made.try_recv().unwrap().is_ok());
}

#[test]
fn a_segment_is_prepared_once_and_gives_way_to_a_request() {
    let mut line = kept([]);
    let mut first = line.prepare(0).unwrap();
    let prepared = first.start.take().unwrap();
    assert_eq!((prepared.numbers.clone(), prepared.cause), (0..1, Cause::Prepare));
    let mut second = line.prepare(0).unwrap();
    assert!(second.start.is_none(), "it waits for the first one");
    let requested = want(&mut line, 0).start.unwrap();
    assert_eq!((requested.numbers, requested.cause), (0..1, Cause::Request), "it has no place yet");
    assert!(prepared.stop.is_cancelled());
    line.running(requested.id);
    line.reached(requested.id, 0, &bytes());
    for waiting in [&mut first, &mut second] {
        assert!(waiting.made.try_recv().unwrap().is_ok(), "the run of the request answers it");
    }

    let mut line = kept([]);
    let prepared = line.prepare(0).unwrap().start.unwrap();
    line.running(prepared.id);
    assert_eq!(started(&want(&mut line, 0)), None);
    assert!(kept([0]).prepare(0).is_none());
}

#[test]
fn those_who_wait_for_a_run_that_fails_are_told() {
    let (mut line, run) = ahead();
    let mut soon = want(&mut line, 2);
    let mut made = want(&mut line, 1);
    line.reached(run.id, 1, &bytes());
    line.ended(run.id, &Arc::new(Error::Busy));
    assert!(made.made.try_recv().unwrap().is_ok());
    assert!(matches!(&soon.made.try_recv().unwrap(), Err(error) if matches!(**error, Error::Busy)));
    assert_eq!(started(&want(&mut line, 2)), Some(2..3));
}

#[test]
fn a_segment_is_given_up_after_two_runs_and_a_rendition_after_three_segments() {
    let mut line = kept([]);
    assert!(!line.failed(4, 20, false) && !line.is_given_up(4));
    assert!(!line.failed(4, 20, false) && line.is_given_up(4));
    assert!(!line.failed(4, 20, false), "one and the same counts once");
    assert!(!line.failed(5, 20, true) && line.is_given_up(5));
    assert_eq!(line.ahead(3, 20).map(|start| start.numbers), None, "what is given up is not tried");
    assert!(line.failed(6, 20, true));

    let mut line = kept([]);
    line.failed(1, 20, true);
    line.failed(2, 20, true);
    let run = want(&mut line, 3).start.unwrap();
    line.reached(run.id, 3, &bytes());
    assert!(!line.failed(4, 20, true), "one was made in between");
    assert!(kept([]).failed(0, 1, true), "it was all there is");
}

#[test]
fn without_room_a_run_goes_on_for_those_who_wait_and_nothing_counts_as_kept() {
    let (mut line, start) = ahead();
    let mut waited = want(&mut line, 3);
    assert_eq!(started(&waited), None);
    let unkept = bytes().unwrap();
    assert!(line.reached_unkept(start.id, 1, unkept.clone()));
    assert!(line.reached_unkept(start.id, 2, unkept.clone()));
    assert!(!line.reached_unkept(start.id, 3, unkept.clone()), "nobody waits for the last one");
    assert_eq!(waited.made.try_recv().unwrap().unwrap(), unkept);
    assert_eq!(started(&want(&mut line, 3)), Some(3..4), "it is made again");

    let (mut line, start) = ahead();
    assert!(!line.reached_unkept(start.id, 1, unkept), "nobody waits at all");
    let mut later = want(&mut line, 2);
    assert_eq!(started(&later), Some(2..3), "what is over is not waited for");
    line.ended(start.id, &Arc::new(Error::Busy));
    assert!(
        later.made.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Empty),
        "and its end is not that of another run"
    );
}

#[test]
fn an_end_ends_everything() {
    let (mut line, run) = ahead();
    let mut waiting = want(&mut line, 1);
    line.stop();
    assert!(run.stop.is_cancelled());
    assert!(waiting.made.try_recv().is_err());
    assert_eq!(started(&want(&mut line, 1)), Some(1..2));
}

#[test]
fn a_segment_that_is_kept_after_somebody_looked_for_it_is_not_made_again() {
    let (mut line, run) = ahead();
    let looking = line.looking();
    line.reached(run.id, 1, &bytes());
    assert!(line.want(1, looking).is_none(), "it is there");
    // Somebody who looks now and finds nothing is right: it was let go.
    assert_eq!(started(&want(&mut line, 1)), Some(1..2));
}

#[test]
fn whoever_may_start_no_run_waits_for_one_that_is_near_and_changes_none() {
    let (mut line, run) = ahead();
    assert_eq!(line.join(3).map(|wanted| started(&wanted)), Some(None));
    assert!(line.join(4).is_none() && line.join(9).is_none());
    for n in 1..4 {
        assert!(line.reached(run.id, n, &bytes()), "the run goes on behind segment {n}");
    }
    let mut line = kept([0]);
    let waiting = line.ahead(0, 20).unwrap();
    assert!(line.join(1).is_none() && !waiting.stop.is_cancelled());
}
