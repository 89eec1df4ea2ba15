//! Jobs that live, die, and leave things behind.

use crate::{place, snapshot};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xsort_status::{
    FoundJob, Inventory, Life, Publisher, StatusDirectories, clear, find, leftovers, search,
};
use xsort_testing::names;

/// A directory, and jobs that publish in it.
fn home() -> (tempfile::TempDir, StatusDirectories) {
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
    (home, place)
}

/// A job that has published once.
fn published(place: &StatusDirectories, pid: u32) -> Publisher {
    let mut publisher = Publisher::open(place, pid).unwrap();
    publisher.publish(&snapshot(pid)).unwrap();
    publisher
}

/// Whether a process that is gone held a lock is asked by its descriptors: dropping the publisher
/// closes them, as death does.
fn die(publisher: Publisher) {
    drop(publisher);
}

#[test]
fn a_job_is_found_while_it_runs_and_gone_when_it_took_leave() {
    let (home, place) = home();
    assert!(find(&place).is_empty());
    let mut publisher = Publisher::open(&place, 42).unwrap();
    assert!(find(&place).is_empty(), "it has said nothing yet");
    publisher.publish(&snapshot(42)).unwrap();
    let mut jobs = find(&place);
    assert_eq!((jobs.len(), jobs[0].life(), jobs[0].name()), (1, Life::Running, "42"));
    assert_eq!(jobs[0].snapshot().unwrap(), &snapshot(42));
    publisher.publish(&xsort_status::Snapshot { seconds: 11.0, ..snapshot(42) }).unwrap();
    jobs[0].refresh();
    assert_eq!(jobs[0].snapshot().unwrap().seconds, 11.0);
    publisher.end();
    assert!(find(&place).is_empty());
    assert_eq!(names(home.path()), [""; 0]);
    jobs[0].refresh();
    assert_eq!(
        (jobs[0].life(), jobs[0].snapshot().unwrap().seconds),
        (Life::Over, 11.0),
        "the last word stays"
    );
}

#[test]
fn jobs_with_one_number_have_names_of_their_own() {
    let (_home, place) = home();
    let mut jobs = [0; 3].map(|_| Publisher::open(&place, 42).unwrap());
    jobs.iter_mut().for_each(|job| job.publish(&snapshot(42)).unwrap());
    let found = find(&place);
    assert_eq!(found.iter().map(FoundJob::name).collect::<Vec<_>>(), ["42", "42-1", "42-2"]);
    assert!(found.iter().all(|job| job.is_called("42")));
    assert_eq!(found.iter().filter(|job| job.is_called("42-1")).count(), 1);
}

#[test]
fn a_dead_job_is_told_from_a_living_one_and_cleared() {
    let (home, place) = home();
    let _living = published(&place, 1);
    die(published(&place, 2));
    let jobs = find(&place);
    assert_eq!(jobs.iter().map(FoundJob::life).collect::<Vec<_>>(), [Life::Running, Life::Dead]);
    assert!(leftovers(&jobs[0]).status.is_empty());
    assert_eq!(leftovers(&jobs[1]).status.len(), names(home.path()).len() / 2);
    jobs.iter().for_each(|job| assert!(clear(job).failures.is_empty()));
    let left = find(&place);
    assert_eq!((left.len(), left[0].name()), (1, "1"));
    assert_eq!(left[0].life(), Life::Running);
}

/// The number of a process comes again, and so does the name of its status.
#[test]
fn a_job_that_took_a_dead_ones_name_is_left_alone() {
    let (_home, place) = home();
    die(published(&place, 7));
    let dead = find(&place);
    assert_eq!(dead[0].life(), Life::Dead);
    let _second = published(&place, 7);
    let cleared = clear(&dead[0]);
    assert!(cleared.removed.status.is_empty() && cleared.failures.is_empty(), "{cleared:?}");
    assert_eq!(find(&place)[0].life(), Life::Running);
}

