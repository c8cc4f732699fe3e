//! Shows the progress of a run: a line for each completed check and, on a terminal, a line for the current one.

use std::{
    io::{IsTerminal, Write},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    check::Check,
    era::Era,
    report::{CheckReport, Observer, terminal, visible},
};

/// Minimum time between two redraws of the progress line.
const REDRAW_INTERVAL: Duration = Duration::from_millis(80);

/// Prints completed checks on standard output, and progress on standard error if that is a terminal.
#[derive(Debug)]
pub struct Progress {
    quiet: bool,
    moves: bool,
    all: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    since: Instant,
    drawn: Option<Instant>,
    checks: usize,
    check: &'static str,
    revision: &'static str,
    cases: usize,
    done: usize,
}

impl Progress {
    /// Creates an observer of `all` checks. Shows no completed checks if `quiet`, and no progress line if standard error is
    /// not a terminal.
    pub fn new(quiet: bool, all: usize) -> Self {
        Self {
            quiet,
            all,
            moves: std::io::stderr().is_terminal(),
            state: Mutex::new(State {
                since: Instant::now(),
                drawn: None,
                checks: 0,
                check: "",
                revision: "",
                cases: 0,
                done: 0,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, state: &mut State) {
        if self.moves && state.drawn.is_none_or(|drawn| drawn.elapsed() > REDRAW_INTERVAL) {
            state.drawn = Some(Instant::now());
            let seconds = state.since.elapsed().as_secs();
            let line = format!(
                "{}:{:02}  check {} of {}, case {} of {}  {} ({})",
                seconds / 60,
                seconds % 60,
                state.checks + 1,
                self.all,
                (state.done + 1).min(state.cases),
                state.cases,
                state.check,
                state.revision,
            );
            let mut stderr = std::io::stderr().lock();
            let columns = rustix::termios::tcgetwinsize(&stderr).map_or(0, |size| size.ws_col.into());
            let columns = if columns > 0 { columns } else { 80 };
            // Progress is optional: an error is ignored.
            let _ = write!(stderr, "\r\x1b[2K{}", visible::cut(&line, columns)).and_then(|()| stderr.flush());
        }
    }

    fn clear(&self) {
        if self.moves {
            // As above.
            let _ = write!(std::io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

impl Observer for Progress {
    fn begins(&self, check: &Check, era: Era, cases: usize) {
        let state = &mut *self.state();
        (state.check, state.revision) = (check.id, era.revision());
        (state.cases, state.done, state.drawn) = (cases, 0, None);
        self.draw(state);
    }

    fn case_done(&self, _: &Check) {
        let state = &mut *self.state();
        state.done += 1;
        self.draw(state);
    }

    fn ends(&self, report: &CheckReport) {
        let state = &mut *self.state();
        state.checks += 1;
        self.clear();
        if !self.quiet {
            let mut out = anstream::stdout().lock();
            // The report contains this too, so an error is ignored.
            let _ = write!(out, "{}", terminal::check(report)).and_then(|()| out.flush());
        }
    }
}

/// Reports no progress.
#[derive(Debug)]
pub struct Silent;

impl Observer for Silent {
    fn begins(&self, _: &Check, _: Era, _: usize) {}

    fn case_done(&self, _: &Check) {}

    fn ends(&self, _: &CheckReport) {}
}
