//! Measurements of processes and times.

use std::{fs, time::Duration};

/// Returns the resident memory of the process, in megabytes; `None` if unknown.
pub(crate) fn resident(process: u32) -> Option<f64> {
    status(process, "VmRSS:")
}

/// Returns the most resident memory that the process ever had, in megabytes; `None` if unknown.
pub(crate) fn peak(process: u32) -> Option<f64> {
    status(process, "VmHWM:")
}

/// Returns the processor time of the process so far, of all its threads; `None` if unknown.
pub(crate) fn processor_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in parentheses may have spaces.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    // User and system time, in ticks of 10 ms.
    Some(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
}

fn status(process: u32, field: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Returns the percentile `share` of the sorted `times`.
pub(crate) fn percentile(times: &[Duration], share: usize) -> Option<Duration> {
    times.get((times.len() * share / 100).min(times.len().saturating_sub(1))).copied()
}
