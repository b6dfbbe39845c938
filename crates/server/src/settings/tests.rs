use super::*;

#[test]
fn base_urls_default_to_listen_address_and_public_url() {
    let resolve = |args| Settings::resolve(args, None).unwrap();
    let settings = resolve(SettingsArgs::default());
    assert_eq!(settings.public_url, "http://127.0.0.1:8080");
    assert_eq!(settings.stream_url, settings.public_url);
    assert!(settings.warnings.is_empty());

    let settings =
        resolve(SettingsArgs { listen: Some("0.0.0.0:9000".parse().unwrap()), ..SettingsArgs::default() });
    assert_eq!(settings.public_url, "http://127.0.0.1:9000");
    assert_eq!(settings.warnings.len(), 1);

    let given = SettingsArgs {
        public_url: Some("https://video.example.com/".into()),
        images_url: Some("https://images.example.com".into()),
        ..SettingsArgs::default()
    };
    let settings = resolve(given);
    assert_eq!(settings.stream_url, "https://video.example.com");
    assert_eq!(settings.images_url, "https://images.example.com");
    assert_eq!(settings.demo_url(), "https://video.example.com/demo/clip.mp4");
}

#[test]
fn command_uses_the_urls_of_the_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let beside = |args: SettingsArgs| {
        let args = SettingsArgs { data_dir: Some(folder.path().to_owned()), ..args };
        Settings::resolve_with_served_urls(args, None).unwrap().public_url
    };
    assert_eq!(beside(SettingsArgs::default()), "http://127.0.0.1:8080", "no server has run there");
    let served = Settings::for_folder(folder.path().to_owned(), "127.0.0.1:9999".parse().unwrap());
    ServedUrls::of(&served).write(folder.path()).unwrap();
    assert_eq!(beside(SettingsArgs::default()), "http://127.0.0.1:9999");
    let listen = Some("127.0.0.1:7777".parse().unwrap());
    assert_eq!(
        beside(SettingsArgs { listen, ..SettingsArgs::default() }),
        "http://127.0.0.1:7777",
        "an explicit setting applies"
    );
}

#[test]
fn invalid_base_url_is_rejected_by_name() {
    for text in
        ["video.example.com", "ftp://a.example", "https://a.example/?q", "https://me:pw@a.example", ""]
    {
        let args = SettingsArgs { public_url: Some(text.into()), ..SettingsArgs::default() };
        let problem = Settings::resolve(args, None).unwrap_err();
        assert!(problem.to_string().contains("--public-url must be a URL"), "{text}: {problem}");
    }
}

#[test]
fn invalid_rate_limit_is_rejected() {
    let resolve = |text: Option<&str>| {
        let args = SettingsArgs { rate_limit: text.map(str::to_owned), ..SettingsArgs::default() };
        Settings::resolve(args, None)
    };
    let limit = |text| resolve(text).unwrap().rate_limit.map(|limit| limit.to_string());
    assert_eq!(limit(None), None);
    assert_eq!(limit(Some("600/60")), Some("600/60".to_owned()));
    assert_eq!(resolve(Some("600/60")).unwrap().redacted_json()["rate-limit"], "600/60");
    for text in ["", "600", "0/60", "600/0", "100000001/60", "600/86401", "600 / 60"] {
        let problem = resolve(Some(text)).unwrap_err().to_string();
        assert_eq!(
            problem,
            format!(
                "--rate-limit must be REQUESTS/SECONDS such as 600/60, 1 to 100000000 requests within 1 to 86400 seconds, \
                 not {text:?}"
            )
        );
    }
}

#[test]
fn shared_max_age_is_at_most_one_day() {
    let resolve = |seconds: Option<u32>| {
        Settings::resolve(SettingsArgs { shared_max_age: seconds, ..SettingsArgs::default() }, None)
    };
    assert_eq!(resolve(None).unwrap().shared_max_age_s, None);
    for seconds in [1, 86_400] {
        assert_eq!(resolve(Some(seconds)).unwrap().redacted_json()["shared-max-age"], seconds);
    }
    for seconds in [0, 86_401, u32::MAX] {
        let problem = resolve(Some(seconds)).unwrap_err().to_string();
        assert_eq!(problem, format!("--shared-max-age must be 1 to 86400 seconds, not {seconds}"));
    }
}

#[test]
fn secrets_are_not_shown() {
    let args = SettingsArgs { secret_key: Some("c2VjcmV0".into()), ..SettingsArgs::default() };
    let shown = Settings::resolve(args, None).unwrap().redacted_json().to_string();
    assert!(!shown.contains("c2VjcmV0"), "{shown}");
}
