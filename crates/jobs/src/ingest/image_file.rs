//! Recognises an image file by its first bytes, and checks its size and its end before it is decoded.

use kinora_engine::{IMAGE_FILE_PIXELS_MAX, ImageFileFormat};

const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG_SIGNATURE: &[u8] = b"\xff\xd8\xff";
const JPEG_END: [u8; 2] = [0xff, 0xd9];

/// Bytes at the start of a text that are searched for its kind.
const TEXT_HEAD_LEN: usize = 1024;

/// Why a file is no image that can be decoded. The text continues a sentence about the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotImage {
    #[error("is a web page, not an image")]
    WebPage,
    #[error("is an SVG, which is not supported; use a PNG")]
    Svg,
    #[error("is not a PNG, JPEG, WebP or GIF image")]
    Unknown,
    #[error("is an animated WebP, which is not supported; use a GIF or a PNG")]
    Animated,
    #[error("is truncated or damaged")]
    Truncated,
    #[error("has {width}x{height} pixels, more than {} in all", IMAGE_FILE_PIXELS_MAX)]
    TooManyPixels { width: u32, height: u32 },
}

/// The format of an image file that is complete and not too large.
pub(crate) fn image_file_format(file: &[u8]) -> Result<ImageFileFormat, NotImage> {
    let (format, size) = if file.starts_with(PNG_SIGNATURE) {
        (ImageFileFormat::Png, whole_png_size(file))
    } else if file.starts_with(JPEG_SIGNATURE) {
        (ImageFileFormat::Jpeg, jpeg_size(file))
    } else if file.starts_with(b"GIF87a") || file.starts_with(b"GIF89a") {
        (ImageFileFormat::Gif, gif_size(file))
    } else if file.starts_with(b"RIFF") && file.get(8..12) == Some(b"WEBP") {
        if is_animated_webp(file) {
            return Err(NotImage::Animated);
        }
        (ImageFileFormat::Webp, webp_size(file))
    } else {
        return Err(kind_of_text(file));
    };
    let (width, height) =
        size.filter(|(width, height)| 0 < *width && 0 < *height).ok_or(NotImage::Truncated)?;
    if u64::from(IMAGE_FILE_PIXELS_MAX) < u64::from(width) * u64::from(height) {
        return Err(NotImage::TooManyPixels { width, height });
    }
    Ok(format)
}

fn kind_of_text(file: &[u8]) -> NotImage {
    let head = String::from_utf8_lossy(file.get(..TEXT_HEAD_LEN).unwrap_or(file)).to_ascii_lowercase();
    let head = head.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    match head.starts_with('<') {
        true if head.contains("<svg") => NotImage::Svg,
        true if head.contains("<html") || head.contains("<!doctype html") => NotImage::WebPage,
        _ => NotImage::Unknown,
    }
}

/// The size of a PNG whose last chunk is there. PNG, 5.3 and 11.2.2.
fn whole_png_size(file: &[u8]) -> Option<(u32, u32)> {
    let size = kinora_engine::png_size(file)?;
    let mut at = PNG_SIGNATURE.len();
    loop {
        let len = usize::try_from(be_u32(file, at)?).ok()?;
        let name = file.get(at + 4..at + 8)?;
        let end = at.checked_add(len)?.checked_add(12)?;
        file.get(at..end)?;
        if name == b"IEND" {
            return Some(size);
        }
        at = end;
    }
}

/// The size of a JPEG with an end marker. ITU-T T.81, B.1 and B.2.2.
fn jpeg_size(file: &[u8]) -> Option<(u32, u32)> {
    let (mut at, mut size) = (2, None);
    loop {
        // A marker may follow any number of fill bytes.
        while file.get(at..at + 2)? == [0xff, 0xff] {
            at += 1;
        }
        let [0xff, marker] = *file.get(at..at + 2)? else { return None };
        at += 2;
        match marker {
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => {
                let side = |from: usize| be_u16(file, at + from).map(u32::from);
                size = size.or(Some((side(5)?, side(3)?)));
            }
            // The start of the samples.
            0xda => {
                let samples = file.get(at..)?;
                return samples.windows(2).any(|pair| pair == JPEG_END).then_some(size)?;
            }
            // Markers without a length, and the end before any samples.
            0x01 | 0xd0..=0xd8 => continue,
            0xd9 => return None,
            _ => {}
        }
        let len = usize::from(be_u16(file, at)?);
        at = at.checked_add(len.max(2))?;
    }
}

/// The size of the screen of a GIF whose first frame is complete. GIF89a, 17 to 25.
fn gif_size(file: &[u8]) -> Option<(u32, u32)> {
    let size = (u32::from(le_u16(file, 6)?), u32::from(le_u16(file, 8)?));
    let mut at = 13 + colour_table_len(*file.get(10)?);
    loop {
        match *file.get(at)? {
            0x21 => at = end_of_blocks(file, at + 2)?,
            0x2c => {
                let data = at + 10 + colour_table_len(*file.get(at + 9)?);
                end_of_blocks(file, data + 1)?;
                return Some(size);
            }
            _ => return None,
        }
    }
}

