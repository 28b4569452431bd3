//! The scenery of these stories.
