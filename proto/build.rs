//! Makes Rust code of the `.proto` files, without `protoc`: a folder for each, so that each is a module.

use std::{env, error::Error, fs, path::PathBuf};

/// None of them imports another.
const FILES: [&str; 6] = ["copies", "counters", "log", "queries", "raft", "status"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=trestle");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for name in FILES {
        let set = protox::compile([format!("trestle/cluster/v1/{name}.proto")], ["."])?;
        let folder = out.join(name);
        fs::create_dir_all(&folder)?;
        tonic_prost_build::configure().bytes(".").build_transport(false).out_dir(folder).compile_fds(set)?;
    }
    Ok(())
}
