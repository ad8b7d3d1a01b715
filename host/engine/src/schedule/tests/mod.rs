mod random_layouts;
mod same_bits;
mod split;
mod tables;
