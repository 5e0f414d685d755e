//! Makes Rust code of the `.proto` files, without `protoc`.

use std::{error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=trestle");
    let files: [PathBuf; 1] = ["trestle/cluster/v1/log.proto".into()];
    let set = protox::compile(files, ["."])?;
    tonic_prost_build::configure().bytes(".").compile_fds(set)?;
    Ok(())
}
