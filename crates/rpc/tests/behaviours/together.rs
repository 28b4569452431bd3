//! Services that call each other from their own asynchronous functions.

use stadium_rpc::{CallContext, CallError, CallOptions, Client, Method, Service};

use crate::fixture::*;

const DOUBLE: Method<Word, Word> = Method::unary("doubles/Double");
const SUM: Method<Word, Word> = Method::unary("sums/Sum");

#[test]
fn services_call_each_other_and_await_on_their_loops() {
    // `words/Echo` asks `doubles/Double`, which asks `words/Half` back on the first server.
    const HALF: Method<Word, Word> = Method::unary("words/Half");
    let (here, there) = (nobody(), nobody());
    let client_at = |address| Client::start(stadium_rpc::ClientConfig::at(vec![address]));
    let to_there = client_at(there).expect("a thread can be had");
    let to_here = client_at(here).expect("a thread can be had");

    let doubles = Service::new("doubles", "1").asynchronous(&DOUBLE, {
        let words = to_here.service("words");
        move |context: CallContext, request: Word| {
            let words = words.clone();
            async move {
                let options = CallOptions { deadline: Some(context.time_left()), ..CallOptions::default() };
                let half = words.call_with(&HALF, &request, &options).await?;
                Ok(number(half.number * 4))
            }
        }
    });
    let front = words()
        .asynchronous(&ECHO, {
            let doubles = to_there.service("doubles");
            move |_: CallContext, request: Word| {
                let doubles = doubles.clone();
                async move { Ok(doubles.call(&DOUBLE, &request).await?) }
            }
        })
        .inline(&HALF, |_: &stadium_rpc::Call<'_>, request: &Word, answer: &mut Word| {
            if request.number % 2 == 1 {
                return Err(stadium_rpc::Refusal::rejected("WORDS-002", "odd"));
            }
            answer.number = request.number / 2;
            Ok(())
        });
    let listen = |address| vec![stadium_rpc::Listen::tcp(address)];
    let first = serve_with(stadium_rpc::ServerConfig { listen: listen(here), ..server_config() }, front);
    let _second = serve_with(stadium_rpc::ServerConfig { listen: listen(there), ..server_config() }, doubles);

    let words = client_of(&[&first]).service("words");
    let calls: Vec<_> = (0..300).map(|round| words.call(&ECHO, &number(round * 2))).collect();
    for (round, call) in (0..).zip(calls) {
        assert_eq!(answer(call), Ok(number(round * 4)));
    }
    let odd = words.call(&ECHO, &number(7)).wait();
    assert_eq!(rejection(odd).0, "WORDS-002", "a refusal comes through both");
}

#[test]
fn function_collects_the_answers_of_several_calls() {
    let leaf = serve(echo());
    let client = client_of(&[&leaf]);
    let service = Service::new("sums", "1").asynchronous(&SUM, move |_: CallContext, request: Word| {
        let words = client.service("words");
        async move {
            let calls: Vec<_> = (1..=request.number).map(|one| words.call(&ECHO, &number(one))).collect();
            let mut sum = 0;
            for call in calls {
                sum += call.await?.number;
            }
            Ok(number(sum))
        }
    });
    let server = serve(service);
    let sums = client_of(&[&server]).service("sums");
    assert_eq!(sums.call(&SUM, &number(100)).wait(), Ok(number(5_050)));
    leaf.stop();
    let without = sums.call_with(
        &SUM,
        &number(3),
        &CallOptions { deadline: Some(std::time::Duration::from_millis(300)), ..CallOptions::default() },
    );
    let ended = without.wait();
    assert!(
        matches!(ended, Err(CallError::Deadline | CallError::Busy { .. } | CallError::Unknown { .. })),
        "{ended:?}"
    );
}
