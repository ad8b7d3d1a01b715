//! Writes checkpoints in the background: at most one at a time, and no failure is lost.

use super::apply_retention::apply_retention;
use super::manifest::Summary;
use super::retention::Rule;
use super::snapshot::{Buffers, Snapshot};
use super::together::{Draft, Written};
use super::write::write;
use crate::run::{RunDirError, atomic};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

type Outcome = (Result<PathBuf, RunDirError>, Buffers);

/// This rank's part of a checkpoint that several ranks write, while it is being written.
struct RankWrite {
    thread: JoinHandle<(Result<Written, RunDirError>, Buffers)>,
    draft: Arc<Draft>,
    about: Summary,
}

/// Writes checkpoints to a folder in the background.
#[derive(Default)]
pub struct Background {
    in_flight: Option<JoinHandle<Outcome>>,
    part: Option<RankWrite>,
    spare: Buffers,
    // The memory of the next snapshot, while it is being allocated.
    reserve: Option<JoinHandle<Buffers>>,
    // The number of tensors that hooks kept when it was last requested.
    kept: Option<usize>,
}

impl Background {
    /// Whether [`reserve`](Self::reserve) is useful when hooks keep this many tensors: it was not called yet, or they kept
    /// far fewer then. An average of the weights may start late in a run.
    pub fn wants_reserve(&self, kept: usize) -> bool {
        let is_busy = |thread: &JoinHandle<_>| !thread.is_finished();
        self.kept.is_none_or(|before| kept > before + before / 4)
            && self.in_flight.is_none()
            && self.part.is_none()
            && !self.reserve.as_ref().is_some_and(is_busy)
    }

    /// Allocates memory of these sizes for the next snapshot on a background thread; beyond what is there from
    /// the previous one.
    pub fn reserve(&mut self, kept: usize, sizes: Vec<usize>) {
        self.kept = Some(kept);
        let there = self.buffers();
        let thread = std::thread::Builder::new().name("checkpoint-memory".to_owned());
        // Without a thread, the next snapshot allocates its own memory.
        self.reserve = thread.spawn(move || there.grown(&sizes)).ok();
    }

    /// The memory of the last snapshot that was written, and what was reserved.
    pub fn buffers(&mut self) -> Buffers {
        if let Some(reserved) = self.reserve.take().and_then(|thread| thread.join().ok()) {
            self.spare = reserved;
        }
        std::mem::take(&mut self.spare)
    }

    /// Starts writing a snapshot; `rules` decide which checkpoints are kept afterwards, `files` are synced before
    /// it. [`Self::wait`] must have been called: at most one is written at a time.
    pub fn begin(
        &mut self,
        folder: &Path,
        snapshot: Snapshot,
        rules: Vec<Rule>,
        files: Vec<(PathBuf, File)>,
    ) -> Result<(), RunDirError> {
        self.wait()?;
        let to = folder.to_owned();
        let work = move || {
            // Save first, then update `best` and remove what no hook keeps.
            let written = files
                .iter()
                .try_for_each(|(path, file)| sync(path, file))
                .and_then(|()| write(&to, &snapshot))
                .and_then(|path| apply_retention(&to, snapshot.about.iter, &rules).map(|()| path));
            (written, snapshot.into_buffers())
        };
        let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(work);
        self.in_flight = Some(thread.map_err(RunDirError::io("start writing to", folder))?);
        Ok(())
    }

    /// Starts writing this rank's part of a checkpoint that several ranks write; `files` are synced before it.
    /// [`finish_part`](Self::finish_part) follows.
    pub fn begin_part(
        &mut self,
        draft: Draft,
        snapshot: Snapshot,
        files: Vec<(PathBuf, File)>,
    ) -> Result<(), RunDirError> {
        let (draft, about) = (Arc::new(draft), snapshot.about.clone());
        let to = Arc::clone(&draft);
        let work = move || {
            let synced = files.iter().try_for_each(|(path, file)| sync(path, file));
            let written = synced.and_then(|()| to.add(&snapshot));
            (written, snapshot.into_buffers())
        };
        let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(work);
        let thread = thread.map_err(RunDirError::io("start writing to", draft.folder()))?;
        self.part = Some(RankWrite { thread, draft, about });
        Ok(())
    }

