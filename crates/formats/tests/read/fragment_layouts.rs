//! Fragments in every form that the standard allows: 45 frames, written differently, read as the same.

use kinora_index::Sample;

use crate::{
    fixture,
    patch_boxes::{boxed, changed, words},
    read,
};

/// Ticks of one frame of the movie that [`init`] begins.
pub(crate) const FRAME_TICKS: u32 = 1024;
/// Frames of a fragment: a GOP.
pub(crate) const GOP: u32 = 15;
const FRAME_COUNT: u32 = 45;
/// Flags of a dependent and of an independent sample. ISO/IEC 14496-12, 8.8.3.1.
const DEPENDENT: u32 = 0x0101_0000;
const INDEPENDENT: u32 = 0x0200_0000;

const BASE_DATA_OFFSET: u32 = 1;
const DESCRIPTION: u32 = 2;
const DEFAULT_DURATION: u32 = 8;
const DEFAULT_SIZE: u32 = 0x10;
const DEFAULT_FLAGS: u32 = 0x20;
const IS_EMPTY: u32 = 0x1_0000;
const BASE_IS_MOOF: u32 = 0x2_0000;

const DATA_OFFSET: u32 = 1;
const FIRST_FLAGS: u32 = 4;
const DURATION: u32 = 0x100;
const SIZE: u32 = 0x200;
const FLAGS: u32 = 0x400;
const COMPOSITION: u32 = 0x800;

/// `ftyp` and `moov` of a movie with one video track, number 1, of 15,360 ticks per second.
pub(crate) fn init() -> Vec<u8> {
    let bytes = fixture("every_frame.mp4");
    let end = bytes.windows(4).position(|window| window == b"moof").unwrap() - 4;
    bytes[..end].to_vec()
}

/// How the fragments are written.
#[derive(Clone)]
struct Form {
    /// Flags of `tfhd` and `trun` for the fields that are written.
    tfhd: u32,
    trun: u32,
    trun_version: u8,
    tfdt_version: Option<u8>,
    /// Decode time of the first frame.
    start: u64,
    trafs: usize,
    runs: usize,
    /// Only the first run of a `traf` has a data offset.
    one_offset: bool,
    /// Flags of frames that depend on others.
    dependent: u32,
    /// Another track precedes ours, with this many bytes per fragment.
    stranger: Option<u32>,
    /// Bytes before each `moof`.
    between: Vec<u8>,
    wide_moof: bool,
    wide_mdat: bool,
    endless: bool,
    /// An empty fragment declares a pause of one frame, and `tfdt` does not repeat it.
    pause: bool,
}

/// The form of MP4Box and others: all fields in the rows.
fn rows() -> Form {
    Form {
        tfhd: BASE_IS_MOOF,
        trun: DATA_OFFSET | DURATION | SIZE | FLAGS | COMPOSITION,
        trun_version: 0,
        tfdt_version: Some(1),
        start: 0,
        trafs: 1,
        runs: 1,
        one_offset: false,
        dependent: DEPENDENT,
        stranger: None,
        between: Vec::new(),
        wide_moof: false,
        wide_mdat: false,
        endless: false,
        pause: false,
    }
}

fn size(number: u32) -> u32 {
    5 + number % 7
}

/// Delay from decoding to presentation of a frame: P first, then the B before it.
fn composition(number: u32) -> u32 {
    match number % GOP {
        0 => FRAME_TICKS,
        position if position % 2 == 1 => 2 * FRAME_TICKS,
        _ => 0,
    }
}

fn file(init: &[u8], form: &Form) -> Vec<u8> {
    let mut file = init.to_vec();
    for first in (0..FRAME_COUNT).step_by(GOP as usize) {
        file.extend_from_slice(&form.between);
        let numbers: Vec<u32> = (first..first + GOP).collect();
        let len = moof(form, &numbers, 0, 0).len() as u64;
        let (at, head_len) = (file.len() as u64, if form.wide_mdat { 16 } else { 8 });
        file.extend(moof(form, &numbers, at, at + len + head_len));
        let foreign = vec![0xee; form.stranger.unwrap_or(0) as usize];
        let own = numbers.iter().flat_map(|&number| vec![number as u8; size(number) as usize]);
        let data: Vec<u8> = foreign.into_iter().chain(own).collect();
        let head = match (form.endless && first + GOP == FRAME_COUNT, form.wide_mdat) {
            (true, _) => words(&[0]),
            (false, true) => words(&[1]),
            (false, false) => words(&[data.len() as u32 + 8]),
        };
        file.extend([&head[..], b"mdat"].concat());
        if form.wide_mdat {
            file.extend((data.len() as u64 + 16).to_be_bytes());
        }
        file.extend(data);
    }
    file
}

