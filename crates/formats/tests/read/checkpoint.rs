//! A scanner that is stored as bytes and continues from them with the same result.

use std::collections::BTreeMap;

use kinora_formats::{Scanned, Scanner};
use kinora_index::checkpoint::CheckpointError;
use kinora_isobmff::ReadError;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::{
    fixture,
    matroska::{block, file, group, opus, video},
    patch_boxes::{boxed, changed, words},
};

/// Start of the body of a checkpoint: after magic, version and checksum.
const BODY_AT: usize = 8 + 4 + 8;
/// More bytes than are buffered for format detection.
const BEHIND_HEAD: usize = 6000;

/// Sources below this length get a checkpoint after every single byte.
const SMALL_MAX: usize = 8 << 10;

/// Number of positions in a source at which the whole state is compared.
const PLACES: usize = 50;

/// Every kind of source: all files of `tests/fixtures`, containers that are not read here, and files that
/// are no media.
fn sources() -> Vec<(String, Vec<u8>)> {
    let folder = std::fs::read_dir(format!("{}/tests/fixtures", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut names: Vec<_> = folder
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| is_media(name))
        .collect();
    names.sort();
    let files = names.into_iter().map(|name| (name.clone(), fixture(&name)));
    let made = made().into_iter().map(|(name, bytes)| (name.to_owned(), bytes));
    files.chain(made).collect()
}

fn is_media(name: &str) -> bool {
    [".mp4", ".m4a", ".mov", ".mkv", ".mka", ".webm"].iter().any(|extension| name.ends_with(extension))
}

/// Small sources of the other kinds, all longer than the buffer for format detection.
fn made() -> Vec<(&'static str, Vec<u8>)> {
    let piece = |head: &[u8], len: usize| [head, &vec![0x55; len]].concat();
    let many = |piece: Vec<u8>| piece.repeat(BEHIND_HEAD.div_ceil(piece.len()));
    let flv_tag = piece(&[9, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0], 204);
    let mxf_key = [0x06, 0x0e, 0x2b, 0x34, 2, 5, 1, 1, 13, 1, 2, 1, 1, 2, 4, 0, 0x83, 0, 1, 0];
    let asf_object =
        [&[0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11, 0xa6, 0xd9, 0, 0xaa, 0, 0x62][..], &[0xce, 0x6c]];
    let asf_object = [&asf_object.concat()[..], &(24 + 500u64).to_le_bytes()].concat();
    let ogg_page = [&b"OggS"[..], &[0; 22], &[3, 255, 255, 7]].concat();
    let frame = piece(&[0xff, 0xfb, 0x90, 0x64], 413);
    // Frames, bytes, table and quality; then the encoder, its delay and padding.
    let xing = [&b"Info\0\0\0\x0f\0\0\0\x28\0\0\x40\0"[..], &[0; 104], b"LAME3.100", &[0; 12], &[0x24, 4, 0]];
    let frame_without_audio = [&frame[..4], &[0; 32], &xing.concat()].concat();
    let box_of = |kind: &[u8], len: u32| piece(&[&(len + 8).to_be_bytes()[..], kind].concat(), len as usize);
    // A reference, a duration, and an empty element.
    let refers = [0xfb, 0x81, 0xd8, 0x9b, 0x82, 3, 0xe8, 0xec, 0x81, 0];
    let groups: Vec<_> =
        (0..150).map(|n| group(n * 40, b"picture", if n % 9 == 0 { &[] } else { &refers })).collect();
    let lace = |n: i16| block(n * 40, 0x82, b"\x01\x03\xf8ab\xf8defg");
    let discards = group(8000, b"\xf8a", &[0x75, 0xa2, 0x84, 0, 0x98, 0x96, 0x80, 0xec, 0x81, 0]);
    let laces: Vec<_> = (0..200).map(lace).chain([discards]).collect();
    let ftyp = b"\0\0\0\x10ftypisom\0\0\x02\0";
    vec![
        ("transport stream", many(piece(&[0x47], 187))),
        ("transport stream with time codes", many(piece(&[0, 0, 0, 0, 0x47], 187))),
        ("program stream", piece(&[0, 0, 1, 0xba], BEHIND_HEAD)),
        ("AVI", piece(b"RIFF\x00\x20\0\0AVI ", 0x2000 - 4)),
        ("WAVE", piece(b"RIFF\x01\x20\0\0WAVE", 0x2001 - 4)),
        ("FLV", [&b"FLV\x01\x05\0\0\0\x09\0\0\0\0"[..], &many(flv_tag)].concat()),
        ("MXF", many(piece(&mxf_key, 256))),
        ("ASF", many(piece(&asf_object, 500))),
        ("Ogg", many(piece(&ogg_page, 255 + 255 + 7))),
        ("ADTS", many(piece(&[0xff, 0xf1, 0x50, 0x80, 0x1f, 0xbf, 0xfc], 246))),
        ("FLAC", piece(b"fLaC\0\0\0\x22\x10\0\x10\0\0\0\0\0\0\0\x0a\xc4\x42\xf0\0\x01\x58\x88", BEHIND_HEAD)),
        ("MP3", [&b"ID3\x04\0\0\0\0\x2f\0"[..], &[0; 47 << 7], &frame_without_audio, &many(frame)].concat()),
        ("text", many(b"no media at all\n".to_vec())),
        ("noise", (0..BEHIND_HEAD as u64).map(|n| (n * n * 31 / 16) as u8).collect()),
        ("nothing", Vec::new()),
        ("MP4 without a moov", [&ftyp[..], &box_of(b"mdat", 9000)].concat()),
        ("MP4 with a damaged moov", [&ftyp[..], &box_of(b"moov", 300), &box_of(b"mdat", 9000)].concat()),
        ("frames in groups", file(&video(b"V_VP9"), &groups)),
        ("packets in laces", file(&opus(), &laces)),
        ("fragments of another size", resized()),
        ("MP4 at half speed", edited(&[0, 1, 10, 0, 0x8000])),
        ("MP4 that presents nothing", edited(&[0, 1, 0, 900_000, 0x0001_0000])),
        (
            "MP4 with nonsense behind",
            [&ftyp[..], &box_of(b"free", 5000), &[0, 0, 0, 3, 1, 2, 3, 4], &[9; 2000]].concat(),
        ),
    ]
}

/// A file with this edit list, and bytes after its `moov`.
fn edited(list: &[u32]) -> Vec<u8> {
    let elst = ["moov", "trak", "edts", "elst"];
    [changed(&fixture("video_only.mp4"), &elst, &|_| words(list)), boxed("free", &[0; 100])].concat()
}

/// A fragmented file whose first frame begins with a parameter set of another size than the sample entry.
fn resized() -> Vec<u8> {
    /// Baseline, 320 by 192.
    const PARAMETER_SET: [u8; 8] = [0x67, 0x42, 0xc0, 0x1e, 0xda, 0x05, 0x06, 0x64];
    let mut bytes = fixture("fragmented.mp4");
    let at = bytes.windows(4).position(|window| window == b"mdat").unwrap() + 4;
    let first = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let behind = first - 4 - PARAMETER_SET.len() as u32;
    let new = [&words(&[PARAMETER_SET.len() as u32])[..], &PARAMETER_SET, &words(&[behind])].concat();
    bytes[at..at + new.len()].copy_from_slice(&new);
    bytes
}

/// The result of a scanner that takes all bytes at once.
fn in_one_go(bytes: &[u8], hint: Option<u64>) -> Result<Scanned, ReadError> {
    let mut scanner = Scanner::new(hint);
    scanner.push(bytes)?;
    scanner.finish()
}

/// The scanner that is restored from the checkpoint of this one.
fn moved(scanner: &mut Scanner) -> Scanner {
    let other = Scanner::from_checkpoint(&scanner.to_checkpoint()).unwrap();
    let (len, has_tables) = (scanner.checkpoint_len(), scanner.has_sample_tables());
    assert_eq!((other.len(), other.has_sample_tables()), (len, has_tables));
    other
}

/// The result of a scanner that is moved after every piece. A failed one returns its error again everywhere.
fn in_pieces<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    hint: Option<u64>,
) -> Result<Scanned, ReadError> {
    let mut scanner = moved(&mut Scanner::new(hint));
    for piece in pieces {
        let result = scanner.push(piece);
        scanner = moved(&mut scanner);
        if let Err(error) = result {
            assert_eq!(scanner.push(b"more"), Err(error.clone()));
            assert_eq!(scanner.finish(), Err(error.clone()));
            return Err(error);
        }
    }
    scanner.finish()
}

