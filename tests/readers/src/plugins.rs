//! Readers of what decides about plugins: ELF files, headers, manifests, the index, the lock file, signatures, keys and policies.

use super::{Folder, Prepared, Reader, bytes, own_seed, repository, texts};
use hookrack::config::{PluginTrust, TrustPolicy};
use hookrack::plugins::loader::{Description, Image, LibraryInfo, check_library_header, image};
use hookrack::plugins::open;
use hookrack::plugins::trust::{LockFile, PublicKeys, SystemPolicy, Trust, signature_path};
use hookrack_plugin_api::abi::{HrHeader, HrPlugin};
use std::fs;
use std::path::PathBuf;

pub(crate) const READERS: &[Reader] = &[
    Reader { name: "elf", make: elf },
    Reader { name: "header", make: header },
    Reader { name: "index", make: index },
    Reader { name: "key", make: key },
    Reader { name: "lock", make: lock },
    Reader { name: "manifest", make: manifest },
    Reader { name: "policy", make: policy },
    Reader { name: "signature", make: signature },
];

fn golden() -> [PathBuf; 3] {
    let folder = repository().join("tests/fixtures/golden");
    ["libgolden_c.so", "libgolden.so", "libgolden_1_1.so"].map(|file| folder.join(file))
}

/// What the golden libraries say about themselves.
fn golden_infos() -> Vec<LibraryInfo> {
    golden().iter().map(|file| open(file).unwrap().about.info.clone()).collect()
}

fn elf(folder: Folder) -> Prepared {
    let [small, ..] = golden();
    let read = move |input: &[u8]| {
        image(&folder.input(input), None).map(drop).map_err(|error| error.to_string())
    };
    Prepared { seeds: bytes([small]), read: Box::new(read) }
}

/// The header of a table, from its bytes as a library has them.
fn header_of(input: &[u8]) -> HrHeader {
    fn next<const N: usize>(rest: &mut impl Iterator<Item = u8>) -> [u8; N] {
        std::array::from_fn(|_| rest.next().unwrap_or(0))
    }
    let mut rest = input.iter().copied();
    HrHeader {
        magic: u64::from_le_bytes(next(&mut rest)),
        struct_size: u32::from_le_bytes(next(&mut rest)),
        abi_major: u16::from_le_bytes(next(&mut rest)),
        abi_minor: u16::from_le_bytes(next(&mut rest)),
        flags: u64::from_le_bytes(next(&mut rest)),
    }
}

fn header(_: Folder) -> Prepared {
    let good = HrHeader::of::<HrPlugin>(0);
    let seed = [
        &good.magic.to_le_bytes()[..],
        &good.struct_size.to_le_bytes(),
        &good.abi_major.to_le_bytes(),
        &good.abi_minor.to_le_bytes(),
        &good.flags.to_le_bytes(),
    ];
    let read = move |input: &[u8]| {
        let header = header_of(input);
        check_library_header(&header).map_err(|error| error.to_string())?;
        assert_eq!((header.magic, header.abi_major), (good.magic, good.abi_major));
        assert!(header.struct_size as usize >= size_of::<HrPlugin>());
        Ok(())
    };
    Prepared { seeds: vec![seed.concat()], read: Box::new(read) }
}

/// Reads info as the host does after a probe or from the index.
fn describe(info: LibraryInfo) -> Result<(), String> {
    let image = Image { path: "/p/libx.so".into(), sha256: String::new(), bytes: Vec::new() };
    Description::new(&image, info).map(drop).map_err(|error| error.to_string())
}

fn manifest(_: Folder) -> Prepared {
    let info = golden_infos();
    let types = info.iter().flat_map(|info| info.hooks.iter().chain(&info.metrics));
    let seeds = types.map(|one| one.manifest.clone().into_bytes()).collect();
    let own = info.into_iter().next().unwrap();
    let read = move |input: &[u8]| {
        let mut one = own.hooks[0].clone();
        one.manifest = String::from_utf8_lossy(input).into_owned();
        let mut outcomes = Vec::new();
        // Of this version, and of one whose words the host does not know.
        for newer in [0, 1000] {
            one.abi_minor += newer;
            let (hooks, metrics) = (vec![one.clone()], vec![one.clone()]);
            outcomes.push(describe(LibraryInfo { hooks, metrics: Vec::new(), ..own.clone() }));
            outcomes.push(describe(LibraryInfo { hooks: Vec::new(), metrics, ..own.clone() }));
        }
        outcomes.into_iter().reduce(Result::or).unwrap()
    };
    Prepared { seeds, read: Box::new(read) }
}

fn index(_: Folder) -> Prepared {
    let seeds = golden_infos().iter().map(|info| serde_json::to_vec(info).unwrap()).collect();
    let read = move |input: &[u8]| {
        let info =
            serde_json::from_slice::<LibraryInfo>(input).map_err(|error| error.to_string())?;
        describe(info)
    };
    Prepared { seeds, read: Box::new(read) }
}

fn lock(folder: Folder) -> Prepared {
    let seeds = texts([
        "version = 1\n\n[[library]]\nfile = \"libema.so\"\ntarget = \"x86_64-linux-gnu\"\nsha256 = \"00\"\nname = \"ema\"\nversion = \"0.1.0\"\nabi = \"1.2\"\n",
        "version = 1\n",
    ]);
    let read = move |input: &[u8]| {
        LockFile::read(&folder.input(input)).map(drop).map_err(|error| error.to_string())
    };
    Prepared { seeds, read: Box::new(read) }
}

fn signature(folder: Folder) -> Prepared {
    let [library, ..] = golden();
    let library = folder.write("libgolden_c.so", &fs::read(library).unwrap());
    let library = image(&library, None).unwrap();
    let trust = Trust::new(&PluginTrust {
        policy: TrustPolicy::Require,
        trusted_keys: vec![own_seed("team.pub")],
        ..PluginTrust::default()
    });
    let good = fs::read_to_string(own_seed("libgolden_c.so.minisig")).unwrap();
    let seeds = vec![good.clone().into_bytes()];
    let read = move |input: &[u8]| {
        let _ = &folder;
        fs::write(signature_path(&library.path), input).unwrap();
        trust.check(&library).map_err(|error| error.to_string())?;
        // Only the first comment is not signed.
        let signed = |text: &str| {
            let signed = text.split_once('\n').map(|(_, signed)| signed.trim_end_matches('\n'));
            signed.unwrap_or_default().to_owned()
        };
        assert_eq!(signed(&String::from_utf8_lossy(input)), signed(&good));
        Ok(())
    };
    Prepared { seeds, read: Box::new(read) }
}

fn key(folder: Folder) -> Prepared {
    let read = move |input: &[u8]| {
        PublicKeys::read(&[folder.input(input)]).map(drop).map_err(|error| error.to_string())
    };
    Prepared { seeds: bytes([own_seed("team.pub")]), read: Box::new(read) }
}

fn policy(folder: Folder) -> Prepared {
    let seeds = texts([
        "policy = \"require\"\nlock = \"/etc/hookrack/plugins.lock\"\ntrusted_keys = [\"/etc/x.pub\"]\nfolders = [\"/opt/p\"]\n",
        "policy = \"warn\"\n",
    ]);
    let read = move |input: &[u8]| {
        SystemPolicy::read(&folder.input(input)).map(drop).map_err(|error| error.to_string())
    };
    Prepared { seeds, read: Box::new(read) }
}
