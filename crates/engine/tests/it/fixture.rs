//! Small videos, made by an ffmpeg without confinement, and images as pixels.

use std::path::Path;
use std::process::{Command, Output};

use kinora_engine::{Engine, Settings};
use tempfile::TempDir;

pub(crate) async fn engine() -> Engine {
    let capabilities_cache = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("ffmpeg-capabilities"));
    Engine::find(Settings { capabilities_cache, ..Settings::default() }).await.unwrap()
}

/// Runs ffmpeg without any confinement in `folder`.
pub(crate) fn ffmpeg(folder: &Path, arguments: &str) -> Output {
    #[expect(clippy::disallowed_methods, reason = "makes fixtures, and shows what a free ffmpeg would do")]
    let mut command = Command::new("ffmpeg");
    command.args("-hide_banner -nostdin -loglevel error -y".split(' ')).args(arguments.split_whitespace());
    command.current_dir(folder).output().unwrap()
}

/// An MP4 that can be read from front to back. `source` is a lavfi graph, `options` come before the
/// encoder's.
pub(crate) fn video(source: &str, options: &str) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let encode = "-c:v libx264 -preset ultrafast -crf 12 -bf 2 -g 250 -pix_fmt yuv420p";
    let output = ffmpeg(
        folder.path(),
        &format!(
            "-f lavfi -i {source} {options} {encode} -movflags +frag_keyframe+empty_moov+default_base_moof made.mp4"
        ),
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.path().join("made.mp4")).unwrap()
}

/// An image as its pixels.
pub(crate) struct Pixels {
    pub width: usize,
    pub height: usize,
    rgb: Vec<u8>,
}

impl Pixels {
    /// Decodes an image of any format.
    pub(crate) fn of(image: &[u8]) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("picture"), image).unwrap();
        let output = ffmpeg(folder.path(), "-i picture -f image2pipe -c:v ppm pipe:1");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // "P6\n<width> <height>\n255\n", then three bytes a pixel.
        let mut lines = output.stdout.splitn(4, |byte| *byte == b'\n').skip(1);
        let size = std::str::from_utf8(lines.next().unwrap()).unwrap().split_once(' ').unwrap();
        let rgb = lines.nth(1).unwrap().to_vec();
        Self { width: size.0.parse().unwrap(), height: size.1.parse().unwrap(), rgb }
    }

    /// Red, green and blue of one pixel.
    pub(crate) fn at(&self, x: usize, y: usize) -> [u8; 3] {
        let start = (y * self.width + x) * 3;
        self.rgb[start..start + 3].try_into().unwrap()
    }

    /// The pixel in the middle.
    pub(crate) fn middle(&self) -> [u8; 3] {
        self.at(self.width / 2, self.height / 2)
    }

    /// Mean difference of the values of two images of one size, of 255.
    pub(crate) fn mean_distance(&self, other: &Self) -> f64 {
        assert_eq!((self.width, self.height), (other.width, other.height));
        let sum: u64 = self.rgb.iter().zip(&other.rgb).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        sum as f64 / self.rgb.len() as f64
    }
}

/// Output of ffprobe for `media`: a line for each stream with the values of `entries` in ffprobe's own
/// order, separated by commas.
pub(crate) fn ffprobe(media: &[u8], entries: &str) -> String {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("media");
    std::fs::write(&path, media).unwrap();
    #[expect(clippy::disallowed_methods, reason = "an independent reader")]
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-show_entries", entries, "-of", "csv=p=0"]).arg(path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