#[test]
fn checkpoint_sources_cover_every_kind() {
    let mut kinds = BTreeMap::new();
    for (name, bytes) in sources() {
        let kind = match in_one_go(&bytes, None) {
            Ok(Scanned::Index(index)) => format!("read as {}", index.container.name()),
            Ok(Scanned::NeedsRemux { container, rejection: refusal, facts, .. }) => {
                let heard = facts.audible.map_or("", |_| ", partly heard");
                format!("{} that is not read{heard}: {}", container.name(), refusal.unwrap_or_default())
            }
            Err(error) => format!("{:?}: {error}", error.code()),
        };
        kinds.entry(kind).or_insert(name);
    }
    let lines: String = kinds.iter().map(|(kind, name)| format!("{kind} ({name})\n")).collect();
    golden("checkpoint_sources", &lines);
}

fn golden(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn checkpoint_resumes_at_any_byte() {
    for (name, bytes) in sources() {
        let expected = in_one_go(&bytes, None);
        // If most of a file is skipped, all positions are alike.
        let step = if bytes.len() < SMALL_MAX { 1 } else { 11 };
        assert_eq!(in_pieces(bytes.chunks(step), None), expected, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn checkpoints_and_chunks_do_not_change_the_result(
        source in prop::sample::select(sources()),
        lens in prop::collection::vec(prop_oneof![0..40usize, 0..3000usize], 1..40),
        kept in prop::option::of(any::<prop::sample::Index>()),
        hint: Option<u64>,
    ) {
        let (name, mut bytes) = source;
        bytes.truncate(kept.map_or(bytes.len(), |kept| kept.index(bytes.len() + 1)));
        let mut rest = &bytes[..];
        let pieces = lens.into_iter().chain([1]).cycle().map_while(|len| {
            let (piece, behind) = rest.split_at_checked(len.min(rest.len()).max(1))?;
            rest = behind;
            Some(piece)
        });
        let pieces: Vec<_> = pieces.collect();
        prop_assert_eq!(in_pieces(pieces, hint), in_one_go(&bytes, hint), "{}", name);
    }

    #[test]
    fn damaged_checkpoint_is_rejected(
        source in prop::sample::select(sources()),
        until: prop::sample::Index,
        at: prop::sample::Index,
        value in 1..=255u8,
    ) {
        let mut checkpoint = checkpoint_at(&source.1, until);
        let at = at.index(checkpoint.len());
        prop_assert!(Scanner::from_checkpoint(&checkpoint[..at]).is_err());
        checkpoint[at] ^= value;
        prop_assert!(Scanner::from_checkpoint(&checkpoint).is_err());
        checkpoint[at] ^= value;
        checkpoint.push(value);
        prop_assert!(Scanner::from_checkpoint(&checkpoint).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn changed_checkpoint_with_valid_checksum_never_panics(
        source in prop::sample::select(sources()),
        until: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u8>(), Just(0xff), Just(0x80)]), 1..4),
        kept in prop::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let (_, bytes) = source;
        let mut body = checkpoint_at(&bytes, until).split_off(BODY_AT);
        for (at, value) in changes {
            let at = at.index(body.len());
            body[at] = value;
        }
        body.truncate(kept.map_or(body.len(), |kept| kept.index(body.len())));
        if let Ok(mut scanner) = Scanner::from_checkpoint(&with_head(&body)) {
            let rest = bytes.get(scanner.len() as usize..).unwrap_or(&bytes);
            let _ = scanner.push(rest);
            let _ = moved(&mut scanner).finish();
        }
    }

    #[test]
    fn random_checkpoint_with_valid_checksum_never_panics(body in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Scanner::from_checkpoint(&body).is_err());
        if let Ok(scanner) = Scanner::from_checkpoint(&with_head(&body)) {
            let _ = scanner.finish();
        }
    }
}

/// The checkpoint of a scanner that has taken part of these bytes, and may have failed on them.
fn checkpoint_at(bytes: &[u8], until: prop::sample::Index) -> Vec<u8> {
    let mut scanner = Scanner::new(None);
    let _ = scanner.push(&bytes[..until.index(bytes.len() + 1)]);
    scanner.to_checkpoint()
}

/// A body with its matching head: no random bytes would have a valid one.
fn with_head(body: &[u8]) -> Vec<u8> {
    let head = &Scanner::new(None).to_checkpoint()[..BODY_AT - 8];
    [head, &Sha256::digest(body)[..8], body].concat()
}

#[test]
fn checkpoint_round_trips() {
    for (name, bytes) in sources() {
        let mut scanner = Scanner::new(Some(bytes.len() as u64));
        for (number, piece) in bytes.chunks(bytes.len() / PLACES + 1).enumerate() {
            let result = scanner.push(piece);
            let mut other = moved(&mut scanner);
            // Compares each field, also those that do not affect the end of this source.
            assert_eq!(format!("{other:?}"), format!("{scanner:?}"), "{name} behind piece {number}");
            assert!(other.to_checkpoint() == scanner.to_checkpoint(), "{name} behind piece {number}");
            if result.is_err() {
                break;
            }
        }
    }
}

#[test]
fn unknown_checkpoint_version_is_rejected() {
    let mut bytes = Scanner::new(None).to_checkpoint();
    assert_eq!(Scanner::from_checkpoint(b"KINORAS").unwrap_err(), CheckpointError::NotACheckpoint);
    assert_eq!(Scanner::from_checkpoint(&bytes[..11]).unwrap_err(), CheckpointError::NotACheckpoint);
    assert_eq!(Scanner::from_checkpoint(&bytes[..12]).unwrap_err(), CheckpointError::Damaged);
    bytes[8] += 1;
    let error = Scanner::from_checkpoint(&bytes).unwrap_err();
    assert_eq!(error, CheckpointError::UnknownVersion(bytes[8].into()));
    assert_eq!(
        error.to_string(),
        format!("the checkpoint of a scanner has version {}, expected {}", bytes[8], bytes[8] - 1)
    );
}

/// A change of the golden file is a change of the format of checkpoints: then raise its version, because
/// stored checkpoints have the old one.
#[test]
fn checkpoint_format_change_needs_new_version() {
    let names = [
        "fragmented.mp4",
        "faststart.mp4",
        "moov_at_end.mp4",
        "h264_aac.mkv",
        "vp8_vorbis.webm",
        "MP3",
        "text",
    ];
    let line = |name: &str, bytes: &[u8], len: usize| {
        let mut scanner = Scanner::new(None);
        let _ = scanner.push(&bytes[..len]);
        let checkpoint = scanner.to_checkpoint();
        let digest: String =
            Sha256::digest(&checkpoint)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name} at {len}: {} bytes, {digest}\n", checkpoint.len())
    };
    let chosen = sources().into_iter().filter(|(name, _)| names.contains(&name.as_str()));
    let lines = chosen.flat_map(|(name, bytes)| [100, 5000, bytes.len()].map(|len| line(&name, &bytes, len)));
    golden("checkpoint_forms", &lines.collect::<String>());
}
