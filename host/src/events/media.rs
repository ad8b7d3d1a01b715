//! Images, histograms and texts that wait for the writers.

use super::Histogram;
use std::collections::VecDeque;

/// The maximum number that wait. If writers never write, the newest are kept.
const MOST: usize = 512;

/// An image: rows of pixels from the top, each of `channels` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// 1 gray, 3 color, 4 color with opacity.
    pub channels: u8,
    /// The bytes.
    pub pixels: Vec<u8>,
}

/// What is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// An image.
    Image(Image),
    /// A histogram.
    Histogram(Histogram),
    /// A text, as Markdown.
    Text(String),
}

/// Something that is shown, and when it was logged.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaItem {
    /// Its full name.
    pub name: String,
    /// The training iteration in which it was logged.
    pub iter: u64,
    /// What it is.
    pub content: Content,
}

/// What no writer has seen, in order.
#[derive(Default)]
pub struct Media {
    waiting: VecDeque<MediaItem>,
}

impl Media {
    pub(super) fn put(&mut self, item: MediaItem) {
        if self.waiting.len() == MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back(item);
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Each in turn, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &MediaItem> {
        self.waiting.iter()
    }

    /// The texts in order, each with its name and iteration.
    pub fn texts(&self) -> impl Iterator<Item = (&MediaItem, &str)> {
        self.iter().filter_map(|item| match &item.content {
            Content::Text(text) => Some((item, text.as_str())),
            Content::Image(_) | Content::Histogram(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_when_no_writer_writes() {
        let mut media = Media::default();
        for iter in 0..2000 {
            let content = Content::Text(String::new());
            media.put(MediaItem { name: "train/note".to_owned(), iter, content });
        }
        assert_eq!(media.iter().count(), MOST);
        assert_eq!(media.iter().last().map(|item| item.iter), Some(1999));
    }
}
