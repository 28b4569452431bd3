//! A key always goes to the same instance while that lives.

use std::collections::HashMap;

use stadium_rpc::{CallOptions, ServerConfig, ServiceClient};

use crate::fixture::*;

fn owner(words: &ServiceClient, key: u32) -> String {
    let key = key.to_be_bytes();
    let options = CallOptions { key: Some(&key), ..CallOptions::default() };
    words.call_with(&ECHO_TWICE, &word(""), &options).wait().expect("somebody owns the key").text
}

#[test]
fn key_stays_with_its_instance_and_moves_only_while_that_is_gone() {
    let names = ["one", "two", "three"];
    let mut servers: Vec<_> = names.iter().map(|name| serve(named(name))).collect();
    let all: Vec<_> = servers.iter().collect();
    let words = connected_client(&all, client_config(&all)).service("words");
    let owners: HashMap<u32, String> = (0..200).map(|key| (key, owner(&words, key))).collect();
    for name in names {
        let share = owners.values().filter(|owner| *owner == name).count();
        assert!((30..=110).contains(&share), "{name} owns {share} of 200 keys");
    }
    for (key, before) in &owners {
        assert_eq!(owner(&words, *key), *before);
    }

    let address = servers[0].bound()[0];
    servers.remove(0).stop();
    for (key, before) in &owners {
        let now = owner(&words, *key);
        assert!(now == *before || before == "one", "key {key} moved from {before} to {now}");
        assert_ne!(now, "one");
    }

    let config = ServerConfig { listen: vec![stadium_rpc::Listen::tcp(address)], ..server_config() };
    let _back = serve_with(config, named("one"));
    let ones: Vec<u32> = owners.iter().filter(|(_, owner)| *owner == "one").map(|(key, _)| *key).collect();
    until("its keys are back", || ones.iter().all(|key| owner(&words, *key) == "one"));
    for (key, before) in &owners {
        assert_eq!(owner(&words, *key), *before);
    }
}

#[test]
fn two_clients_agree_on_the_owners() {
    let servers = [serve(named("one")), serve(named("two")), serve(named("three"))];
    let mut all: Vec<_> = servers.iter().collect();
    let here = connected_client(&all, client_config(&all)).service("words");
    all.reverse();
    let there = connected_client(&all, client_config(&all)).service("words");
    for key in 0..100 {
        assert_eq!(owner(&here, key), owner(&there, key));
    }
}

#[test]
fn function_sees_the_key() {
    let service = words().inline(&ECHO, |call: &stadium_rpc::Call<'_>, _: &Word, answer: &mut Word| {
        answer.bytes.extend_from_slice(call.key().unwrap_or_default());
        Ok(())
    });
    let server = serve(service);
    let words = client_of(&[&server]).service("words");
    let options = CallOptions { key: Some(b"device-1"), ..CallOptions::default() };
    assert_eq!(words.call_with(&ECHO, &word(""), &options).wait().expect("it answers").bytes, b"device-1");
    assert_eq!(words.call(&ECHO, &word("")).wait().expect("it answers").bytes, b"");
}