fn moof(form: &Form, numbers: &[u32], at: u64, mut data: u64) -> Vec<u8> {
    let mut body = boxed("mfhd", &words(&[0, numbers[0] / GOP + 1]));
    if form.pause && numbers[0] > 0 {
        let tfhd = words(&[IS_EMPTY | DEFAULT_DURATION, 1, FRAME_TICKS]);
        body.extend(boxed("traf", &boxed("tfhd", &tfhd)));
    }
    if let Some(size) = form.stranger {
        let tfhd = words(&[DEFAULT_SIZE, 77, size]);
        let trun = words(&[DATA_OFFSET, 1, (data - at) as u32]);
        body.extend(boxed("traf", &[boxed("tfhd", &tfhd), boxed("trun", &trun)].concat()));
        data += u64::from(size);
    }
    for (n, numbers) in numbers.chunks(numbers.len() / form.trafs).enumerate() {
        let mut tfhd = words(&[form.tfhd, 1]);
        if form.tfhd & BASE_DATA_OFFSET != 0 {
            tfhd.extend(at.to_be_bytes());
        }
        for (flag, value) in [
            (DESCRIPTION, 1),
            (DEFAULT_DURATION, FRAME_TICKS),
            (DEFAULT_SIZE, 5),
            (DEFAULT_FLAGS, form.dependent),
        ] {
            if form.tfhd & flag != 0 {
                tfhd.extend(words(&[value]));
            }
        }
        let mut traf = boxed("tfhd", &tfhd);
        let time = form.start + u64::from(numbers[0] * FRAME_TICKS);
        match form.tfdt_version.filter(|_| n == 0) {
            Some(0) => traf.extend(boxed("tfdt", &words(&[0, time as u32]))),
            Some(_) => traf.extend(boxed("tfdt", &[&words(&[1 << 24])[..], &time.to_be_bytes()].concat())),
            None => {}
        }
        let has_base = form.tfhd & (BASE_DATA_OFFSET | BASE_IS_MOOF) != 0;
        let base = if has_base || (n == 0 && form.stranger.is_none()) { at } else { data };
        for (n, numbers) in numbers.chunks(numbers.len() / form.runs).enumerate() {
            let has_offset = n == 0 || !form.one_offset;
            traf.extend(boxed(
                "trun",
                &trun(form, numbers, has_offset.then(|| data.wrapping_sub(base) as u32)),
            ));
            data += numbers.iter().map(|&number| u64::from(size(number))).sum::<u64>();
        }
        body.extend(boxed("traf", &traf));
    }
    if form.wide_moof {
        return [&words(&[1])[..], b"moof", &(body.len() as u64 + 16).to_be_bytes(), &body].concat();
    }
    boxed("moof", &body)
}

fn trun(form: &Form, numbers: &[u32], offset: Option<u32>) -> Vec<u8> {
    let flags = if offset.is_some() { form.trun } else { form.trun & !DATA_OFFSET };
    let mut trun = words(&[u32::from(form.trun_version) << 24 | flags, numbers.len() as u32]);
    trun.extend(offset.filter(|_| flags & DATA_OFFSET != 0).into_iter().flat_map(u32::to_be_bytes));
    let flags_of = |number: u32| if number.is_multiple_of(GOP) { INDEPENDENT } else { form.dependent };
    if flags & FIRST_FLAGS != 0 {
        trun.extend(words(&[flags_of(numbers[0])]));
    }
    let delay = if form.trun_version == 1 { FRAME_TICKS } else { 0 };
    for &number in numbers {
        for (column, value) in [
            (DURATION, FRAME_TICKS),
            (SIZE, size(number)),
            (FLAGS, flags_of(number)),
            (COMPOSITION, composition(number).wrapping_sub(delay)),
        ] {
            if flags & column != 0 {
                trun.extend(words(&[value]));
            }
        }
    }
    trun
}

/// The frames, from the first one on: bytes, decode and presentation time, whether it is a sync sample.
type SampleFacts = (Vec<u8>, i64, i64, bool);

fn expected() -> Vec<SampleFacts> {
    let frame = |number: u32| {
        let dts = i64::from(number * FRAME_TICKS);
        let pts = dts + i64::from(composition(number)) - i64::from(FRAME_TICKS);
        (vec![number as u8; size(number) as usize], dts, pts, number.is_multiple_of(GOP))
    };
    (0..FRAME_COUNT).map(frame).collect()
}

#[track_caller]
fn check(bytes: &[u8], expected: &[SampleFacts]) {
    let index = read(bytes).unwrap();
    assert!(!index.is_truncated);
    let track = &index.tracks[0];
    let first = track.samples.get(0).unwrap();
    let frame = |sample: Sample| {
        let body = bytes[sample.offset as usize..][..sample.size as usize].to_vec();
        (body, sample.dts - first.dts, sample.pts - first.pts, sample.is_sync)
    };
    assert_eq!(track.samples.iter().map(frame).collect::<Vec<_>>(), expected);
    let last = expected.iter().map(|(_, _, pts, _)| *pts).max().unwrap();
    assert_eq!((first.pts + track.shift, track.end), (0, last + i64::from(FRAME_TICKS)), "begins at 0");
}

