//! A job and all who do it: what both drivers, criterion and the rounds, take.

/// One way to do the job of a contest.
pub struct Contender<'a> {
    /// As it stands in the table; the first contender of a contest is xsort.
    pub name: String,
    /// Does the whole job once.
    pub work: Box<dyn FnMut() + 'a>,
    /// Panics unless `work` left the right result, and spoils it, so that no contender lives on
    /// another's.
    pub check: Box<dyn FnMut() + 'a>,
}

/// A job, done by several contenders in turn.
pub struct Contest<'a> {
    /// What is done, to what.
    pub name: String,
    /// Records (or words) that one turn deals with.
    pub records: usize,
    /// Who does it.
    pub contenders: Vec<Contender<'a>>,
}

impl<'a> Contest<'a> {
    pub(crate) fn new(name: impl Into<String>, records: usize) -> Contest<'a> {
        Contest { name: name.into(), records, contenders: Vec::new() }
    }

    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        work: impl FnMut() + 'a,
        check: impl FnMut() + 'a,
    ) {
        self.contenders.push(Contender {
            name: name.into(),
            work: Box::new(work),
            check: Box::new(check),
        });
    }
}
