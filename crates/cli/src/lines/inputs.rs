//! Which files are read. They are inspected before anything is read, and each is opened when it is
//! read. So there may be more of them than the limit on open files.

use super::failure::{self, Failure};
use super::names;
use super::not_opened::{NotOpened, opening_error};
use super::session::LinesSession;
use super::target::Target;
use crate::gnu_commands::locale;
use crate::inputs::expand::is_directory;
use crate::inputs::names_memory::NamesMemory;
use crate::inputs::objects::{Objects, announce, is_pattern};
use crate::inputs::tree::{Tree, TreeError, TreeFile, TreeOptions, identity};
use crate::settings::open_files;
use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, fstat};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xsort_disk::{Disk, Found, inherited, is_url};
use xsort_extsort::lines::{Content, LinesInput, OpenInput};
use xsort_gnu::sort::Command;
use xsort_usage::Identity;

/// The name of standard input.
pub(super) const STANDARD: &str = "-";

/// The assumed size of files that claim to be empty, as those of /proc do.
const UNKNOWN_BYTES: u64 = 64 << 10;

/// Bytes copied at once.
const COPY_BYTES: usize = 256 << 10;

/// Files that may be open besides the inputs: scratch in some directories, rings, standard streams.
const OTHER_FILES: u64 = 64;

/// The names of all inputs, from the command line or from `--files0-from`.
pub(super) fn files(command: &Command, session: &LinesSession) -> Result<Vec<OsString>, Failure> {
    let Some(list) = &command.files0_from else { return Ok(command.files.clone()) };
    let mut text = Vec::new();
    let unreadable =
        || Failure::Message([b"cannot read file names from ", &names::quoted(list)[..]].concat());
    match uninspected(list, session)?.into_bytes().read_to_end(&mut text) {
        Ok(_) => {}
        Err(error) if opening_error(&error).is_some() => {
            return Err(failure::of_read(list, &error));
        }
        Err(_) => return Err(unreadable()),
    }
    Ok(xsort_gnu::sort::listed_files(&text, list, locale())?)
}

/// Inputs that can be read, as far as an inspection without reading shows.
pub(super) struct Inputs {
    all: Vec<Input>,
    pub(super) names: NamesMemory,
}

struct Input {
    name: OsString,
    /// The disk that serves the URL; `None` for a file.
    url_disk: Option<Arc<dyn Disk>>,
    /// `None` for a URL.
    identity: Option<Identity>,
    is_regular: bool,
    /// True if it is opened by its name and read from its beginning. Standard input isn't: the
    /// process that handed it over may read on where this one stops.
    is_named_file: bool,
    /// Bytes to be read, if known.
    bytes: Option<u64>,
}

impl Inputs {
    /// Inspects all files. Standard input counts only the first time it is named, because it is at
    /// its end after that. With `rules`, a directory stands for the files below it, and `say`
    /// prints which of these are left out. A pattern of objects always stands for the matching
    /// objects.
    pub(super) fn inspect(
        files: Vec<OsString>,
        rules: Option<TreeOptions<'_>>,
        session: &LinesSession,
        say: impl Fn(&str),
    ) -> Result<Inputs, Failure> {
        let mut inputs: Vec<Input> = Vec::new();
        let mut names = NamesMemory::default();
        let mut has_standard = false;
        if let Some(disk) = files.iter().find_map(|name| session.disk_of_url(name)) {
            announce(files.iter().map(Path::new), &**disk);
        }
        for name in files {
            let is_standard = name == STANDARD;
            if let Some(disk) = session.disk_of_url(&name) {
                inputs.extend(inspect_url(Path::new(&name), rules, &mut names, disk, &say)?);
                continue;
            }
            match rules {
                Some(rules) if !is_standard && is_directory(&name) => {
                    let tree = Tree::below(Path::new(&name), rules, &mut names, || false)
                        .map_err(of_tree)?;
                    tree.notice(Path::new(&name)).iter().for_each(|line| say(line));
                    for file in tree.files {
                        inputs.push(Input::from_tree(file)?);
                    }
                }
                _ if is_standard && has_standard => {}
                _ => {
                    let name_bytes = name.len();
                    let input = Input::inspect(name)?;
                    names.add(name_bytes, input.bytes.unwrap_or(0));
                    inputs.push(input);
                }
            }
            has_standard |= is_standard;
        }
        Ok(Inputs { all: inputs, names })
    }

