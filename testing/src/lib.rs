//! Test scenery for the black-box suites.
