//! What a new output inherits from the file that it replaces: mode, owner and group, the access
//! control list and extended attributes.
//!
//! It doesn't inherit hard links, or attributes that are only valid for the old content.

use crate::{DisplayPath, system};
use rustix::fs::{
    Mode, Stat, XattrFlags, fchmod, fremovexattr, fsetxattr, fstat, getxattr, listxattr,
};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::fchown;
use std::path::Path;

/// The extended attribute that holds the access control list.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// Attributes tied to the old content: a write removes the first, the others are signatures.
const OF_CONTENT: [&CStr; 3] = [c"security.capability", c"security.ima", c"security.evm"];

/// The kernel's limit, in bytes, for an attribute's value and for a file's list of attribute names.
const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;

/// An owner and a group that a new file couldn't take over, and those that it has instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostOwner {
    /// The old file's user and group.
    pub(crate) old: (u32, u32),
    /// The new file's.
    pub(crate) new: (u32, u32),
}

impl LostOwner {
    /// What the user should know who replaces the file at `path`.
    pub(crate) fn notice(&self, path: &Path) -> String {
        let LostOwner { old: (user, group), new: (new_user, new_group) } = self;
        let path = DisplayPath(path);
        format!(
            "{path}: the file belongs to user {user} and group {group}, and the new one that \
             replaces it belongs to user {new_user} and group {new_group}: the system lets only \
             privileged users keep that owner ('chown {user}:{group}' gives it back)"
        )
    }
}

/// Gives `new` what the file `old` at `path` has. Returns the owner and group if they aren't the
/// same now: the system lets only privileged users give files away.
pub(crate) fn take_over(new: &OwnedFd, path: &Path, old: &Stat) -> io::Result<Option<LostOwner>> {
    let owners = |file: &Stat| (file.st_uid, file.st_gid);
    let has_owner = owners(&fstat(new)?) == owners(old)
        || fchown(new, Some(old.st_uid), Some(old.st_gid)).is_ok();
    let lost = if has_owner {
        None
    } else {
        // Its members may give a file to a group.
        let _ = fchown(new, None, Some(old.st_gid));
        Some(LostOwner { old: owners(old), new: owners(&fstat(new)?) })
    };
    copy_attributes(new, path)?;
    // Drops the set-user-ID and set-group-ID bits, as a write to a file does. This comes after the
    // access list, because the mode's middle digit is the list's mask.
    fchmod(new, Mode::from_raw_mode(old.st_mode & 0o777))?;
    Ok(lost)
}

/// Copies the extended attributes, including the access control list.
fn copy_attributes(new: &OwnedFd, path: &Path) -> io::Result<()> {
    system::copy_access_list(new, path)?;
    // The directory's default list doesn't belong to the old file.
    let _ = fremovexattr(new, ACCESS_LIST);
    let mut names = vec![0; ATTRIBUTE_BYTES_MAX];
    let bytes = match retry_on_intr(|| listxattr(path, &mut names[..])) {
        Ok(bytes) => bytes,
        // The file system has no extended attributes.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(()),
        Err(errno) => return Err(errno.into()),
    };
    let mut value = vec![0; if bytes == 0 { 0 } else { ATTRIBUTE_BYTES_MAX }];
    for name in names[..bytes].split_inclusive(|&byte| byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        if OF_CONTENT.contains(&name) {
            continue;
        }
        let copied = getxattr(path, name, &mut value[..])
            .and_then(|bytes| fsetxattr(new, name, &value[..bytes], XattrFlags::empty()));
        match copied {
            Ok(()) | Err(system::NO_ATTRIBUTE) => {}
            // Without the old file's list, more users might be able to read the new file.
            Err(errno) if name == ACCESS_LIST => return Err(errno.into()),
            // Only privileged users, or only the kernel, may set this attribute.
            Err(Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{setxattr, stat};
    use std::fs::{self, File};
    use std::os::unix::fs::PermissionsExt;

    /// Read and write for the owner, read for user 1234, read for the group, nothing for others;
    /// the mask lets groups and named users read and write. In the kernel's format: a version, then
    /// tag, permissions and ID of each entry.
    fn access_list() -> Vec<u8> {
        let entries: [(u16, u16, u32); 5] =
            [(1, 6, !0), (2, 4, 1234), (4, 4, !0), (0x10, 6, !0), (0x20, 0, !0)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            list.extend(tag.to_le_bytes());
            list.extend(permissions.to_le_bytes());
            list.extend(id.to_le_bytes());
        }
        list
    }

    fn attribute(path: &Path, name: &CStr) -> Result<Vec<u8>, Errno> {
        let mut value = vec![0; 256];
        let bytes = getxattr(path, name, &mut value[..])?;
        Ok(value[..bytes].to_vec())
    }

    #[test]
    fn a_new_file_has_the_mode_the_list_and_the_attributes_of_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
        let set = |name, value: &[u8]| setxattr(&old, name, value, XattrFlags::empty());
        let values = [(ACCESS_LIST, access_list()), (c"user.origin", b"elsewhere".to_vec())];
        let are_known = values.each_ref().map(|(name, value)| match set(*name, value) {
            Ok(()) => true,
            Err(Errno::OPNOTSUPP) => false,
            Err(errno) => panic!("{name:?}: {errno}"),
        });
        let file = OwnedFd::from(File::create(&new).unwrap());
        assert_eq!(take_over(&file, &old, &stat(&old).unwrap()).unwrap(), None);
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&new), mode(&old));
        for ((name, value), is_known) in values.iter().zip(are_known) {
            let expected = if is_known { Ok(value.clone()) } else { Err(Errno::OPNOTSUPP) };
            assert_eq!(attribute(&new, name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_list_that_the_old_file_lacks_is_taken_away() {
        let directory = tempfile::tempdir().unwrap();
        let (old, new) = (directory.path().join("old"), directory.path().join("new"));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o600)).unwrap();
        let file = OwnedFd::from(File::create(&new).unwrap());
        // As if a directory's default list had set it.
        let set = fsetxattr(&file, ACCESS_LIST, &access_list(), XattrFlags::empty());
        take_over(&file, &old, &stat(&old).unwrap()).unwrap();
        let expected = if set.is_ok() { Errno::NODATA } else { Errno::OPNOTSUPP };
        assert_eq!(attribute(&new, ACCESS_LIST), Err(expected));
        assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
