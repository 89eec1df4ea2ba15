//! Chooses the rows of a tree. There is a row for each file and directory that was found. A row in
//! each directory stands for the directory itself and the files without rows, so that the rows
//! below a directory add up to it. One row stands for all that are left out.

use super::row::{Row, by_path};
use std::cmp::Ordering;
use xsort_gnu::du::{Command, SortBy, Threshold};

/// The rows of one argument. Indices identify them.
pub(super) struct TreeRows {
    pub(super) rows: Vec<TreeRow>,
    /// Rows that are below no other one: the argument.
    pub(super) roots: Vec<usize>,
}

/// A row of a tree.
pub(super) struct TreeRow {
    pub(super) content: Content,
    pub(super) figure: u64,
    /// The rows below this one, in the order in which they are drawn.
    pub(super) children: Vec<usize>,
    parent: Option<usize>,
}

/// The subject of a row.
pub(super) enum Content {
    Found(Row),
    /// The directory above the row, and `files` files directly in it.
    Itself {
        files: u64,
    },
    /// The number of rows that are left out.
    More(usize),
}

/// The limit on the number of rows drawn.
#[derive(Clone, Copy)]
pub(super) enum RowLimit {
    None,
    /// The number of largest rows. Rows that count the others come in addition.
    Largest(usize),
    /// The number of lines in total.
    Lines(usize),
}

impl TreeRows {
    pub(super) fn new(mut found: Vec<Row>, command: &Command, limit: RowLimit) -> TreeRows {
        found.sort_by(|one, other| by_path(&one.path, &other.path));
        let mut tree = TreeRows::of_paths(found);
        // With either option, rows below a directory don't add up to it.
        let is_sum =
            !command.separate_directories && !matches!(command.threshold, Threshold::Most(_));
        if is_sum {
            tree.add_themselves();
        }
        let by_name = command.extras.sort == Some(SortBy::Name);
        let is_shown = tree.choose(command.threshold, limit);
        tree.leave_out(&is_shown, by_name);
        tree
    }

    /// Builds the tree. `found` must be sorted by path.
    fn of_paths(found: Vec<Row>) -> TreeRows {
        let mut tree = TreeRows { rows: Vec::new(), roots: Vec::new() };
        let mut above: Vec<usize> = Vec::new();
        for (index, row) in found.into_iter().enumerate() {
            while above.pop_if(|parent| !tree.is_below(&row.path, *parent)).is_some() {}
            let figure = row.figure;
            tree.add(Content::Found(row), figure, above.last().copied());
            above.push(index);
        }
        tree
    }

    /// True if a path is below that of a row.
    fn is_below(&self, path: &[u8], parent: usize) -> bool {
        let Content::Found(parent) = &self.rows[parent].content else { return false };
        let Some(rest) = path.strip_prefix(&parent.path[..]) else { return false };
        !rest.is_empty() && (parent.path.ends_with(b"/") || rest.starts_with(b"/"))
    }

    fn add(&mut self, content: Content, figure: u64, parent: Option<usize>) {
        let index = self.rows.len();
        parent.map_or(&mut self.roots, |parent| &mut self.rows[parent].children).push(index);
        self.rows.push(TreeRow { content, figure, children: Vec::new(), parent });
    }

    /// Adds to each directory a row with what the rows below it lack. A directory without rows
    /// below it needs none.
    fn add_themselves(&mut self) {
        for index in 0..self.rows.len() {
            let TreeRow { content: Content::Found(row), children, .. } = &self.rows[index] else {
                continue;
            };
            if children.is_empty() {
                continue;
            }
            let (mut figure, mut files) = (row.figure, row.files);
            for child in children {
                figure = figure.saturating_sub(self.rows[*child].figure);
                if matches!(&self.rows[*child].content, Content::Found(row) if !row.is_directory) {
                    files = files.saturating_sub(1);
                }
            }
            if figure > 0 || files > 0 {
                self.add(Content::Itself { files }, figure, Some(index));
            }
        }
    }