#[test]
fn hidden_files_are_the_dead_jobs_only_if_nobody_else_can_own_them() {
    let (home, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = place(home.path());
    let now = SystemTime::now();
    let mut told = snapshot(7);
    told.job.started_unix_seconds = now.duration_since(UNIX_EPOCH).unwrap().as_secs_f64() - 60.0;
    told.taken_unix_seconds = told.job.started_unix_seconds + 30.0;
    told.places = vec![data.path().display().to_string()];
    let made = |name: &str, age: u64| {
        let written = (now - Duration::from_secs(age)).duration_since(UNIX_EPOCH).unwrap();
        let path = data.path().join(name);
        touch(&path, Some(written.as_secs()));
        path
    };
    made(".out.xsort-7-0123456789abcdef", 40);
    made(".older.xsort-7-0123456789abcdef", 90);
    made(".newer.xsort-7-0123456789abcdef", 10);
    made(".other.xsort-8-0123456789abcdef", 40);
    let _held = fs::File::open(made(".open.xsort-7-0123456789abcdef", 40)).unwrap();
    let mut publisher = Publisher::open(&place, 7).unwrap();
    publisher.publish(&told).unwrap();
    assert!(leftovers(&find(&place)[0]).hidden.is_empty(), "it lives");
    die(publisher);
    let job = &find(&place)[0];
    let ours = data.path().join(".out.xsort-7-0123456789abcdef");
    assert_eq!(leftovers(job).hidden, [(ours, 0)]);
    assert!(clear(job).failures.is_empty());
    assert_eq!(
        names(data.path()),
        [
            ".newer.xsort-7-0123456789abcdef",
            ".older.xsort-7-0123456789abcdef",
            ".open.xsort-7-0123456789abcdef",
            ".other.xsort-8-0123456789abcdef"
        ]
    );
    assert!(names(home.path()).is_empty());
}

#[test]
fn what_is_no_job_is_no_trouble() {
    let (home, place) = home();
    fs::write(home.path().join("notes.txt"), "x").unwrap();
    fs::write(home.path().join("12.state"), "not what a job writes").unwrap();
    fs::write(home.path().join("13.buffer-0"), "").unwrap();
    fs::create_dir(home.path().join("14.state")).unwrap();
    for job in find(&place) {
        assert!(job.snapshot().is_none() && job.life() == Life::Dead, "{}", job.name());
        assert!(job.trouble().is_some(), "{}", job.name());
    }
    assert!(find(&place).iter().all(|job| job.name() != "notes"));
}

#[test]
fn a_directory_that_others_may_write_to_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let shared = home.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    let error = Publisher::open(&place(&shared), 1).err().unwrap();
    assert!(error.contains("others may write to it"), "{error}");
    assert!(find(&place(&shared)).is_empty());
    let link = home.path().join("link");
    symlink(home.path(), &link).unwrap();
    assert!(Publisher::open(&place(&link), 1).err().unwrap().contains("no directory"));
}

#[test]
fn a_directory_is_made_for_its_user_alone() {
    let home = tempfile::tempdir().unwrap();
    let runtime = home.path().as_os_str().to_owned();
    let place = StatusDirectories::from_environment(move |name| {
        (name == "XDG_RUNTIME_DIR").then(|| runtime.clone())
    });
    let publisher = Publisher::open(&place, 5).unwrap();
    let made = home.path().join("xsort");
    assert_eq!(publisher.prefix(), made.join("5"));
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
}

