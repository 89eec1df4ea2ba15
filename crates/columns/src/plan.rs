//! The division of the memory, known from the footers before any column is read.
//!
//! ```text
//!  reading:  | footers | pages  | batches that were decoded | the sort |
//!  writing:  | footers | a row group, its columns' encoders | the sort |
//! ```
//!
//! Pages and encoders are not in memory at the same time, so both have the same share.

use crate::arrow_messages::BATCH_SHARE;
use crate::inputs::{Group, Inputs, read_error};
use crate::pages::{PageSizes, largest_page};
use crate::reading::ReadPlan;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use std::cmp::Reverse;
use xsort_extsort::lines::FileOutput;
use xsort_extsort::{Error, Share};
use xsort_table::PieceBytes;

/// One in `QUEUE_SHARE` bytes is for decoded batches.
const QUEUE_SHARE: u64 = 16;
/// Bounds of that, in bytes.
const QUEUE_BYTES: (u64, u64) = (1 << 20, 256 << 20);
/// One in `WRITE_SHARE` bytes is for a row group on its way out.
const WRITE_SHARE: u64 = 4;
/// Most bytes of a row group on its way out.
const WRITE_BYTES_MAX: u64 = 1 << 30;
/// Bytes of a page and of a dictionary that are written, at most and at least.
const PAGE_BYTES: (u64, u64) = (16 << 10, 1 << 20);
/// Pages that a column's encoder takes, with the dictionary and what finds values in it.
const ENCODER_PAGES: u64 = 8;
/// A batch of Arrow's may be compressed, to as little as one in `UNPACKED` bytes.
const UNPACKED: u64 = 3;
/// One in `WINDOW_SHARE` bytes is for what is read of an object at once, of each row group.
const WINDOW_SHARE: u64 = 16;
/// Bounds of that for each column, in bytes.
const WINDOW_BYTES: (u64, u64) = (16 << 10, 4 << 20);
/// Bytes that a byte of text takes on its way to columns, at most: where fields are single digits,
/// each has its text, the end of that, and a number of up to 16 bytes.
const TEXT_SHARE: u64 = 16;
/// Bounds of a piece of text, in bytes.
const PIECE_BYTES: (u64, u64) = (16 << 10, 1 << 20);
/// Least bytes of the sort, and the least share of the memory, as a divisor: with less, runs would
/// be too many.
const SORT_BYTES_MIN: u64 = 8 << 20;
const SORT_SHARE_MIN: u64 = 8;
/// Bytes of a page that need no look at headers. What writers do is one MiB, and a little more.
const PAGE_BYTES_USUAL: u64 = 2 << 20;

/// The shares of the memory, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct MemoryPlan {
    pub(crate) read: ReadPlan,
    pub(crate) footer_bytes: u64,
    /// Pages of the row groups that are decoded at once.
    pub(crate) page_bytes: u64,
    /// A row group that is encoded.
    pub(crate) write_bytes: u64,
    /// Limit of a page and of a dictionary that are written.
    pub(crate) written_page_bytes: usize,
    pub(crate) sort_bytes: u64,
    /// Columns to sort by that no file has, with samples for them.
    pub(crate) derived_bytes: u64,
    /// About how many bytes all rows take in memory, where footers tell it.
    pub(crate) decoded_bytes: Option<u64>,
    /// Pieces of inputs whose rows are text.
    pub(crate) pieces: PieceBytes,
}

/// Inputs that are no text have no pieces.
const NO_PIECES: PieceBytes = PieceBytes { usual: 0, row_max: 0 };

