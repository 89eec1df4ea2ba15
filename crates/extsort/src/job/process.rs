//! The memory and processor time that this process has used so far (proc(5), clock_gettime(2)).

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::time::Duration;

/// Peak resident memory so far, in bytes; 0 if /proc isn't mounted.
pub fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kibibytes.unwrap_or(0) * 1024
}

/// Processor seconds of all threads so far, in user mode and in the kernel; (0, 0) if /proc isn't
/// mounted.
pub fn cpu_seconds() -> (f64, f64) {
    // Fields 14 and 15, counted from the end of the command's name, which may contain anything. On
    // Linux they are in ticks of 1/100 s, whatever the kernel's own tick.
    let stat = match fs::read_to_string("/proc/self/stat") {
        Ok(stat) => stat,
        Err(_) if cfg!(target_os = "linux") => String::new(),
        // Other systems' clock doesn't tell the two apart.
        Err(_) => return (process_cpu_time().as_secs_f64(), 0.0),
    };
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut ticks =
        fields.split_whitespace().skip(11).map(|field| field.parse::<f64>().unwrap_or(0.0));
    let (user, system) = (ticks.next().unwrap_or(0.0), ticks.next().unwrap_or(0.0));
    (user / 100.0, system / 100.0)
}

/// Processor time of the calling thread so far, in user mode and in the kernel, with a resolution
/// of nanoseconds.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Processor time of all threads of the process so far, including ended threads and the kernel's
/// work.
pub(crate) fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_charged_for_work_and_not_for_sleep() {
        let before = thread_cpu_time();
        std::thread::sleep(Duration::from_millis(50));
        assert!(thread_cpu_time() - before < Duration::from_millis(50));
        let of_all = process_cpu_time();
        // Ends only if the clock runs.
        while thread_cpu_time() - before < Duration::from_millis(60) {
            std::hint::spin_loop();
        }
        assert!(process_cpu_time() - of_all > Duration::from_millis(50));
    }
}
