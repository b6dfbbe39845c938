use kinora_testkit::on_kernel_without;

/// Runs a test in a process without Landlock; its child processes have none either.
pub(crate) fn without_landlock<Test: Future<Output = ()>>(test: impl FnOnce() -> Test + Send + 'static) {
    on_kernel_without(&[libc::SYS_landlock_create_ruleset], || {
        // A single thread, because the seccomp filter applies to this thread and its child processes.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime starts").block_on(test());
    });
}