/// Directories and links have names of jobs, and the ways of jobs lead nowhere: they are named and
/// left, and all else goes.
#[test]
fn strangers_among_the_files_are_named_and_all_else_is_cleared() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = place(home.path());
    for pid in [1, 2, 3, 4] {
        die(published(&place, pid));
    }
    let _living = published(&place, 5);
    fs::write(elsewhere.path().join("target"), "kept").unwrap();
    let at = |name: &str| home.path().join(name);
    // A link to the state of a job that lives is not a second such job.
    symlink(at("5.state"), at("0.state")).unwrap();
    symlink(elsewhere.path().join("target"), at("11.state")).unwrap();
    symlink("nowhere", at("2.buffer-7")).unwrap();
    fs::create_dir(at("3.buffer-4000")).unwrap();
    fs::create_dir(at("12.state")).unwrap();
    assert!(Command::new("mkfifo").arg(at("13.state")).status().unwrap().success());
    // Regular files are of whoever made them here: nobody else may.
    fs::write(at("14.state"), "not what a job writes").unwrap();
    fs::File::create(at("15.state")).unwrap().set_len(1 << 40).unwrap();
    fs::write(at("4.buffer-007"), "").unwrap();
    fs::write(home.path().join(OsStr::from_bytes(b"16\xff.state")), "").unwrap();

    let jobs = find(&place);
    assert_eq!((jobs[0].name(), jobs[0].life()), ("5", Life::Running));
    assert!(jobs[1..].iter().all(|job| job.life() == Life::Dead), "the rest is dead");
    let mut inventory = Inventory::default();
    let mut failed: Vec<String> = Vec::new();
    for job in &jobs {
        for (path, error) in inventory.clear(job).failures {
            assert!(error.to_string().contains("which no job makes"), "{error}");
            failed.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }
    failed.sort();
    let strangers = ["0.state", "11.state", "12.state", "13.state", "2.buffer-7", "3.buffer-4000"];
    assert_eq!(failed, strangers);
    let left = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.filter(|name| !name.as_bytes().starts_with(b"5.")).collect();
    left.sort();
    assert_eq!(left.pop().unwrap().as_bytes(), b"3.buffer-4000");
    assert_eq!(left.len(), strangers.len(), "{left:?}");
    assert_eq!(fs::read(elsewhere.path().join("target")).unwrap(), b"kept");
    assert_eq!(find(&place)[0].life(), Life::Running);
}

/// What tells of a hidden file goes only after it.
#[test]
fn a_hidden_file_that_can_not_be_removed_keeps_its_status() {
    let (home, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = place(home.path());
    let hidden = data.path().join(".out.xsort-7-0123456789abcdef");
    dead_with_a_hidden_file(&place, data.path(), &hidden);
    let mount = |words: &[&str]| Command::new("mount").args(words).arg(data.path()).status();
    let bound = mount(&["--bind", data.path().to_str().unwrap()]);
    if !bound.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: nothing can be mounted here");
        return;
    }
    let is_read_only = mount(&["-o", "remount,bind,ro"]).unwrap().success();
    let before = names(home.path());
    let (cleared, after) = (clear(&find(&place)[0]), names(home.path()));
    assert!(Command::new("umount").arg(data.path()).status().unwrap().success() && is_read_only);
    assert_eq!(cleared.failures.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&hidden]);
    assert!(cleared.removed.hidden.is_empty() && cleared.removed.status.is_empty(), "{cleared:?}");
    assert_eq!(after, before);
    assert_eq!(clear(&find(&place)[0]).removed.hidden, [(hidden, 0)]);
    assert_eq!(names(home.path()), [""; 0]);
}

