//! `ptrace` and `wait` as functions that can be called safely; the stepper's only unsafe code.

use std::{
    io, mem,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus},
    ptr,
};

use libc::{c_int, c_void, pid_t};

use super::Errno;

/// Why a thread or process under trace gives us its attention.
#[derive(Debug)]
pub(super) enum Event {
    /// It ended.
    Ended(ExitStatus),
    /// It is about to make a system call, or has made one.
    Call,
    /// It gets this signal.
    Signal(c_int),
    /// It has made a child or become another program.
    Other,
}

/// A system call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

/// Lets the thread that spawns `command` trace it; it stops before the new program's first step.
pub(super) fn let_parent_trace(command: &mut Command) {
    let ask = || {
        // SAFETY: this request takes no pointers.
        succeeded(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, NOTHING, NOTHING) })
    };
    // SAFETY: between fork and exec, `ask` makes one system call and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Has all threads and children of `process` traced too, and all of them killed when the calling thread ends.
pub(super) fn follow_children(process: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    let options = ptr::without_provenance_mut::<c_void>(options as usize);
    // SAFETY: the options are a number in a pointer's place, as this request wants them.
    succeeded(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, process, NOTHING, options) })
}

/// Waits for the tracees of the calling thread only.
///
/// # Errors
/// `ECHILD` when there is none left.
pub(super) fn wait() -> io::Result<(pid_t, Event)> {
    let mut status = 0;
    let process = loop {
        // SAFETY: `status` is there to be written to.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            process => break process,
        }
    };
    let event = if !libc::WIFSTOPPED(status) {
        Event::Ended(ExitStatus::from_raw(status))
    } else if libc::WSTOPSIG(status) == libc::SIGTRAP | 0x80 {
        Event::Call
    } else if status >> 16 != 0 {
        Event::Other
    } else {
        Event::Signal(libc::WSTOPSIG(status))
    };
    Ok((process, event))
}

/// Lets a stopped thread go on to its next system call, with `signal` unless that is zero. One that was killed meanwhile
/// is left to [`wait`].
pub(super) fn go_on(thread: pid_t, signal: c_int) {
    let signal = ptr::without_provenance_mut::<c_void>(signal as usize);
    // SAFETY: the signal is a number in a pointer's place, as this request wants it.
    unsafe { libc::ptrace(libc::PTRACE_SYSCALL, thread, NOTHING, signal) };
}

/// The system call before which a thread stopped; `None` after one, or when it is not one of this architecture's.
pub(super) fn entry(thread: pid_t) -> Option<Entry> {
    // SAFETY: all bytes zero are a value of this type, which is numbers only.
    let mut info: libc::ptrace_syscall_info = unsafe { mem::zeroed() };
    let size = ptr::without_provenance_mut::<c_void>(mem::size_of_val(&info));
    // SAFETY: `info` is as large as is said.
    let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, thread, size, &raw mut info) };
    if got <= 0 || info.op != libc::PTRACE_SYSCALL_INFO_ENTRY || info.arch != AUDIT_ARCH_X86_64 {
        return None;
    }
    // SAFETY: the kernel filled in this variant, as `op` says.
    let entry = unsafe { info.u.entry };
    Some(Entry {
        number: i64::try_from(entry.nr).ok()?,
        arguments: entry.args,
    })
}

/// Makes the call before which a thread stopped fail, without it being made.
pub(super) fn refuse(thread: pid_t, errno: Errno) -> io::Result<()> {
    // SAFETY: all bytes zero are a value of this type, which is numbers only.
    let mut registers: libc::user_regs_struct = unsafe { mem::zeroed() };
    // SAFETY: `registers` is what this request fills in.
    succeeded(unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread, NOTHING, &raw mut registers) })?;
    // No call has this number: the kernel leaves the result as it is.
    registers.orig_rax = u64::MAX;
    registers.rax = i64::from(-errno.number).cast_unsigned();
    // SAFETY: `registers` is what this request reads.
    succeeded(unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, NOTHING, &raw const registers) })
}

/// Kills a process that we trace.
pub(super) fn kill(process: pid_t) {
    // SAFETY: takes no pointers.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// Opens the file at `path` by `openat2`.
#[cfg(test)]
pub(super) fn open_by_openat2(path: &std::ffi::CStr, flags: c_int) -> io::Result<()> {
    // SAFETY: all bytes zero are a value of this type, which is numbers only.
    let mut how: libc::open_how = unsafe { mem::zeroed() };
    how.flags = flags.unsigned_abs().into();
    let (path, size) = (path.as_ptr(), mem::size_of_val(&how));
    // SAFETY: the path ends with a zero byte, and `how` is as large as is said.
    succeeded(unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path, &raw mut how, size) })
}

/// Asks for an `io_uring`.
#[cfg(test)]
pub(super) fn ask_for_ring() -> io::Result<()> {
    // SAFETY: without parameters there is nothing to be written to; the system refuses it.
    succeeded(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, NOTHING) })
}

const NOTHING: *mut c_void = ptr::null_mut();
/// The kernel's name for x86-64: its machine number, 64 bits, little endian.
const AUDIT_ARCH_X86_64: u32 = 62 | 0x8000_0000 | 0x4000_0000;

fn succeeded(result: i64) -> io::Result<()> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