    /// The number of inputs.
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether a file is one of them.
    pub(super) fn include(&self, file: Identity) -> bool {
        self.all.iter().any(|input| input.identity == Some(file))
    }

    /// Whether a merge can have them all open at once.
    pub(super) fn can_all_be_open(&self) -> bool {
        open_files::allow_as_many_as_possible();
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        self.all.len() as u64 + OTHER_FILES <= most
    }

    /// The paths of the inputs, if all are regular files that can be read again by path.
    pub(super) fn files(&self) -> Option<Vec<PathBuf>> {
        let path = |input: &Input| {
            (input.is_regular && input.name != STANDARD).then(|| PathBuf::from(&input.name))
        };
        self.all.iter().map(path).collect()
    }

    /// The total size of all inputs in bytes, if known.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.all.iter().map(|input| input.bytes).sum()
    }

    /// Refuses a closed standard input when GNU sort does: before reading, but with the output
    /// open.
    pub(super) fn refuse_closed(&self) -> Result<(), Failure> {
        match self.all.first() {
            Some(first) if is_closed(&first.name) => {
                Err(Failure::of_file("stat failed", &first.name, &Errno::BADF.into()))
            }
            _ => Ok(()),
        }
    }

    /// Opens inputs for a sort, which reads them one after the other.
    pub(super) fn open_in_turn(self) -> Vec<LinesInput> {
        let open = |(number, input): (usize, Input)| {
            let is_closed = number == 0 && is_closed(&input.name);
            let path = PathBuf::from(&input.name);
            if let (Some(disk), Some(bytes)) = (&input.url_disk, input.bytes) {
                return LinesInput::at_url(disk, &path, bytes);
            }
            let content = if input.is_named_file {
                let open = move || Ok(Box::new(open(&input.name).map_err(NotOpened::mark)?) as _);
                Content::File(OpenInput::plain(open))
            } else {
                Content::Stream(Box::new(Opener { is_closed, ..Opener::new(input.name) }))
            };
            LinesInput { path, bytes: input.bytes, content }
        };
        self.all.into_iter().enumerate().map(open).collect()
    }

    /// Opens inputs for a merge, which reads all at once. An input that will be overwritten is
    /// first copied to `directory`, once even if it is named several times. If there are more
    /// inputs than the limit on open files, each is open only while it is read.
    pub(super) fn open_at_once(
        self,
        target: &Target<'_>,
        directory: &Path,
    ) -> Result<Vec<LinesInput>, Failure> {
        let stays_open = self.can_all_be_open();
        let written = target.identity();
        let mut shared_copy: Option<Arc<File>> = None;
        let open = |(number, input): (usize, Input)| {
            if let (Some(disk), Some(bytes)) = (&input.url_disk, input.bytes) {
                let input = LinesInput::at_url(disk, Path::new(&input.name), bytes);
                return Ok(input.beside_others());
            }
            if written.is_some() && written == input.identity {
                let copy = match &shared_copy {
                    // Standard input, which is named only once, begins at its position.
                    Some(copy) if input.name != STANDARD => Arc::clone(copy),
                    _ => Arc::new(copy(&input.name, directory)?),
                };
                if input.name != STANDARD {
                    shared_copy = Some(Arc::clone(&copy));
                }
                let content = Content::Stream(Box::new(SharedFile { file: copy, position: 0 }));
                let path = PathBuf::from(&input.name);
                return Ok(LinesInput { path, bytes: input.bytes, content });
            }
            let is_closed = number == 0 && is_closed(&input.name);
            let stays_open = stays_open || !input.is_regular || input.name == STANDARD;
            let opener = Opener { stays_open, is_closed, ..Opener::new(input.name) };
            Ok(opener.into_input(input.bytes))
        };
        self.all.into_iter().enumerate().map(open).collect()
    }
}

