//! Jobs that live, die, and leave things behind.

use crate::{place, snapshot};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xsort_status::{Found, Life, Place, Publisher, clear, find, leftovers};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Whether a process that is gone held a lock is asked by its descriptors: dropping the publisher closes them, as death does.
fn die(publisher: Publisher) {
    drop(publisher);
}

#[test]
fn a_job_is_found_while_it_runs_and_gone_when_it_took_leave() {
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
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
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
    let mut jobs = [0; 3].map(|_| Publisher::open(&place, 42).unwrap());
    jobs.iter_mut().for_each(|job| job.publish(&snapshot(42)).unwrap());
    let found = find(&place);
    assert_eq!(found.iter().map(Found::name).collect::<Vec<_>>(), ["42", "42-1", "42-2"]);
    assert!(found.iter().all(|job| job.is_called("42")));
    assert_eq!(found.iter().filter(|job| job.is_called("42-1")).count(), 1);
}

#[test]
fn a_dead_job_is_told_from_a_living_one_and_cleared() {
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
    let mut living = Publisher::open(&place, 1).unwrap();
    living.publish(&snapshot(1)).unwrap();
    let mut killed = Publisher::open(&place, 2).unwrap();
    killed.publish(&snapshot(2)).unwrap();
    die(killed);
    let jobs = find(&place);
    assert_eq!(jobs.iter().map(Found::life).collect::<Vec<_>>(), [Life::Running, Life::Dead]);
    assert!(leftovers(&jobs[0]).status.is_empty());
    assert_eq!(leftovers(&jobs[1]).status.len(), names(home.path()).len() / 2);
    jobs.iter().for_each(|job| drop(clear(job).unwrap()));
    let left = find(&place);
    assert_eq!((left.len(), left[0].name()), (1, "1"));
    assert_eq!(left[0].life(), Life::Running);
}

/// The number of a process comes again, and so does the name of its status.
#[test]
fn a_job_that_took_a_dead_ones_name_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
    let mut first = Publisher::open(&place, 7).unwrap();
    first.publish(&snapshot(7)).unwrap();
    die(first);
    let dead = find(&place);
    assert_eq!(dead[0].life(), Life::Dead);
    let mut second = Publisher::open(&place, 7).unwrap();
    second.publish(&snapshot(7)).unwrap();
    let removed = clear(&dead[0]).unwrap();
    assert!(removed.status.is_empty(), "{removed:?}");
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
    let file = |name: &str, age: u64| {
        let file = fs::File::create(data.path().join(name)).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
        file
    };
    drop(file(".out.xsort-7-0123456789abcdef", 40));
    drop(file(".older.xsort-7-0123456789abcdef", 90));
    drop(file(".newer.xsort-7-0123456789abcdef", 10));
    drop(file(".other.xsort-8-0123456789abcdef", 40));
    let _held = file(".open.xsort-7-0123456789abcdef", 40);
    let mut publisher = Publisher::open(&place, 7).unwrap();
    publisher.publish(&told).unwrap();
    assert!(leftovers(&find(&place)[0]).hidden.is_empty(), "it lives");
    die(publisher);
    let job = &find(&place)[0];
    let ours = data.path().join(".out.xsort-7-0123456789abcdef");
    assert_eq!(leftovers(job).hidden, [(ours, 0)]);
    clear(job).unwrap();
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
    let home = tempfile::tempdir().unwrap();
    let place = place(home.path());
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
    std::os::unix::fs::symlink(home.path(), &link).unwrap();
    assert!(Publisher::open(&place(&link), 1).err().unwrap().contains("no directory"));
}

#[test]
fn a_directory_is_made_for_its_user_alone() {
    let home = tempfile::tempdir().unwrap();
    let runtime = home.path().as_os_str().to_owned();
    let place = Place::of_environment(move |name| (name == "XDG_RUNTIME_DIR").then(|| runtime.clone()));
    let publisher = Publisher::open(&place, 5).unwrap();
    let made = home.path().join("xsort");
    assert_eq!(publisher.prefix(), made.join("5"));
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
}
