//! Finding ffmpeg, and rejecting other programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kinora_engine::{Engine, EngineError, Fit, ImageFormat, Settings, ThumbnailSpec};

use crate::fixture::engine;

/// A shell script instead of ffmpeg.
fn program(folder: &Path, script: &str) -> Settings {
    let path = folder.join("ffmpeg");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    Settings {
        program: Some(path),
        readable: ["/bin", "/usr/bin"].map(PathBuf::from).to_vec(),
        ..Settings::default()
    }
}

#[tokio::test]
async fn ffmpeg_in_path_is_found_with_its_version() {
    let engine = engine().await;
    assert!(engine.program().is_absolute());
    assert!(engine.version().to_string().chars().next().unwrap().is_ascii_alphanumeric());
}

#[tokio::test]
async fn unusable_ffmpeg_is_rejected_with_reason() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Settings { program: Some(folder.path().join("none")), ..Settings::default() };
    assert!(matches!(Engine::find(missing).await, Err(EngineError::NotFound(_))));
    let a_folder = Settings { program: Some(folder.path().to_owned()), ..Settings::default() };
    assert!(matches!(Engine::find(a_folder).await, Err(EngineError::NotFound(_))));

    let other = Engine::find(program(folder.path(), "echo hello")).await;
    assert!(matches!(other, Err(EngineError::NotUsable(_))), "{other:?}");
    let broken = Engine::find(program(folder.path(), "exit 127")).await;
    assert!(matches!(broken, Err(EngineError::NotUsable(_))), "{broken:?}");
    let old = "echo 'ffmpeg version 4.4.2'; echo 'libavutil 56. 70.100 / 56. 70.100'";
    let old = Engine::find(program(folder.path(), old)).await;
    assert_eq!(old.unwrap_err().to_string(), "ffmpeg 4.4.2 is too old, 5.1 or newer is needed");
}

#[tokio::test]
async fn cached_capabilities_are_used_until_the_program_changes() {
    let folder = tempfile::tempdir().unwrap();
    let good = "case $* in\n\
        *-version*) echo 'ffmpeg version 5.1'; echo 'libavutil 57. 28.100 / 57. 28.100';;\n\
        *) echo ' ------'; echo ' V..... png PNG';;\nesac";
    let settings =
        Settings { capabilities_cache: Some(folder.path().join("cache")), ..program(folder.path(), good) };
    let path = settings.program.clone().unwrap();
    Engine::find(settings.clone()).await.unwrap();

    // A file of the same size and time that would fail, but is not started.
    let changed = fs::metadata(&path).unwrap().modified().unwrap();
    let (broken, script) = ("#!/bin/sh\nexit 127\n", fs::read_to_string(&path).unwrap());
    fs::write(&path, format!("{broken}{}", "#".repeat(script.len() - broken.len()))).unwrap();
    fs::File::options().append(true).open(&path).unwrap().set_modified(changed).unwrap();
    assert_eq!(Engine::find(settings.clone()).await.unwrap().version().to_string(), "5.1");

    let later = changed + std::time::Duration::from_secs(1);
    fs::File::options().append(true).open(&path).unwrap().set_modified(later).unwrap();
    let result = Engine::find(settings).await;
    assert!(matches!(result, Err(EngineError::NotUsable(_))), "{result:?}");
}

#[tokio::test]
async fn build_without_decoders_is_not_usable() {
    let folder = tempfile::tempdir().unwrap();
    let script = "case $* in\n\
        *-version*) echo 'ffmpeg version 5.1'; echo 'libavutil 57. 28.100 / 57. 28.100';;\n\
        *-decoders*) echo ' ------'; echo ' V..X.D an_experiment';;\nesac";
    let found = Engine::find(program(folder.path(), script)).await;
    assert!(matches!(found, Err(EngineError::NotUsable(_))), "{found:?}");
}

#[tokio::test]
async fn missing_encoder_fails_only_jobs_that_need_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = "case $* in\n\
        *-version*) echo 'ffmpeg version 5.1'; echo 'libavutil 57. 28.100 / 57. 28.100';;\n\
        *-encoders*) echo ' ------'; echo ' V..... png PNG';;\n\
        *-decoders*) echo ' ------'; echo ' VFS..D h264 H.264';;\n\
        *) echo picture;;\nesac";
    let engine = Engine::find(program(folder.path(), script)).await.unwrap();
    let thumbnail = async |format| {
        engine
            .thumbnail(
                bytes::Bytes::new(),
                None,
                ThumbnailSpec { fit: Fit::Within { width: None, height: None }, format },
            )
            .await
    };
    assert_eq!(thumbnail(ImageFormat::Png).await.unwrap(), "picture\n");
    assert!(matches!(thumbnail(ImageFormat::Webp).await, Err(EngineError::MissingEncoder("libwebp"))));
    assert!(matches!(engine.demo_clip(1).await, Err(EngineError::MissingEncoder("libx264"))));
}