/// The number of a process comes again while what the first one left is still there.
#[test]
fn a_job_takes_no_name_whose_status_is_all_that_tells_of_hidden_files() {
    let (home, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = place(home.path());
    let hidden = data.path().join(".out.xsort-7-0123456789abcdef");
    dead_with_a_hidden_file(&place, data.path(), &hidden);
    let mut second = Publisher::open(&place, 7).unwrap();
    assert_eq!(second.prefix(), home.path().join("7-1"));
    second.publish(&snapshot(7)).unwrap();
    for job in find(&place) {
        assert!(clear(&job).failures.is_empty());
    }
    assert!(!hidden.exists());
    assert_eq!(find(&place).iter().map(FoundJob::name).collect::<Vec<_>>(), ["7-1"]);
    // Nothing depends on the first name now.
    second.end();
    assert_eq!(Publisher::open(&place, 7).unwrap().prefix(), home.path().join("7"));
}

/// A clock that jumps while a job runs turns its beginning and its last word around.
#[test]
fn hidden_files_are_known_whatever_the_clock_did() {
    let (home, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = place(home.path());
    let hidden = data.path().join(".out.xsort-7-0123456789abcdef");
    for (began, told, written) in
        [(5000.0, 1060.0, 1050), (5000.0, 1060.0, 5010), (1000.0, 5060.0, 5050)]
    {
        let mut lived = snapshot(7);
        lived.places = vec![data.path().display().to_string()];
        (lived.job.started_unix_seconds, lived.seconds, lived.taken_unix_seconds) =
            (began, 60.0, told);
        touch(&hidden, Some(written));
        let mut job = Publisher::open(&place, 7).unwrap();
        job.publish(&lived).unwrap();
        die(job);
        assert_eq!(
            clear(&find(&place)[0]).removed.hidden,
            [(hidden.clone(), 0)],
            "{began} {told} {written}"
        );
    }
}

/// The end of a session takes the directory away (systemd's RemoveIPC, /run/user), and the job goes
/// on.
#[test]
fn a_job_whose_files_are_taken_away_appears_anew() {
    let home = tempfile::tempdir().unwrap();
    let status = home.path().join("status");
    let place = place(&status);
    let mut job = published(&place, 7);
    fs::remove_dir_all(&status).unwrap();
    job.publish(&snapshot(7)).unwrap();
    assert_eq!(find(&place)[0].life(), Life::Running);
    // A namesake, of another container, that has the name by now keeps it.
    fs::remove_dir_all(&status).unwrap();
    let namesake = published(&place, 7);
    job.publish(&snapshot(7)).unwrap();
    assert_eq!(job.prefix(), status.join("7-1"));
    job.end();
    assert_eq!(
        find(&place).iter().map(|job| (job.name(), job.life())).collect::<Vec<_>>(),
        [("7", Life::Running)]
    );
    fs::remove_dir_all(&status).unwrap();
    namesake.end();
    assert!(!status.exists(), "nothing is made by who leaves");
}

/// Of thousands of dead jobs none takes a descriptor, and none is opened twice by who goes on
/// looking.
#[test]
fn the_dead_are_remembered_until_somebody_takes_their_name() {
    let (home, place) = home();
    for pid in 0..50 {
        die(published(&place, pid));
    }
    let open =
        || fs::read_dir("/proc/self/fd").unwrap().filter(|fd| leads_into(fd, home.path())).count();
    let jobs = find(&place);
    assert_eq!((jobs.len(), open()), (50, 0));
    let _again = published(&place, 49);
    let jobs = search(&place, jobs, &|| false).jobs;
    assert_eq!((jobs.len(), jobs[0].name(), jobs[0].life()), (50, "49", Life::Running));
    assert!(jobs[1..].iter().all(|job| job.life() == Life::Dead));
    // Until it is told to stop.
    assert!(search(&place, Vec::new(), &|| true).jobs.is_empty());
}

/// Whether a descriptor is of a file below the directory.
fn leads_into(descriptor: &std::io::Result<fs::DirEntry>, directory: &Path) -> bool {
    let link = fs::read_link(descriptor.as_ref().unwrap().path());
    link.is_ok_and(|file| file.starts_with(directory))
}

/// A job with the number 7 that was killed and left a hidden file.
fn dead_with_a_hidden_file(place: &StatusDirectories, data: &Path, hidden: &Path) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let mut told = snapshot(7);
    (told.job.started_unix_seconds, told.taken_unix_seconds) = (now - 10.0, now);
    told.places = vec![data.display().to_string()];
    let mut job = Publisher::open(place, 7).unwrap();
    job.publish(&told).unwrap();
    touch(hidden, None);
    die(job);
}

/// Makes an empty file that was last written at a time, or now. This process never has it open: a
/// child that another test starts meanwhile would have it, too, until it runs its own program, and
/// nobody removes a file that somebody has open.
fn touch(path: &Path, written_unix_seconds: Option<u64>) {
    let at = written_unix_seconds.map(|seconds| format!("--date=@{seconds}"));
    assert!(Command::new("touch").args(at).arg(path).status().unwrap().success());
}