    /// Whether that part is still being written.
    pub fn is_writing_part(&self) -> bool {
        self.part.as_ref().is_some_and(|part| !part.thread.is_finished())
    }

    /// Waits until this rank's part is on disk. `agree` then collects what all ranks have written, or an error; with
    /// that the rank that created the draft puts the checkpoint in place in the background. A draft that is not completed is
    /// removed.
    ///
    /// # Errors
    /// This rank's part, or that of another one, could not be written.
    pub fn finish_part<E: From<RunDirError>>(
        &mut self,
        rules: Vec<Rule>,
        agree: impl FnOnce(Result<Written, &RunDirError>) -> Result<Vec<Written>, E>,
    ) -> Result<(), E> {
        let Some(RankWrite { thread, draft, about }) = self.part.take() else { return Ok(()) };
        let (written, buffers) = thread.join().map_err(|_| RunDirError::WriterPanicked)?;
        self.spare = buffers;
        let all = match written {
            Ok(written) => agree(Ok(written))?,
            Err(error) => {
                // The other ranks are told; the first error is returned.
                drop(agree(Err(&error)));
                return Err(error.into());
            }
        };
        match Arc::into_inner(draft) {
            Some(draft) if draft.is_own() => Ok(self.place(draft, about, all, rules)?),
            _ => Ok(()),
        }
    }

    /// Puts a checkpoint that is on disk in place, in the background.
    fn place(
        &mut self,
        draft: Draft,
        about: Summary,
        written: Vec<Written>,
        rules: Vec<Rule>,
    ) -> Result<(), RunDirError> {
        self.wait()?;
        let buffers = std::mem::take(&mut self.spare);
        let folder = draft.folder().to_owned();
        let work = move || {
            let to = draft.folder().parent().map_or_else(PathBuf::new, Path::to_owned);
            let placed = draft.put_in_place(&about, written);
            (
                placed.and_then(|path| apply_retention(&to, about.iter, &rules).map(|()| path)),
                buffers,
            )
        };
        let thread = std::thread::Builder::new().name("checkpoint".to_owned()).spawn(work);
        self.in_flight = Some(thread.map_err(RunDirError::io("complete", &folder))?);
        Ok(())
    }

    /// Discards this rank's part of a checkpoint, because another rank has failed.
    pub fn abandon_part(&mut self) {
        if let Some(RankWrite { thread, draft, .. }) = self.part.take() {
            // The draft can be removed only when the thread has finished.
            let _ = thread.join();
            tracing::debug!("{} is not completed", draft.folder().display());
        }
    }

    /// The result of the write if it is done; costs one load of a flag.
    ///
    /// # Errors
    /// The checkpoint could not be written. The previous one is intact.
    pub fn poll(&mut self) -> Result<(), RunDirError> {
        match &self.in_flight {
            Some(thread) if thread.is_finished() => self.wait(),
            _ => Ok(()),
        }
    }

    /// Waits until nothing is being written.
    ///
    /// # Errors
    /// The checkpoint could not be written. The previous one is intact.
    pub fn wait(&mut self) -> Result<(), RunDirError> {
        let Some(thread) = self.in_flight.take() else { return Ok(()) };
        let (written, buffers) = thread.join().map_err(|_| RunDirError::WriterPanicked)?;
        self.spare = buffers;
        let path = written?;
        tracing::info!(path = %path.display(), "checkpoint written");
        Ok(())
    }
}

/// Syncs a file and its folder.
fn sync(path: &Path, file: &File) -> Result<(), RunDirError> {
    file.sync_all().map_err(RunDirError::io("sync", path))?;
    path.parent().map_or(Ok(()), atomic::sync_folder)
}

impl Drop for Background {
    fn drop(&mut self) {
        self.abandon_part();
        if let Err(error) = self.wait() {
            tracing::error!("{error}");
        }
    }
}
