//! Safe wrappers of `ptrace` and `wait`; the stepper's only unsafe code.

use std::{
    io, mem,
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Command, ExitStatus},
    ptr,
};

use libc::{c_int, c_void, pid_t};

use super::fault::Errno;

/// The request for a [`SyscallInfo`], and the value of its `op` at a call's entry; musl's declarations lack both.
const PTRACE_GET_SYSCALL_INFO: u16 = 0x420e;
const PTRACE_SYSCALL_INFO_ENTRY: u8 = 1;

/// The kernel's `struct ptrace_syscall_info` at the entry of a call.
#[derive(Debug, Default)]
#[repr(C)]
struct SyscallInfo {
    op: u8,
    pad: [u8; 3],
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    number: u64,
    arguments: [u64; 6],
}

/// Event of a traced thread or process.
#[derive(Debug)]
pub(super) enum Event {
    /// It exited or was killed.
    Ended(ExitStatus),
    /// It enters or leaves a system call.
    Call,
    /// It receives this signal.
    Signal(c_int),
    /// It created a child or executed another program.
    Other,
}

/// A system call at its entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) number: i64,
    pub(super) arguments: [u64; 6],
}

/// Makes `command` traceable by the thread that spawns it. The process stops before the new program's first
/// instruction.
pub(super) fn let_parent_trace(command: &mut Command) {
    let ask = || {
        // SAFETY: this request takes no pointers.
        succeeded(unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, NOTHING, NOTHING) })
    };
    // SAFETY: between fork and exec, `ask` makes one system call and allocates nothing.
    unsafe { command.pre_exec(ask) };
}

/// Traces all threads and children of `process` too, and has them killed when the calling thread ends.
pub(super) fn follow_children(process: pid_t) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_EXITKILL;
    let options = ptr::without_provenance_mut::<c_void>(options as usize);
    // SAFETY: this request takes its options as a number in the pointer argument.
    succeeded(unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, process, NOTHING, options) })
}

/// Waits for the tracees of the calling thread only.
///
/// # Errors
/// `ECHILD` if none is left.
pub(super) fn wait() -> io::Result<(pid_t, Event)> {
    let mut status = 0;
    let process = loop {
        // SAFETY: `status` is a valid place to write to.
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

/// Resumes a stopped thread until its next system call, and delivers `signal` unless zero. Ignores errors: [`wait`]
/// reports a thread that was killed meanwhile.
pub(super) fn go_on(thread: pid_t, signal: c_int) {
    let signal = ptr::without_provenance_mut::<c_void>(signal as usize);
    // SAFETY: this request takes the signal as a number in the pointer argument.
    unsafe { libc::ptrace(libc::PTRACE_SYSCALL, thread, NOTHING, signal) };
}

/// Returns the system call at whose entry a thread stopped; `None` at its exit, or for another architecture.
pub(super) fn entry(thread: pid_t) -> Option<Entry> {
    let mut info = SyscallInfo::default();
    let size = ptr::without_provenance_mut::<c_void>(mem::size_of_val(&info));
    // SAFETY: the kernel writes no more than the size that is passed, which is that of `info`, and any bytes are numbers.
    let got = unsafe { libc::ptrace(PTRACE_GET_SYSCALL_INFO.into(), thread, size, &raw mut info) };
    if got <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY || info.arch != AUDIT_ARCH_X86_64 {
        return None;
    }
    Some(Entry { number: i64::try_from(info.number).ok()?, arguments: info.arguments })
}

/// Fails the call at whose entry a thread stopped, without executing it.
pub(super) fn refuse(thread: pid_t, errno: Errno) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid value of this type, which contains only numbers.
    let mut registers: libc::user_regs_struct = unsafe { mem::zeroed() };
    // SAFETY: this request writes to `registers`, which has the right type.
    succeeded(unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread, NOTHING, &raw mut registers) })?;
    // No system call has this number, so the kernel keeps the result register.
    registers.orig_rax = u64::MAX;
    registers.rax = i64::from(-errno.number).cast_unsigned();
    // SAFETY: this request reads `registers`, which has the right type.
    succeeded(unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, NOTHING, &raw const registers) })
}

/// Kills a traced process.
pub(super) fn kill(process: pid_t) {
    // SAFETY: this call takes no pointers.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// Opens the file at `path` with `openat2`.
#[cfg(test)]
pub(super) fn open_by_openat2(path: &std::ffi::CStr, flags: c_int) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid value of this type, which contains only numbers.
    let mut how: libc::open_how = unsafe { mem::zeroed() };
    how.flags = flags.unsigned_abs().into();
    let (path, size) = (path.as_ptr(), mem::size_of_val(&how));
    // SAFETY: the path ends with a zero byte, and `how` has the size that is passed.
    succeeded(unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path, &raw mut how, size) })
}

/// Requests an `io_uring`.
#[cfg(test)]
pub(super) fn ask_for_ring() -> io::Result<()> {
    // SAFETY: the null parameters are not written to; the system refuses them.
    succeeded(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, NOTHING) })
}

const NOTHING: *mut c_void = ptr::null_mut();
/// The kernel's id of x86-64: machine number, 64-bit flag, little-endian flag.
const AUDIT_ARCH_X86_64: u32 = 62 | 0x8000_0000 | 0x4000_0000;

fn succeeded(result: i64) -> io::Result<()> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
