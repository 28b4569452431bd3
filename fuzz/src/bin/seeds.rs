//! `seeds FOLDER`: writes the first inputs of each target that has some into FOLDER/TARGET.

use std::path::Path;
use std::{env, fs, io};

use stadium_fuzz::seeds;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: seeds FOLDER"))?;
    for target in seeds::TARGETS {
        let folder = Path::new(&folder).join(target);
        fs::create_dir_all(&folder)?;
        for (number, input) in seeds::of(target).iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:02}")), input)?;
        }
    }
    Ok(())
}