impl MemoryPlan {
    /// Divides `budget` bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] if they are too few.
    pub(crate) fn new(inputs: &Inputs, budget: u64, threads: usize) -> Result<MemoryPlan, Error> {
        let encoders = Encoders::of(inputs.first().descriptor().num_columns());
        let footer_bytes = inputs.footer_bytes();
        // Objects have a window for each column.
        let leaves = inputs.first().descriptor().num_columns().max(1) as u64;
        let window_bytes = match inputs.all.iter().any(|input| input.file.is_object()) {
            true => (budget / WINDOW_SHARE / leaves).clamp(WINDOW_BYTES.0, WINDOW_BYTES.1),
            false => 0,
        };
        let pages = GroupPages::of(inputs)?;
        // Of each thread one page is decompressed at a time.
        let packed_bytes = pages.packed * threads as u64;
        let group_pages = pages.plain + leaves * window_bytes;
        let least_way = (group_pages + packed_bytes + QUEUE_BYTES.0).max(encoders.bytes_min());
        let beside = footer_bytes + least_way;
        let needed_bytes = beside + SORT_BYTES_MIN.max(beside / (SORT_SHARE_MIN - 1));
        if budget < needed_bytes {
            return Err(Error::Memory { budget_bytes: budget, needed_bytes });
        }
        let free = budget - footer_bytes;
        let queue_bytes = (free / QUEUE_SHARE).clamp(QUEUE_BYTES.0, QUEUE_BYTES.1);
        // More than a quarter only where a single row group needs it.
        let pages_max = (free / WRITE_SHARE).saturating_sub(packed_bytes).max(group_pages);
        let lanes = lanes(inputs, threads, queue_bytes, pages_max / group_pages.max(1));
        let sets = column_sets(inputs, threads.div_ceil(lanes));
        let page_bytes = group_pages * lanes as u64 + packed_bytes;
        let write_bytes = encoders.share(free);
        let way = (page_bytes + queue_bytes).max(write_bytes);
        let sort_bytes = free.saturating_sub(way).max(SORT_BYTES_MIN);
        Ok(MemoryPlan {
            read: ReadPlan {
                lanes,
                sets,
                queue_bytes: queue_bytes as usize,
                window_bytes: window_bytes as usize,
            },
            footer_bytes,
            page_bytes,
            write_bytes,
            written_page_bytes: encoders.page_bytes(write_bytes),
            sort_bytes,
            derived_bytes: 0,
            decoded_bytes: Some(
                inputs.groups().iter().map(|group| decoded_bytes(inputs, group)).sum(),
            ),
            pieces: NO_PIECES,
        })
    }

    /// Divides `budget` bytes for inputs in Arrow's format, whose largest batch has `batch_bytes`
    /// bytes, to an output of `leaves` columns.
    ///
    /// # Errors
    /// [`Error::Memory`] if they are too few.
    pub(crate) fn of_arrow(
        batch_bytes: u64,
        leaves: usize,
        budget: u64,
        threads: usize,
    ) -> Result<MemoryPlan, Error> {
        let encoders = Encoders::of(leaves);
        let batch_bytes = (batch_bytes * UNPACKED).max(QUEUE_BYTES.0);
        let needed_bytes = (2 * batch_bytes).max(encoders.bytes_min()) + SORT_BYTES_MIN;
        if budget < needed_bytes {
            return Err(Error::Memory { budget_bytes: budget, needed_bytes });
        }
        let write_bytes = encoders.share(budget);
        // More for those that are compressed to less than the usual part.
        let batch_bytes = batch_bytes.max(budget / BATCH_SHARE);
        // Batches that are decoded ahead, and one that is taken.
        let ahead = (write_bytes / batch_bytes).saturating_sub(1).clamp(1, threads as u64 + 1);
        let queue_bytes = (ahead + 1) * batch_bytes;
        let lanes = ahead as usize;
        Ok(MemoryPlan {
            read: ReadPlan::of_batches(lanes, queue_bytes as usize),
            footer_bytes: 0,
            page_bytes: 0,
            write_bytes,
            written_page_bytes: encoders.page_bytes(write_bytes),
            sort_bytes: budget - write_bytes.max(queue_bytes),
            derived_bytes: 0,
            decoded_bytes: None,
            pieces: NO_PIECES,
        })
    }