/// A nameless copy of an input.
fn copy(name: &OsStr, directory: &Path) -> Result<File, Failure> {
    let mut copy = tempfile::tempfile_in(directory)
        .map_err(|error| failure::of_scratch(directory.as_os_str(), &error))?;
    let mut from = opened_late(name).into_bytes();
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(bytes) => copy
                .write_all(&buffer[..bytes])
                .map_err(|error| Failure::of_file("write failed", directory.as_os_str(), &error))?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failure::of_read(name, &error)),
        }
    }
    Ok(copy)
}

impl Input {
    fn inspect(name: OsString) -> Result<Input, Failure> {
        let fail = |what, error: io::Error| Failure::of_file(what, &name, &error);
        let (metadata, position) = if name == STANDARD {
            let mut file = standard_input().map_err(|error| fail("open failed", error))?;
            let metadata = file.metadata().map_err(|error| fail("stat failed", error))?;
            // A pipe has no position.
            (metadata, file.stream_position().unwrap_or(0))
        } else {
            refuse_unreadable(&name)?;
            (fs::metadata(&name).map_err(|error| fail("cannot read", error))?, 0)
        };
        let bytes = match metadata.len() {
            _ if !metadata.is_file() => None,
            0 => Some(UNKNOWN_BYTES),
            all => Some(all.saturating_sub(position)),
        };
        let is_regular = metadata.is_file();
        // To GNU sort a URL is a file name, which the disk must not take for a URL.
        let is_name = name != STANDARD && !is_url(Path::new(&name));
        Ok(Input {
            is_named_file: is_regular && metadata.len() > 0 && is_name,
            name,
            url_disk: None,
            identity: Some(identity(&metadata)),
            is_regular,
            bytes,
        })
    }

    /// An input from a walk. The walk knows everything except whether the file can be read.
    fn from_tree(file: TreeFile) -> Result<Input, Failure> {
        let TreeFile { path: name, bytes, identity, .. } = file;
        refuse_unreadable(&name)?;
        let bytes_to_read = if bytes == 0 { UNKNOWN_BYTES } else { bytes };
        Ok(Input {
            is_named_file: bytes > 0 && !is_url(Path::new(&name)),
            name,
            url_disk: None,
            identity: Some(identity),
            is_regular: true,
            bytes: Some(bytes_to_read),
        })
    }

    /// A file at a URL.
    fn at_url(disk: &Arc<dyn Disk>, url: OsString, bytes: u64) -> Input {
        Input {
            name: url,
            url_disk: Some(Arc::clone(disk)),
            identity: None,
            is_regular: true,
            is_named_file: true,
            bytes: Some(bytes),
        }
    }
}

/// What a URL stands for: its object, the objects that match the pattern, or with `rules` the
/// objects below it.
fn inspect_url(
    url: &Path,
    rules: Option<TreeOptions<'_>>,
    names: &mut NamesMemory,
    disk: &Arc<dyn Disk>,
    say: impl Fn(&str),
) -> Result<Vec<Input>, Failure> {
    let refuse = |errno: Errno| Failure::of_file("cannot read", url.as_os_str(), &errno.into());
    let at = |path: PathBuf, bytes| Input::at_url(disk, path.into_os_string(), bytes);
    let objects = if is_pattern(url) {
        let budget_bytes = rules.map_or(u64::MAX, |rules| rules.budget_bytes);
        Objects::matching(url, budget_bytes, names, &**disk, || false)
    } else {
        match (disk.find(url).map_err(|error| failure::of_disk(&error))?, rules) {
            (Found::File { bytes }, _) => {
                names.add(url.as_os_str().len(), bytes);
                return Ok(vec![at(url.to_owned(), bytes)]);
            }
            (Found::Directory, Some(rules)) => Objects::below(url, rules, names, &**disk, || false),
            (Found::Directory, None) => return Err(refuse(Errno::ISDIR)),
            (Found::Missing, _) => return Err(refuse(Errno::NOENT)),
            (Found::Other, _) => return Err(refuse(Errno::INVAL)),
        }
    };
    let objects = objects.map_err(of_tree)?;
    objects.notice(url).iter().for_each(|line| say(line));
    Ok(objects.files.into_iter().map(|file| at(file.path, file.bytes)).collect())
}

