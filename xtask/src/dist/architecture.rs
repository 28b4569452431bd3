//! The architectures that a release has programs for, and their names in each kind of package.

use clap::ValueEnum;

/// An architecture of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Architecture {
    #[value(name = "x86_64")]
    X86,
    #[value(name = "aarch64")]
    Arm,
}

impl Architecture {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::X86, Self::Arm];

    /// As `uname -m` and rpm have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86 => "x86_64",
            Self::Arm => "aarch64",
        }
    }

    /// As Debian, Go and the OCI specification have it.
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::X86 => "amd64",
            Self::Arm => "arm64",
        }
    }

    /// Rust's target.
    pub(crate) fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.name())
    }

    /// Whether this machine runs its programs without an emulator.
    pub(crate) fn is_here(self) -> bool {
        self.name() == std::env::consts::ARCH
    }
}
