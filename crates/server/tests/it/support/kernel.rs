use kinora_testkit::on_kernel_without;

/// Runs a test whose processes have no Landlock.
pub(crate) fn without_landlock<Test: Future<Output = ()>>(test: impl FnOnce() -> Test + Send + 'static) {
    on_kernel_without(&[libc::SYS_landlock_create_ruleset], || {
        // One thread: the kernel lacks the call for it and for the processes that it starts.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime starts").block_on(test());
    });
}
