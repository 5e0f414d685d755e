//! What the system says of this process and of the disk of its data.

use rustix::{
    fs::statvfs,
    param::page_size,
    process::{Resource, getrlimit},
    time::{ClockId, clock_gettime},
};
use std::{fs, path::Path, time::SystemTime};
use trestle_gateway::Family;

/// What can be read; the rest is left out. It reads files, so it is not for a thread that others wait for.
pub(super) fn families(started: SystemTime, data_dir: &Path) -> Vec<Family> {
    let mut families = Vec::new();
    let mut gauge = |name, help, value: Option<f64>| {
        families.extend(value.map(|value| Family::gauge(name, help).with(&[], value)));
    };
    let started = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    gauge("process_start_time_seconds", "When the process began, in unix seconds.", Some(started));
    let (resident, virtual_bytes) = memory().unzip();
    gauge("process_resident_memory_bytes", "Memory of the process that is in use.", resident);
    gauge("process_virtual_memory_bytes", "Addresses that the process has.", virtual_bytes);
    gauge("process_open_fds", "File descriptors that are open.", open_files());
    let files_max = getrlimit(Resource::Nofile).current.map(|max| max as f64);
    gauge("process_max_fds", "File descriptors that may be open.", files_max);
    let disk = statvfs(data_dir).ok();
    let bytes = |blocks: u64, of: &rustix::fs::StatVfs| blocks as f64 * of.f_frsize as f64;
    let size = disk.as_ref().map(|disk| bytes(disk.f_blocks, disk));
    gauge("trestle_data_bytes", "Size of the disk that the data folder is on.", size);
    let free = disk.as_ref().map(|disk| bytes(disk.f_bavail, disk));
    gauge("trestle_data_free_bytes", "What is free for this process on the disk of the data folder.", free);
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
    let help = "Time that processors have spent on the process.";
    families.push(Family::counter("process_cpu_seconds_total", help).with(&[], seconds));
    families
}

/// Resident and virtual, in bytes: <https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html>.
fn memory() -> Option<(f64, f64)> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split(' ').map(|field| field.parse::<u64>().ok());
    let (size, resident) = (pages.next()??, pages.next()??);
    let page = page_size() as f64;
    Some((resident as f64 * page, size as f64 * page))
}

/// Without the one by which they are counted.
fn open_files() -> Option<f64> {
    let count = fs::read_dir("/proc/self/fd").ok()?.count();
    Some(count.saturating_sub(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_gateway::Value;

    #[test]
    fn what_the_system_says_makes_sense() {
        let kept: Vec<_> = (0..20).map(|_| fs::File::open("/proc/self/statm").unwrap()).collect();
        let families = families(SystemTime::now(), Path::new("/"));
        let value = |name: &str| {
            let family = families.iter().find(|family| family.name == name).unwrap();
            let Value::Number(number) = family.samples[0].value else { panic!("{family:?}") };
            number
        };
        assert!(value("process_open_fds") >= kept.len() as f64);
        assert!(value("process_open_fds") <= value("process_max_fds"));
        assert!(value("process_resident_memory_bytes") > 1e6);
        assert!(value("process_resident_memory_bytes") < value("process_virtual_memory_bytes"));
        assert!(value("process_cpu_seconds_total") > 0.0);
        assert!(value("trestle_data_free_bytes") <= value("trestle_data_bytes"));
    }
}
