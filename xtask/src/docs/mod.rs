//! `cargo xtask docs`: the documentation as a site, in target/site.
//!
//! The pages are the Markdown files of the repository, in the order of docs/README.md; Zensical, from
//! PyPI in a locked version, makes HTML of them, with a search that runs in the browser. The build is
//! strict: a link or an anchor that leads nowhere fails it. `--serve` serves the site and builds it
//! again when a page changes.

mod api;
mod built;
pub(crate) mod navigation;
mod source;
pub(crate) mod stage;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::components;
use crate::step::Step;
use crate::tidy;
use navigation::{Entry, Texts};
use stage::Stage;

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Serve the site, and build it again when a page changes
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:8000")]
    serve: Option<String>,
    /// The address that the site will have, for the page of unknown addresses and the site map
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// The packages of the generator, in exact versions.
const REQUIREMENTS: &str = "xtask/src/docs/requirements.txt";

/// The settings of the generator, without the navigation.
const SETTINGS: &str = include_str!("zensical.toml");

/// Files of the site's own: the icon of the console, and what the theme lacks.
const OWN: [(&str, &[u8]); 3] = [
    ("icon.svg", include_bytes!("../../../crates/console/src/page/icon.svg")),
    ("site.css", include_bytes!("site.css")),
    ("site.js", include_bytes!("site.js")),
];

/// The time between two looks of `--serve` for changed pages.
const LOOK: Duration = Duration::from_millis(500);

/// Builds the site, or serves it.
pub(crate) fn run(root: &Path, options: &Options) -> Result<ExitCode> {
    if !Step::start("site").end(build(root, options.url.as_deref())) {
        return Ok(ExitCode::FAILURE);
    }
    if let Some(address) = &options.serve {
        return serve(root, address);
    }
    println!("{}", site(root).join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Builds it, for `verify`.
pub(crate) fn check(root: &Path) -> Result<()> {
    build(root, None)
}

/// Where the finished site is.
fn site(root: &Path) -> PathBuf {
    root.join("target/site")
}

/// The generator's folder: its settings, its input, its packages.
fn folder(root: &Path) -> PathBuf {
    root.join("target/docs")
}

fn build(root: &Path, url: Option<&str>) -> Result<()> {
    let zensical = install(root)?;
    let texts = texts(root)?;
    let findings = navigation::check(&texts);
    if !findings.is_empty() {
        let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
        bail!("{}", shown.join("\n      "));
    }
    stage(root, &texts, url)?;
    let log = folder(root).join("build.log");
    let outcome = Command::new(&zensical)
        .current_dir(folder(root))
        .env("NO_COLOR", "1")
        .args(["-m", "zensical", "build", "--clean", "--strict", "--config-file", "zensical.toml"])
        .stdin(Stdio::null())
        .output()
        .context("cannot start the generator")?;
    let said = [outcome.stdout, outcome.stderr].concat();
    fs::write(&log, &said)?;
    if !outcome.status.success() {
        bail!("the generator ended with {}\n{}", outcome.status, String::from_utf8_lossy(&said));
    }
    let fresh = folder(root).join("site");
    let pages = built::check(&fresh)?;
    let site = site(root);
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    fs::rename(&fresh, &site).context("cannot move the site into place")?;
    eprintln!("    {pages} pages in {}", site.display());
    Ok(())
}

/// The interpreter that has the generator. pip runs only when the list of packages has changed.
fn install(root: &Path) -> Result<PathBuf> {
    let requirements = root.join(REQUIREMENTS);
    let wanted = fs::read_to_string(&requirements)?;
    let installed = folder(root).join("installed.txt");
    let python = folder(root).join("python");
    if fs::read_to_string(&installed).is_ok_and(|known| known == wanted) {
        return Ok(python.join("bin/python"));
    }
    fs::create_dir_all(folder(root))?;
    let interpreter = components::python_in(&python, &requirements)?;
    fs::write(installed, wanted)?;
    Ok(interpreter)
}

/// All Markdown files that git knows.
fn texts(root: &Path) -> Result<Texts> {
    let pages = tidy::paths(root)?.into_iter().filter(|path| path.ends_with(".md"));
    pages
        .map(|path| {
            let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
            Ok((path, text))
        })
        .collect()
}

/// Writes the generator's input.
fn stage(root: &Path, texts: &Texts, url: Option<&str>) -> Result<()> {
    let mut stage = Stage::read(root, texts)?;
    for (path, bytes) in OWN {
        stage.insert(path, bytes);
    }
    let pages = folder(root).join("pages");
    fs::create_dir_all(&pages)?;
    stage.write(&pages)?;
    let url = url.map(|url| format!("site_url = {url:?}\n")).unwrap_or_default();
    let navigation = format!("{url}nav = [{}]\n", listed(&stage.navigation));
    let settings = SETTINGS.replacen("nav = []\n", &navigation, 1);
    let file = folder(root).join("zensical.toml");
    if !fs::read_to_string(&file).is_ok_and(|known| known == settings) {
        fs::write(file, settings)?;
    }
    Ok(())
}

/// Entries of the navigation in TOML.
fn listed(entries: &[Entry]) -> String {
    let each = |entry: &Entry| match entry {
        Entry::Page(page) => format!("{{ {:?} = {:?} }}", page.title, page.path),
        Entry::Group { title, entries } => format!("{{ {title:?} = [{}] }}", listed(entries)),
    };
    entries.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// Serves the site until it is interrupted.
fn serve(root: &Path, address: &str) -> Result<ExitCode> {
    // However this task ends, the server ends with it.
    let mut server = Command::new("setpriv")
        .current_dir(folder(root))
        .args(["--pdeathsig", "TERM"])
        .arg(install(root)?)
        .args(["-m", "zensical", "serve", "--config-file", "zensical.toml", "--dev-addr", address])
        .spawn()
        .context("cannot start the generator: setpriv is of util-linux")?;
    let mut known = texts(root)?;
    loop {
        if let Some(status) = server.try_wait()? {
            bail!("the generator ended with {status}");
        }
        std::thread::sleep(LOOK);
        let texts = texts(root)?;
        if texts != known {
            // A link that leads nowhere yet is the writer's next step.
            if let Err(error) = stage(root, &texts, None) {
                eprintln!("    {error:#}");
            }
            known = texts;
        }
    }
}
