//! The files that a scenario or a swarm names: read where the coordinator is, and given to workers
//! by their names.
//!
//! Nobody else's file system is looked at: what a worker's program reads is what the coordinator
//! sent. Certificates are read when a plan is made, so they are put into a folder of the run's own,
//! and the program gets those names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stadium_scenario::Program;

use crate::error::Error;
use crate::swarm::{SwarmConfig, Tls, Transport, Trust};

/// Makes a program of a scenario's text; the function that it is given reads the files that the text names.
pub type Compile = fn(&str, &mut dyn FnMut(&str) -> Result<Vec<u8>, String>) -> Result<Program, String>;

/// [`Compile`] for scenarios as people write them.
///
/// # Errors
/// All problems of the text, each with its line and a caret under it.
pub fn compile_scenario(
    text: &str,
    files: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
) -> Result<Program, String> {
    stadium_scenario::parse(text, files).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| problem.render("scenario", text)).collect();
        lines.join("\n")
    })
}

/// Files by the names that the scenario has for them.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Reads all files that a program names; `folder` is what their names are relative to.
pub(crate) fn read(compile: Compile, program: &Program, folder: &Path) -> Result<Files, Error> {
    let mut files = Files::new();
    compile(&program.text, &mut |name| {
        let data = std::fs::read(folder.join(name)).map_err(|error| error.to_string())?;
        files.insert(name.to_owned(), data.clone());
        Ok(data)
    })
    .map_err(Error::Config)?;
    for target in &program.targets {
        let identity = target.tls.identity.iter().flat_map(|(chain, key)| [chain, key]);
        for name in target.tls.authority.iter().chain(identity) {
            let path = folder.join(name);
            let data = std::fs::read(&path).map_err(|error| {
                Error::Config(format!("target {:?}: {}: {error}", target.name, path.display()))
            })?;
            files.insert(name.clone(), data);
        }
    }
    Ok(files)
}

/// Makes the program where it is run: all its files are these; those of certificates come to lie in `folder`.
pub(crate) fn compile(
    compile: Compile,
    scenario: &str,
    files: &Files,
    folder: &Path,
) -> Result<Program, String> {
    let mut program = compile(scenario, &mut |name| find(files, name).cloned())?;
    let mut count = 0_u32;
    let mut put = |name: &mut String| {
        count += 1;
        let own = format!("file-{count}.pem");
        std::fs::write(folder.join(&own), find(files, name)?).map_err(|error| format!("{own}: {error}"))?;
        *name = own;
        Ok::<(), String>(())
    };
    for target in &mut program.targets {
        target.tls.authority.as_mut().map_or(Ok(()), &mut put)?;
        if let Some((chain, key)) = &mut target.tls.identity {
            put(chain)?;
            put(key)?;
        }
    }
    Ok(program)
}

/// Reads the certificates that a swarm names.
pub(crate) fn read_certificates(config: &SwarmConfig) -> Result<Files, Error> {
    let mut files = Files::new();
    let mut config = config.clone();
    each_certificate(&mut config, &mut |path| {
        let data = std::fs::read(&*path).map_err(|error| format!("{}: {error}", path.display()))?;
        files.insert(path.display().to_string(), data);
        Ok(())
    })
    .map_err(Error::Config)?;
    Ok(files)
}

/// Puts the certificates of a swarm into `folder`, where its loops read them.
pub(crate) fn place_certificates(
    config: &mut SwarmConfig,
    files: &Files,
    folder: &Path,
) -> Result<(), String> {
    let mut count = 0_u32;
    each_certificate(config, &mut |path| {
        count += 1;
        let own = folder.join(format!("file-{count}.pem"));
        std::fs::write(&own, find(files, &path.display().to_string())?)
            .map_err(|error| format!("{}: {error}", own.display()))?;
        *path = own;
        Ok(())
    })
}

fn each_certificate(
    config: &mut SwarmConfig,
    each: &mut dyn FnMut(&mut PathBuf) -> Result<(), String>,
) -> Result<(), String> {
    let (Transport::Tls(tls) | Transport::Wss { tls, .. }) = &mut config.transport else { return Ok(()) };
    let Tls { trust, certificate, .. } = tls;
    if let Trust::Authority(path) = trust {
        each(path)?;
    }
    if let Some(own) = certificate {
        each(&mut own.chain)?;
        each(&mut own.key)?;
    }
    Ok(())
}

fn find<'a>(files: &'a Files, name: &str) -> Result<&'a Vec<u8>, String> {
    files.get(name).ok_or_else(|| format!("{name:?} was not sent: this is a mistake of the coordinator"))
}