    /// Chooses the rows to draw: the largest first, and each only if its parent is drawn.
    fn choose(&self, threshold: Threshold, limit: RowLimit) -> Vec<bool> {
        let mut is_shown = vec![false; self.rows.len()];
        let mut shown_children = vec![0; self.rows.len()];
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|&one, &other| self.by_size(one, other));
        let (mut drawn, mut is_full) = (0, false);
        for index in order {
            let TreeRow { figure, parent, .. } = self.rows[index];
            if !threshold.admits(figure) || parent.is_some_and(|parent| !is_shown[parent]) {
                continue;
            }
            // The row's own line, and the line that counts the rows left out next to it.
            let says_more = |shown: usize| {
                let all = parent.map_or(0, |parent| self.rows[parent].children.len());
                usize::from((1..all).contains(&shown))
            };
            let shown = parent.map_or(0, |parent| shown_children[parent]);
            let (cost, most) = match limit {
                RowLimit::None => (0, 0),
                RowLimit::Largest(most) => (1, most),
                RowLimit::Lines(most) => (1 + says_more(shown + 1) - says_more(shown), most),
            };
            is_full |= parent.is_some() && drawn + cost > most;
            if is_full && cost > 0 {
                continue;
            }
            drawn += cost;
            is_shown[index] = true;
            if let Some(parent) = parent {
                shown_children[parent] += 1;
            }
        }
        is_shown
    }

    /// Orders the children of each row that is drawn. Replaces those that are not drawn by one row,
    /// except where none is drawn.
    fn leave_out(&mut self, is_shown: &[bool], by_name: bool) {
        self.roots.retain(|root| is_shown[*root]);
        for index in (0..is_shown.len()).filter(|index| is_shown[*index]) {
            let children = std::mem::take(&mut self.rows[index].children);
            let all = children.len();
            let (mut shown, hidden): (Vec<usize>, Vec<usize>) =
                children.into_iter().partition(|child| is_shown[*child]);
            if by_name {
                shown.sort_by(|&one, &other| self.by_name(one, other));
            } else {
                shown.sort_by(|&one, &other| self.by_size(one, other));
            }
            self.rows[index].children = shown;
            if !hidden.is_empty() && hidden.len() < all {
                let sum = |sum: u64, child: &usize| sum.saturating_add(self.rows[*child].figure);
                let figure = hidden.iter().fold(0, sum);
                self.add(Content::More(hidden.len()), figure, Some(index));
            }
        }
    }

    fn by_size(&self, one: usize, other: usize) -> Ordering {
        let figure = |index: usize| self.rows[index].figure;
        figure(other).cmp(&figure(one)).then_with(|| self.by_name(one, other))
    }

    /// Orders rows by path. Rows without a path come last.
    fn by_name(&self, one: usize, other: usize) -> Ordering {
        match (&self.rows[one].content, &self.rows[other].content) {
            (Content::Found(one), Content::Found(other)) => by_path(&one.path, &other.path),
            (Content::Found(_), _) => Ordering::Less,
            (_, Content::Found(_)) => Ordering::Greater,
            _ => one.cmp(&other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use xsort_gnu::Locale;
    use xsort_gnu::du::{Request, Surroundings, parse};
    use xsort_testing::Random;
    use xsort_usage::Usage;

    fn command(line: &str) -> Command {
        let locale = Locale::c();
        let surroundings = Surroundings {
            variable: &|_| None::<OsString>,
            locale: &|| &locale,
            read: &|_| unreachable!(),
            has_our_letters: false,
        };
        match parse(line.split_whitespace(), &surroundings).unwrap().request {
            Request::Run(command) => *command,
            other => panic!("{other:?}"),
        }
    }

    /// Adds directories of random sizes, with random files in them, as a walk reports them. Returns
    /// their size.
    fn grow(path: &str, depth: usize, random: &mut Random, rows: &mut Vec<Row>) -> u64 {
        let files = random.between(0, 3);
        let mut figure = 4 + files * random.between(0, 8);
        let directories = if depth < 4 { random.between(0, 3) } else { 0 };
        for number in 0..directories {
            figure += grow(&format!("{path}/{number}"), depth + 1, random, rows);
        }
        let usage = Usage::default();
        rows.push(Row { path: path.into(), depth, is_directory: true, files, usage, figure });
        figure
    }

    /// Checks the sums from a row downwards, and returns the number of lines.
    fn lines(tree: &TreeRows, index: usize) -> usize {
        let row = &tree.rows[index];
        let sum: u64 = row.children.iter().map(|child| tree.rows[*child].figure).sum();
        assert!(row.children.is_empty() || sum == row.figure, "{sum} of {}", row.figure);
        1 + row.children.iter().map(|child| lines(tree, *child)).sum::<usize>()
    }

    #[test]
    fn rows_add_up_and_fit_whatever_is_left_out() {
        let mut random = Random::new(1);
        for _ in 0..300 {
            let mut rows = Vec::new();
            grow("t", 0, &mut random, &mut rows);
            let command = command(&format!("--tree -d9 -t{} t", random.below(30)));
            let all = TreeRows::new(rows.clone(), &command, RowLimit::None);
            let least = if all.roots.is_empty() { 0 } else { lines(&all, 0) };
            for most in [1, 2, 3, 7, 20, 200] {
                let tree = TreeRows::new(rows.clone(), &command, RowLimit::Lines(most));
                let drawn = tree.roots.iter().map(|root| lines(&tree, *root)).sum::<usize>();
                assert!(drawn <= most, "{drawn} lines for {most}");
                assert!(drawn == least || drawn + 1 >= most.min(least), "{drawn} of {least}");
                let top = TreeRows::new(rows.clone(), &command, RowLimit::Largest(most));
                for root in &top.roots {
                    lines(&top, *root);
                }
            }
        }
    }

    #[test]
    fn a_file_with_a_row_is_not_counted_with_its_directory() {
        let usage = Usage::default();
        let row = |path: &str, depth, is_directory, files, figure| Row {
            path: path.into(),
            depth,
            is_directory,
            files,
            usage,
            figure,
        };
        let rows = vec![row("t/a", 1, false, 0, 5), row("t", 0, true, 3, 20)];
        let tree = TreeRows::new(rows, &command("--tree -a -t3 t"), RowLimit::None);
        let children = &tree.rows[tree.roots[0]].children;
        let itself = &tree.rows[children[0]];
        assert_eq!((children.len(), itself.figure), (2, 15));
        assert!(matches!(itself.content, Content::Itself { files: 2 }));
    }
}