#[test]
fn fragment_layouts_give_the_same_index() {
    let defaults = DEFAULT_DURATION | DEFAULT_FLAGS;
    let first_flags = DATA_OFFSET | SIZE | COMPOSITION | FIRST_FLAGS;
    let between = ["styp", "sidx", "emsg", "prft", "free", "uuid", "????"]
        .iter()
        .flat_map(|kind| boxed(kind, b"moof in the middle"))
        .collect::<Vec<_>>();
    let forms = [
        ("rows", rows()),
        ("offsets from the file", Form { tfhd: BASE_DATA_OFFSET, ..rows() }),
        ("both bases: that from the file counts", Form { tfhd: BASE_DATA_OFFSET | BASE_IS_MOOF, ..rows() }),
        ("no base", Form { tfhd: 0, ..rows() }),
        ("defaults in the fragment", Form { tfhd: BASE_IS_MOOF | defaults, trun: first_flags, ..rows() }),
        ("defaults that no row uses", Form { tfhd: DEFAULT_SIZE | defaults, ..rows() }),
        ("a description", Form { tfhd: BASE_IS_MOOF | DESCRIPTION, ..rows() }),
        ("negative offsets", Form { trun_version: 1, ..rows() }),
        ("runs", Form { runs: 3, ..rows() }),
        ("runs that follow", Form { runs: 5, one_offset: true, ..rows() }),
        ("track fragments", Form { trafs: 3, ..rows() }),
        ("track fragments without base", Form { tfhd: 0, trafs: 3, ..rows() }),
        ("runs in track fragments", Form { tfhd: 0, trafs: 3, runs: 5, one_offset: true, ..rows() }),
        ("32-bit times", Form { tfdt_version: Some(0), ..rows() }),
        ("no times", Form { tfdt_version: None, ..rows() }),
        ("counted from 1970", Form { start: 1_800_000_000 * 15_360 + 77, ..rows() }),
        ("counted from 1970, negative offsets", Form { start: 1 << 44, trun_version: 1, ..rows() }),
        ("flags that only say what depends", Form { dependent: 0x0100_0000, ..rows() }),
        ("flags that mark only samples that are no keyframes", Form { dependent: 0x0001_0000, ..rows() }),
        ("an unknown track in front", Form { stranger: Some(1000), ..rows() }),
        ("an unknown track in front and no base", Form { tfhd: 0, stranger: Some(1000), ..rows() }),
        ("boxes between", Form { between, ..rows() }),
        ("64-bit sizes", Form { wide_moof: true, wide_mdat: true, ..rows() }),
        ("to the end of the file", Form { endless: true, ..rows() }),
    ];
    for (name, form) in forms {
        println!("{name}");
        check(&file(&init(), &form), &expected());
    }
    let tail = [boxed("mfra", &boxed("mfro", &words(&[0, 24]))), boxed("free", b"")].concat();
    check(&[file(&init(), &rows()), tail].concat(), &expected());
}

#[test]
fn trex_defaults_apply_without_tfhd_values() {
    let mvex = |trex: &[u32]| {
        changed(&init(), &["moov", "mvex"], &|_| {
            // A wrong announced duration, and defaults for a track that does not exist.
            [
                boxed("mehd", &words(&[0, 1])),
                boxed("trex", &words(&[0, 9, 1, 1, 1, 1])),
                boxed("trex", &words(trex)),
            ]
            .concat()
        })
    };
    let form = Form { trun: DATA_OFFSET | SIZE | COMPOSITION | FIRST_FLAGS, ..rows() };
    check(&file(&mvex(&[0, 1, 1, FRAME_TICKS, 5, DEPENDENT]), &form), &expected());
    check(&file(&mvex(&[0, 1, 0, FRAME_TICKS, 5, DEPENDENT]), &form), &expected());
    // Without defaults every sample is a keyframe without duration; the times of the fragments apply.
    let bare = Form { trun: DATA_OFFSET | SIZE, ..rows() };
    let times: Vec<_> =
        read(&file(&init(), &bare)).unwrap().tracks[0].samples.iter().map(|sample| sample.dts).collect();
    let expected: Vec<_> =
        (0..FRAME_COUNT).map(|number| i64::from(number / GOP * GOP * FRAME_TICKS + number % GOP)).collect();
    assert_eq!(times, expected);
}

#[test]
fn gaps_between_fragments_remain() {
    let late = |number: u32| i64::from(number / GOP * FRAME_TICKS);
    let mut frames = expected();
    for (number, frame) in (0..).zip(&mut frames) {
        frame.1 += late(number);
        frame.2 += late(number);
    }
    // Declared by an empty fragment, or by the time of the next one.
    check(&file(&init(), &Form { pause: true, tfdt_version: None, ..rows() }), &frames);
    let mut bytes = file(&init(), &rows());
    let positions: Vec<_> =
        bytes.windows(4).enumerate().filter(|(_, window)| *window == b"tfdt").map(|(at, _)| at + 8).collect();
    for (number, at) in (0..).zip(positions) {
        let time = u64::from(number * (GOP + 1) * FRAME_TICKS);
        bytes[at..at + 8].copy_from_slice(&time.to_be_bytes());
    }
    check(&bytes, &frames);
    let durations: Vec<_> =
        read(&bytes).unwrap().tracks[0].samples.iter().map(|sample| sample.duration).collect();
    assert_eq!(durations[13..16], [FRAME_TICKS, 2 * FRAME_TICKS, FRAME_TICKS]);
}
