//! Packs OpenAI's vocabularies into the program. Unpacked, they would be half of its size.
//!
//! A vocabulary consists of tables. Counting tokens uses the automaton that finds the longest token, the splits and the
//! pairs. Two more automata (every token, forwards and backwards) and an index of tokens by hash serve other uses of the
//! library and take two thirds of the space; this script empties them. `src/vocabulary.rs` unpacks the tables at first
//! use, and its tests compare the tokens of random texts with those of the complete vocabularies.

use bpe::byte_pair_encoding::BytePairEncoding;
use flate2::{Compression, write::DeflateEncoder};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::{collections::HashMap, env, error::Error, fs::File, io::Write, path::Path};

/// A vocabulary as the library serialises it, by position.
#[derive(Serialize, Deserialize)]
struct Tables {
    all_tokens: Vec<u8>,
    token_starts: Vec<u32>,
    tokens_by_hash: HashMap<u32, u32>,
    splits: Vec<(u32, u32)>,
    pairs: HashMap<(u32, u32), u32>,
    longest: ByteBuf,
    every: ByteBuf,
    every_backwards: ByteBuf,
    prefixes: Vec<u32>,
    hash_factor: u64,
}

impl Tables {
    fn of(vocabulary: &BytePairEncoding) -> Result<Self, Box<dyn Error>> {
        Ok(rmp_serde::from_slice(&rmp_serde::to_vec(vocabulary)?)?)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("OUT_DIR")?;
    // An automaton cannot be empty: these know one token.
    let least = Tables::of(&BytePairEncoding::from_dictionary([b"a".to_vec()], None))?;
    let vocabularies = [("o200k_base", bpe_openai::o200k_base()), ("cl100k_base", bpe_openai::cl100k_base())];
    for (name, tokenizer) in vocabularies {
        let mut tables = Tables::of(&tokenizer.bpe)?;
        tables.tokens_by_hash.clear();
        tables.every = least.every.clone();
        tables.every_backwards = least.every_backwards.clone();
        let mut encoder =
            DeflateEncoder::new(File::create(Path::new(&folder).join(name))?, Compression::default());
        encoder.write_all(&rmp_serde::to_vec(&tables)?)?;
        encoder.finish()?;
    }
    Ok(())
}
