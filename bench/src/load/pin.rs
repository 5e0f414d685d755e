//! Where threads run, and how many files they may open.

use anyhow::Context as _;
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};

/// Pins the calling thread, and what it starts from now on, to one CPU.
///
/// # Errors
/// Where the machine has no such CPU.
pub fn pin_thread(cpu: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("cannot run on CPU {cpu}"))
}

/// Raises the soft limit of open files to the hard one; children inherit it.
pub fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where this is refused, the run that needs more descriptors fails and says so.
    let _ = setrlimit(Resource::Nofile, limit);
}
