/**
 * The properties of the fuzzer: a burst of requests at once is answered as the judge demands and costs no
 * more calls to providers than its caps; the same while providers fail; and after any misuse of sockets the
 * service still answers.
 */
import fc from 'fast-check'
import { readDescription } from './described.ts'
import { Broken, type BudgetedProvider, type Judge, makeJudge } from './judge.ts'
import { anyRequest, type FuzzRequest, soundRequest } from './requests.ts'
import { makeSender, type Sender, toShell } from './send.ts'
import type { Visit } from './strangers.ts'
import type { Exchange } from './wire.ts'
import { callCap } from './work.ts'
import type { World } from './world.ts'

/** Longer than the service may take for one request (`fuzzEnvironment`). */
export const answerTimeoutMs = 30_000
/** Of the 200 calls a minute that SnapTrade grants, so many are used before the clock is moved on. */
const brokerCallsAMinute = 200
/** The first of several users may have used up their day; the clock does not come to the next one. */
const simplefinCallsADay = 24
/** Of one account. */
const bankCallsADay = 4

export interface Tally {
  requests: number
  readonly statuses: Map<string, number>
  readonly slowest: { ms: number; line: string }[]
}

export interface Bursts {
  readonly burst: fc.Arbitrary<readonly FuzzRequest[]>
  /** Mostly requests that get through to a provider. */
  readonly soundBurst: fc.Arbitrary<readonly FuzzRequest[]>
  /** Sends all at once; throws what the judge throws. */
  play(requests: readonly FuzzRequest[], faults: boolean): Promise<void>
  /** Adds the messages of an anonymous client, and the answers that it waited for. */
  count(visit: Visit, statuses: readonly number[]): void
  readonly judge: Judge
  readonly sender: Sender
  readonly tally: Tally
}

export function makeBursts(world: World): Bursts {
  const operations = readDescription(world.document)
  const judge = makeJudge(world, operations)
  const sender = makeSender(world, answerTimeoutMs)
  const tally: Tally = { requests: 0, statuses: new Map(), slowest: [] }
  let brokerCalls = 0
  let simplefinCalls = 0
  let bankCalls = 0

  async function timed(request: FuzzRequest): Promise<Exchange> {
    const started = performance.now()
    const exchange = await sender.send(request)
    note(tally, exchange, performance.now() - started, () => toShell(world, request))
    return exchange
  }

  async function play(requests: readonly FuzzRequest[], faults: boolean): Promise<void> {
    world.takeCalls()
    const exchanges = await Promise.all(requests.map(timed))
    const calls = world.takeCalls()
    brokerCalls += calls.snaptrade
    simplefinCalls += calls.simplefin
    bankCalls += calls.enablebanking
    const spent: BudgetedProvider[] = []
    if (brokerCalls >= brokerCallsAMinute) spent.push('snaptrade')
    if (simplefinCalls >= simplefinCallsADay) spent.push('simplefin')
    if (bankCalls >= bankCallsADay) spent.push('enablebanking')
    if (brokerCalls >= brokerCallsAMinute / 2) {
      brokerCalls = 0
      await world.advance(61_000)
    }
    for (const [index, request] of requests.entries()) {
      const exchange = exchanges[index]
      if (exchange !== undefined) judge(request, exchange, { faults, spent })
    }
    const cap = requests.reduce((sum, request) => sum + callCap(world, request), 0)
    // A bank's rows are read to their end once, whatever the request asks for (R36).
    const counted = calls.all - calls.enablebanking
    if (counted > cap) throw new Broken(`${counted} calls to providers, at most ${cap} are due`)
  }

  const any = anyRequest(operations)
  const sound = soundRequest(operations)
  const burstOf = (strange: number) => {
    const one = fc.oneof({ weight: strange, arbitrary: any }, { weight: 3, arbitrary: sound })
    return fc.array(one, { minLength: 1, maxLength: 12 })
  }
  return {
    burst: burstOf(7),
    soundBurst: burstOf(1),
    play,
    count({ messages, ending }, statuses) {
      tally.requests += messages.length
      const seen = statuses.length === 0 ? [ending] : statuses.map(String)
      for (const one of seen) tally.statuses.set(one, (tally.statuses.get(one) ?? 0) + 1)
    },
    judge,
    sender,
    tally,
  }
}

const keptSlowest = 5

function note(tally: Tally, exchange: Exchange, ms: number, line: () => string): void {
  tally.requests += 1
  const status = String(exchange.answers[0]?.status ?? exchange.end)
  tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1)
  const { slowest } = tally
  if (slowest.length === keptSlowest && ms <= (slowest.at(-1)?.ms ?? 0)) return
  slowest.push({ ms, line: line().slice(0, 300) })
  slowest.sort((left, right) => right.ms - left.ms)
  slowest.splice(keptSlowest)
}
