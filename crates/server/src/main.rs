//! The `kinora` binary. Begin with `kinora_server::main`.

fn main() -> std::process::ExitCode {
    kinora_server::main()
}
