//! What another process takes, as the kernel counts it.

use anyhow::Context;

/// A process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pid: u32,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> Usage {
        Usage { pid }
    }

    pub(crate) fn pid(self) -> u32 {
        self.pid
    }

    /// Nanoseconds of CPU that its threads have used. The counter of the whole process ticks in hundredths of a second.
    pub(crate) fn cpu_ns(self) -> anyhow::Result<u64> {
        let mut total = 0;
        let tasks = format!("/proc/{}/task", self.pid);
        for task in std::fs::read_dir(&tasks).with_context(|| format!("cannot read {tasks}"))? {
            // A thread that ends meanwhile is one of those that wait for files and names; it did nothing else.
            let Ok(text) = std::fs::read_to_string(task?.path().join("schedstat")) else {
                continue;
            };
            let used = text
                .split_whitespace()
                .next()
                .and_then(|text| text.parse::<u64>().ok());
            total += used.context("schedstat has no time")?;
        }
        Ok(total)
    }

    /// Megabytes in memory now, and at most so far.
    pub(crate) fn memory_mb(self) -> anyhow::Result<(f64, f64)> {
        let path = format!("/proc/{}/status", self.pid);
        let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
            number.with_context(|| format!("no {name} in {path}"))
        };
        Ok((field("VmRSS:")? / 1024.0, field("VmHWM:")? / 1024.0))
    }
}
