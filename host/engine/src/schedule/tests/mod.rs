//! Schedules: how batches are split, what tables guarantee, and that every schedule computes the same bits.

mod random_layouts;
mod same_bits;
mod split;
mod tables;
