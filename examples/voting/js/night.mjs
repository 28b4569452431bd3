// A voting night over the JavaScript SDK: `node night.mjs DATA`, with the data directory of a
// running server.
//
// Voters buy three votes each and try to cast five, all at once. A vote is a transfer from the
// voter's wallet to the candidate's, and its id is made of what it is for. So the program may be
// started again: nothing is paid twice. The exit code is 1 where the books are not as they must be.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { Busy, Rejected, Stadium, Unavailable, verifyReceipt } from '@stadium/client'

const POLL = 'final'
const ASSET = 'VOTE'
const LANGUAGE = 'js'
const CANDIDATES = ['ann', 'ben']
const VOTERS = Array.from({ length: 20 }, (_, nth) => `${LANGUAGE}-${nth}`)
/** Votes that each voter buys, and tries to cast. */
const BOUGHT = 3
const CAST = 5
/** Votes that are sent again although they were paid. */
const REPEATED = 20
/** The longest that anything is waited for, in milliseconds. A receipt waits for the seal. */
const PATIENCE_MS = 100_000

/** An id that is made of what it is for, as a UUID is written. */
function idFrom (...names) {
  const hex = createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 32)
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Looks again and again until something is there. */
async function until (what, look) {
  const deadline = Date.now() + PATIENCE_MS
  while (true) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`it takes too long: ${what}`)
    await sleep(50)
  }
}

/**
 * Sends a request until its outcome is known. That is safe: each request here has an id, or changes
 * nothing when it comes again.
 */
async function known (send) {
  return await until('an outcome', async () => {
    try {
      return { value: await send() }
    } catch (error) {
      if (error instanceof Busy) await sleep(error.retryAfter)
      else if (!(error instanceof Unavailable || error.mayHaveHappened)) throw error
      return undefined
    }
  }).then(({ value }) => value)
}

const data = process.argv[2]
if (data === undefined || process.argv.length !== 3) {
  console.error('night.mjs DATA: the data directory of a running `stadium serve`')
  process.exit(1)
}
const { http_url: url } = JSON.parse(await readFile(path.join(data, 'running.json'), 'utf8'))
const key = async () => (await readFile(path.join(data, 'admin.key'), 'utf8')).trim()
const stadium = new Stadium({ url, key, deadline: 30_000 })
const { wallets, devices, pushes } = stadium

/** Opens the voters' accounts, and sells them their votes: a payment counts once. */
async function sell () {
  await known(() => wallets.declareAsset(ASSET, 0))
  await Promise.all(VOTERS.map((voter) =>
    known(() => wallets.open({ wallet: `voter:${voter}`, asset: ASSET }))))
  const payments = VOTERS.map((voter) => known(() => wallets.transfer({
    id: idFrom('payment', POLL, voter),
    debit: '@shop',
    credit: `voter:${voter}`,
    asset: ASSET,
    amount: BOUGHT
  })))
  return BOUGHT * (await Promise.all(payments)).length
}

/** Casts a vote; `undefined` where the voter has none left. The same vote again is the same one. */
async function cast (vote) {
  try {
    return await known(() => wallets.transfer(vote))
  } catch (error) {
    if (error instanceof Rejected && error.code === 'WAL-023') return undefined
    throw error
  }
}

/** Checks without the server that a receipt proves the vote under a published root. */
async function proves (vote) {
  const command = process.env.STADIUM_BIN ?? 'stadium'
  const receipt = await until('a receipt', async () => {
    // The audit of the server writes it, as soon as a seal covers the vote.
    const words = ['wallet', 'receipt', data, vote.id]
    const audit = await promisify(execFile)(command, words).catch((error) => {
      if (typeof error.code !== 'number') throw error
    })
    return audit === undefined ? undefined : JSON.parse(audit.stdout)
  })
  const { shard, seal } = receipt
  const { roots } = await known(() => wallets.roots({ shard, after: seal - 1, limit: 1 }))
  const proved = await verifyReceipt(receipt, roots[0].root)
  return proved.transfer === vote.id && proved.debit === vote.debit &&
    proved.credit === vote.credit && proved.asset === ASSET && proved.amount === 1n
}

/** Pushes the winner to the voters' devices. Returns how many are told. */
async function announce (winner) {
  await Promise.all(VOTERS.map((voter) => known(() => devices.set(voter, { tags: [LANGUAGE] }))))
  const { id } = await known(() => pushes.send({
    id: idFrom('winner', POLL, LANGUAGE, winner),
    audience: { tag: LANGUAGE },
    notification: { title: `The winner is ${winner}` },
    options: { expiry_s: 3600 }
  }))
  return await until('the push', async () => {
    const { targeted } = (await known(() => pushes.find(id))).counts
    return targeted < VOTERS.length ? undefined : targeted
  })
}

/** Votes that were bought and not cast. */
async function votesLeft () {
  const balances = VOTERS.map((voter) =>
    known(() => wallets.balance(`voter:${voter}`, ASSET)))
  return (await Promise.all(balances)).reduce((sum, { available }) => sum + Number(available), 0)
}

/** The votes of a candidate, those of other programs too. */
async function standing (candidate) {
  const wallet = `@${POLL}:${candidate}`
  return Number((await known(() => wallets.balance(wallet, ASSET))).posted)
}

/** Checks that each vote that somebody has was given by somebody. */
async function isBalanced () {
  const { assets } = await known(() => wallets.assets())
  return assets.some(({ asset, balanced }) => asset === ASSET && balanced)
}

const credits = await sell()
const votes = Array.from({ length: CAST * VOTERS.length }, (_, at) => {
  const [voter, nth] = [at % VOTERS.length, Math.floor(at / VOTERS.length)]
  return {
    id: idFrom('vote', POLL, VOTERS[voter], nth),
    debit: `voter:${VOTERS[voter]}`,
    credit: `@${POLL}:${CANDIDATES[(voter + nth) % 3 === 0 ? 1 : 0]}`,
    asset: ASSET,
    amount: 1,
    reference: POLL
  }
})
const booked = await Promise.all(votes.map(cast))
const paid = votes.filter((_, at) => booked[at] !== undefined)
const again = await Promise.all(paid.slice(0, REPEATED).map(cast))
const twice = again.filter((one) => one?.duplicate !== true).length
const isProved = paid.length > 0 && await proves(paid[0])
const left = await votesLeft()
const standings = await Promise.all(CANDIDATES.map(standing))
const winner = CANDIDATES[standings.indexOf(Math.max(...standings))]
const told = await announce(winner)
const balance = await isBalanced()

const rows = [
  ['voters', VOTERS.length],
  ['votes bought', credits],
  ['votes cast', votes.length],
  ['votes paid', paid.length],
  ['votes refused', votes.length - paid.length],
  ['sent again', again.length],
  ['paid twice', twice],
  ['votes left', left],
  ['receipt', isProved ? 'proved' : 'wrong'],
  ...CANDIDATES.map((candidate, at) => [`@${POLL}:${candidate}`, standings[at]]),
  ['winner', winner],
  ['devices told', told],
  ['books', balance ? 'balance' : 'differ']
]
for (const [name, value] of rows) console.log(name.padEnd(16) + String(value).padStart(8))
const total = standings.reduce((sum, each) => sum + each, 0)
const isRight = paid.length === credits && twice === 0 && left === 0 && isProved && balance &&
  total >= credits && told === VOTERS.length
process.exitCode = isRight ? 0 : 1
