//! Detects the video codec of an AVI file, from its head.

/// Codes of MPEG-4 Visual in AVI, from ffmpeg. Those of Microsoft's versions are excluded: they are other
/// codecs.
const MPEG4: [&[u8; 4]; 12] = [
    b"FMP4", b"DIVX", b"DX50", b"XVID", b"MP4S", b"M4S2", b"MP4V", b"3IV2", b"BLZ0", b"RMP4", b"DIGI",
    b"SMP4",
];

/// The chunk with the format of a stream. For video it is a `BITMAPINFOHEADER`, whose `biCompression` is the
/// code of the codec. Microsoft, "AVI RIFF File Reference".
const FORMAT: &[u8; 4] = b"strf";
const COMPRESSION_AT: usize = 8 + 16;

/// Whether the head of an AVI file, its first 4 KiB or so, describes a track of MPEG-4 Visual.
pub fn is_mpeg4_avi(head: &[u8]) -> bool {
    let formats = head.windows(FORMAT.len()).enumerate().filter(|(_, window)| window == FORMAT);
    formats.filter_map(|(at, _)| head.get(at + COMPRESSION_AT..at + COMPRESSION_AT + 4)).any(|name| {
        let name = name.to_ascii_uppercase();
        MPEG4.iter().any(|codec| name == **codec)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn avi_mpeg4_format_is_found_after_other_streams() {
        let format = |name: &[u8; 4]| [&b"strf\x28\0\0\0"[..], &[0; 16], name, &[0; 20]].concat();
        let head = |names: [&[u8; 4]; 2]| {
            [b"RIFF....AVI LIST".to_vec(), format(names[0]), format(names[1])].concat()
        };
        assert!(is_mpeg4_avi(&head([b"\0\0\0\0", b"xvid"])));
        assert!(is_mpeg4_avi(&head([b"DX50", b"\0\0\0\0"])));
        assert!(!is_mpeg4_avi(&head([b"MJPG", b"DIV3"])));
        assert!(!is_mpeg4_avi(b"strf"));
    }
}
