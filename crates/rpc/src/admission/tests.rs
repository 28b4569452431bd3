//! Stories about admission: what a server does when more comes than it can do.