/// The length of a table of colours, from the flags before it.
fn colour_table_len(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 0x07) + 1) }
}

/// The end of the data blocks that begin here.
fn end_of_blocks(file: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let len = usize::from(*file.get(at)?);
        at += 1 + len;
        if len == 0 {
            return Some(at);
        }
    }
}

/// Whether the flags of an extended WebP announce an animation. RFC 9649, 2.7.1.
fn is_animated_webp(file: &[u8]) -> bool {
    file.get(12..16) == Some(b"VP8X") && file.get(20).is_some_and(|flags| flags & 0x02 != 0)
}

/// The size of a complete WebP. RFC 9649, 2.4 to 2.7.
fn webp_size(file: &[u8]) -> Option<(u32, u32)> {
    let len = usize::try_from(le_u32(file, 4)?).ok()?;
    file.get(..len.checked_add(8)?)?;
    match file.get(12..16)? {
        b"VP8X" => {
            let side = |at: usize| Some((le_u32(file, at)? & 0x00ff_ffff) + 1);
            Some((side(24)?, side(27)?))
        }
        b"VP8 " => {
            let side = |at: usize| Some(u32::from(le_u16(file, at)? & 0x3fff));
            Some((side(26)?, side(28)?))
        }
        b"VP8L" => {
            let bits = le_u32(file, 21)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

fn bytes_at<const N: usize>(file: &[u8], at: usize) -> Option<[u8; N]> {
    file.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn be_u32(file: &[u8], at: usize) -> Option<u32> {
    bytes_at(file, at).map(u32::from_be_bytes)
}

fn be_u16(file: &[u8], at: usize) -> Option<u16> {
    bytes_at(file, at).map(u16::from_be_bytes)
}

fn le_u32(file: &[u8], at: usize) -> Option<u32> {
    bytes_at(file, at).map(u32::from_le_bytes)
}

fn le_u16(file: &[u8], at: usize) -> Option<u16> {
    bytes_at(file, at).map(u16::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use kinora_testkit::fixture::images;

    use super::*;

    #[test]
    fn format_and_end_of_images_are_found() {
        for (name, file, format) in [
            ("png", images::logo("png", ""), ImageFileFormat::Png),
            ("interlaced png", images::logo("png", "-flags +ildct"), ImageFileFormat::Png),
            ("jpeg", images::logo("jpg", "-pix_fmt yuvj420p"), ImageFileFormat::Jpeg),
            ("cmyk jpeg", images::cmyk_jpeg(), ImageFileFormat::Jpeg),
            ("gif", images::logo("gif", ""), ImageFileFormat::Gif),
            ("lossy webp", images::logo("webp", "-lossless 0"), ImageFileFormat::Webp),
            ("lossless webp", images::logo("webp", "-lossless 1"), ImageFileFormat::Webp),
            ("pixel", images::pixel(), ImageFileFormat::Png),
        ] {
            assert_eq!(image_file_format(&file), Ok(format), "{name}");
            let half = image_file_format(&file[..file.len() / 2]);
            assert_eq!(half, Err(NotImage::Truncated), "the first half of {name}");
        }
    }

    #[test]
    fn every_prefix_of_an_image_is_rejected() {
        for file in [images::pixel(), images::tiny_gif()] {
            for len in 0..file.len() - 1 {
                assert!(image_file_format(&file[..len]).is_err(), "{len} bytes of {}", file.len());
            }
        }
    }

    #[test]
    fn other_files_are_named() {
        let check = |file: &[u8], expected| assert_eq!(image_file_format(file), Err(expected));
        check(b"<!DOCTYPE html>\n<html>", NotImage::WebPage);
        check(b"\xef\xbb\xbf \n<HTML lang=en>", NotImage::WebPage);
        check(b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>", NotImage::Svg);
        check(b"<svg width=\"1\"/>", NotImage::Svg);
        check(b"", NotImage::Unknown);
        check(b"BM", NotImage::Unknown);
        check(&images::animated_webp(), NotImage::Animated);
    }

    #[test]
    fn pixels_are_counted_before_decoding() {
        let sized = |width: u32, height: u32| {
            let mut png = images::pixel().to_vec();
            png[16..20].copy_from_slice(&width.to_be_bytes());
            png[20..24].copy_from_slice(&height.to_be_bytes());
            image_file_format(&png)
        };
        assert_eq!(sized(10_000, 5_000), Ok(ImageFileFormat::Png));
        assert_eq!(sized(10_001, 5_000), Err(NotImage::TooManyPixels { width: 10_001, height: 5_000 }));
        assert_eq!(sized(0, 5), Err(NotImage::Truncated));
        let mut gif = images::tiny_gif().to_vec();
        gif[6..10].copy_from_slice(&[0xff; 4]);
        let expected = NotImage::TooManyPixels { width: 65_535, height: 65_535 };
        assert_eq!(image_file_format(&gif), Err(expected));
    }
}