    /// Divides `budget` bytes for rows of text that become columns, to an output of `leaves`
    /// columns.
    ///
    /// # Errors
    /// [`Error::Memory`] if they are too few.
    pub(crate) fn of_text(leaves: usize, budget: u64, threads: usize) -> Result<MemoryPlan, Error> {
        let encoders = Encoders::of(leaves);
        // Each thread has a piece, one waits, one is taken, and one is cut.
        let pieces = threads as u64 + 3;
        let queue_of = |piece: u64| pieces * piece * TEXT_SHARE;
        let needed_bytes = queue_of(PIECE_BYTES.0).max(encoders.bytes_min()) + SORT_BYTES_MIN;
        if budget < needed_bytes {
            return Err(Error::Memory { budget_bytes: budget, needed_bytes });
        }
        let write_bytes = encoders.share(budget);
        let piece = write_bytes / (pieces * TEXT_SHARE);
        let piece = piece.clamp(PIECE_BYTES.0, PIECE_BYTES.1);
        let queue_bytes = queue_of(piece).max(write_bytes);
        // A long row has long fields, which take their bytes a few times.
        let row_max = (queue_bytes / (pieces * 4)) as usize;
        Ok(MemoryPlan {
            read: ReadPlan::of_batches(1, queue_bytes as usize),
            footer_bytes: 0,
            page_bytes: 0,
            write_bytes,
            written_page_bytes: encoders.page_bytes(write_bytes),
            sort_bytes: budget - queue_bytes,
            derived_bytes: 0,
            decoded_bytes: None,
            pieces: PieceBytes { usual: piece as usize, row_max },
        })
    }

    /// Takes the memory for columns that no file has from the sort.
    ///
    /// # Errors
    /// [`Error::Memory`] if too little would be left.
    pub(crate) fn take_derived(&mut self, bytes: u64) -> Result<(), Error> {
        let budget_bytes = self.bytes();
        if bytes > 0 && self.sort_bytes < SORT_BYTES_MIN + bytes {
            let needed_bytes = budget_bytes + SORT_BYTES_MIN + bytes - self.sort_bytes;
            return Err(Error::Memory { budget_bytes, needed_bytes });
        }
        (self.sort_bytes, self.derived_bytes) = (self.sort_bytes - bytes, bytes);
        Ok(())
    }

    /// Returns the shares by their names.
    pub(crate) fn shares(&self) -> Vec<Share> {
        let read = self.page_bytes + self.read.queue_bytes as u64;
        let all = [
            ("footers of inputs", self.footer_bytes),
            ("pages in, row groups out", read.max(self.write_bytes)),
            ("columns to sort by", self.derived_bytes),
            ("batches and their order", self.sort_bytes),
        ];
        all.into_iter()
            .filter(|&(_, bytes)| bytes > 0)
            .map(|(name, bytes)| Share { name, bytes })
            .collect()
    }

    /// Returns the sum of all shares.
    pub(crate) fn bytes(&self) -> u64 {
        self.shares().iter().map(|share| share.bytes).sum()
    }
}

/// The encoders of the columns of a file.
#[derive(Clone, Copy)]
struct Encoders {
    /// Pages of all columns, with their dictionaries.
    pages: u64,
}

impl Encoders {
    fn of(leaves: usize) -> Encoders {
        Encoders { pages: leaves.max(1) as u64 * ENCODER_PAGES }
    }

    /// The least memory, in bytes, in which they write a file.
    fn bytes_min(self) -> u64 {
        self.pages * PAGE_BYTES.0 + FileOutput::MEMORY_BYTES
    }

    /// Their share of `free` bytes.
    fn share(self, free: u64) -> u64 {
        let most = WRITE_BYTES_MAX.min(free - SORT_BYTES_MIN);
        (free / WRITE_SHARE).clamp(self.bytes_min().min(most), most)
    }

    /// The limit of a page in this share, of which half is for pages.
    fn page_bytes(self, share: u64) -> usize {
        (share / 2 / self.pages).clamp(PAGE_BYTES.0, PAGE_BYTES.1) as usize
    }
}

/// The most memory that the pages of a row group take while they are read, in bytes.
struct GroupPages {
    /// A page of each column and its dictionary, both decompressed.
    plain: u64,
    /// The largest page as it is in the file. It is gone when it has been decompressed.
    packed: u64,
}