fn refuse_unreadable(name: &OsStr) -> Result<(), Failure> {
    accessat(CWD, name.as_bytes(), Access::READ_OK, AtFlags::EACCESS)
        .map_err(|errno| Failure::of_file("cannot read", name, &errno.into()))
}

fn of_tree(refusal: TreeError) -> Failure {
    match refusal {
        TreeError::Unreadable { path, source } => {
            Failure::of_file("cannot read", path.as_os_str(), &source)
        }
        TreeError::TooManyNames(refusal) => failure::of_names(refusal),
        TreeError::Disk(error) => failure::of_disk(&error),
        TreeError::IsOutput(_)
        | TreeError::NoMatch(_)
        | TreeError::Empty { .. }
        | TreeError::Stopped => Failure::Message(refusal.to_string().into()),
    }
}

/// Opens an input without inspecting it, except at a URL.
pub(super) fn uninspected(name: &OsStr, session: &LinesSession) -> Result<LinesInput, Failure> {
    match session.disk_of_url(name) {
        Some(disk) => {
            LinesInput::on(disk, Path::new(name)).map_err(|error| failure::of_disk(&error))
        }
        None => Ok(opened_late(name)),
    }
}

/// A local file that is opened at the first read, without an inspection.
fn opened_late(name: &OsStr) -> LinesInput {
    Opener::new(name.to_owned()).into_input(None)
}

/// True if the file is standard input, and that is closed. (Otherwise a file that is opened before
/// standard input is inspected would take over its descriptor.)
fn is_closed(name: &OsStr) -> bool {
    name == STANDARD && !inherited().is_open[0]
}

/// A file that is opened at the first read.
struct Opener {
    name: OsString,
    file: Option<File>,
    /// If false, the file is closed after each read, and opened again for the next.
    stays_open: bool,
    /// The offset of the next read, if the file doesn't stay open.
    position: u64,
    /// True if this is standard input, and it was closed when the process started.
    is_closed: bool,
}

impl Opener {
    fn new(name: OsString) -> Opener {
        let is_closed = is_closed(&name);
        Opener { name, file: None, stays_open: true, position: 0, is_closed }
    }

    fn into_input(self, bytes: Option<u64>) -> LinesInput {
        let path = PathBuf::from(&self.name);
        LinesInput { path, bytes, content: Content::Stream(Box::new(self)) }
    }
}

/// An open file that several inputs read, each from its beginning.
struct SharedFile {
    file: Arc<File>,
    /// The offset of the next read.
    position: u64,
}

impl Read for SharedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(buffer, self.position)?;
        self.position += bytes as u64;
        Ok(bytes)
    }
}

impl Read for Opener {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_closed {
            return Err(Errno::BADF.into());
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => open(&self.name).map_err(NotOpened::mark)?,
        };
        if self.stays_open {
            return self.file.insert(file).read(buffer);
        }
        file.seek(SeekFrom::Start(self.position))?;
        let bytes = file.read(buffer)?;
        self.position += bytes as u64;
        Ok(bytes)
    }
}

fn open(name: &OsStr) -> io::Result<File> {
    let file = if name == STANDARD { standard_input()? } else { File::open(name)? };
    let is_regular = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::RegularFile;
    if is_regular {
        // If the kernel ignores the advice, no harm is done.
        xsort_disk::read_in_order(&file);
    }
    Ok(file)
}

fn standard_input() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}
