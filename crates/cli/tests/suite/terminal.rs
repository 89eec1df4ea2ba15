//! A terminal for the program: the user's side and the program's side.

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// A terminal: the user's side, its name, and a way to open the program's side.
pub(crate) struct Terminal {
    pub(crate) screen: File,
    pub(crate) name: CString,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        let terminal =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        Terminal { screen: terminal.into(), name }
    }

    /// A terminal of `columns` columns and `rows` rows.
    pub(crate) fn of_size(columns: u16, rows: u16) -> Terminal {
        let terminal = Terminal::new();
        let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal.screen, size).unwrap();
        terminal
    }

    fn open(&self) -> Stdio {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::open(&*self.name, flags, Mode::empty()).unwrap().into()
    }

    /// Starts a program on it, and waits until it has drawn something.
    pub(crate) fn start(&mut self, command: Command) -> Child {
        let child = self.spawn(command);
        assert!(self.screen.read(&mut [0; 1024]).unwrap() > 0, "it draws");
        child
    }

    fn spawn(&self, mut command: Command) -> Child {
        // The command is dropped: otherwise the terminal would stay open in this process.
        command.stdin(self.open()).stdout(self.open()).stderr(self.open()).spawn().unwrap()
    }

    /// Runs a program on it. Returns everything that it prints.
    pub(crate) fn run(mut self, command: Command) -> String {
        let mut child = self.spawn(command);
        let mut printed = Vec::new();
        // An error is the end: the program's side is closed.
        let _ = self.screen.read_to_end(&mut printed);
        assert!(child.wait().unwrap().success());
        String::from_utf8(printed).unwrap().replace("\r\n", "\n")
    }
}