impl GroupPages {
    fn of(inputs: &Inputs) -> Result<GroupPages, Error> {
        let usual = PageSizes { packed: PAGE_BYTES_USUAL, plain: PAGE_BYTES_USUAL };
        let mut largest = vec![usual; inputs.first().descriptor().num_columns()];
        for (leaf, largest) in largest.iter_mut().enumerate() {
            // Writers treat all row groups alike.
            let columns = inputs.all.iter().flat_map(|input| {
                input.footer.row_groups().iter().map(move |group| (input, group.column(leaf)))
            });
            let column = columns.max_by_key(|(_, column)| column.uncompressed_size());
            if let Some((input, column)) = column
                && column.uncompressed_size() as u64 > PAGE_BYTES_USUAL
            {
                let found = largest_page(&input.file.open()?, column);
                let failed = |error| read_error(&input.file, error, "a column");
                *largest = largest.max(found.map_err(failed)?);
            }
        }
        let groups = inputs.all.iter().flat_map(|input| input.footer.row_groups());
        let pages_of = |group: &RowGroupMetaData| -> (u64, u64) {
            let columns = group.columns().iter().zip(&largest);
            columns.fold((0, 0), |(plain, packed), (column, &largest)| {
                let (own_plain, own_packed) = page_bytes(column, largest);
                (plain + own_plain, packed.max(own_packed))
            })
        };
        let most =
            groups.map(pages_of).fold((0, 0), |most, one| (most.0.max(one.0), most.1.max(one.1)));
        Ok(GroupPages { plain: most.0, packed: most.1 })
    }
}

/// Returns the most memory that reading a column of a row group takes: a page with a dictionary,
/// and a page as it is in the file.
fn page_bytes(column: &ColumnChunkMetaData, largest: PageSizes) -> (u64, u64) {
    let (packed, plain) = (column.compressed_size().max(0), column.uncompressed_size().max(0));
    let page = largest.plain.min(plain as u64);
    let dictionary = if column.dictionary_page_offset().is_some() { page } else { 0 };
    ((page + dictionary).min(plain as u64), largest.packed.min(packed as u64))
}

/// Returns how many row groups are decoded at once: one for each thread if all of them fit in the
/// queue, so that no thread waits for another.
fn lanes(inputs: &Inputs, threads: usize, queue_bytes: u64, pages_max: u64) -> usize {
    let groups = inputs.groups();
    let largest = groups.iter().map(|group| decoded_bytes(inputs, group)).max().unwrap_or(0);
    let fit = queue_bytes / largest.max(1);
    fit.min(pages_max).clamp(1, threads.min(groups.len()).max(1) as u64) as usize
}

/// Returns about how many bytes a row group takes in memory.
fn decoded_bytes(inputs: &Inputs, group: &Group) -> u64 {
    let columns = inputs.all[group.input].footer.row_group(group.index).columns();
    // A number takes at least 4 bytes, of which encodings may leave little.
    columns.iter().map(|column| column_bytes(column) * 5 / 4).sum()
}

fn column_bytes(column: &ColumnChunkMetaData) -> u64 {
    let values = column.num_values().max(0) as u64;
    (column.uncompressed_size().max(0) as u64).max(values * 8)
}

/// Divides the columns among the threads of a lane, so that each has about as many bytes.
fn column_sets(inputs: &Inputs, threads: usize) -> Vec<Vec<usize>> {
    let descriptor = inputs.first().descriptor();
    let roots = descriptor.root_schema().get_fields().len();
    let mut bytes: Vec<(u64, usize)> = (0..roots).map(|root| (0, root)).collect();
    for group in inputs.all.iter().flat_map(|input| input.footer.row_groups()) {
        for (leaf, column) in group.columns().iter().enumerate() {
            bytes[descriptor.get_column_root_idx(leaf)].0 += column_bytes(column);
        }
    }
    bytes.sort_unstable_by_key(|&(bytes, root)| (Reverse(bytes), root));
    let mut sets = vec![(0, Vec::new()); threads.min(roots).max(1)];
    for (bytes, root) in bytes {
        let least = sets.iter_mut().min_by_key(|(bytes, _)| *bytes).expect("at least one set");
        least.0 += bytes;
        least.1.push(root);
    }
    let sorted = |(_, mut columns): (u64, Vec<usize>)| {
        columns.sort_unstable();
        columns
    };
    sets.into_iter().map(sorted).collect()
}
