/**
 * Misuse of sockets: several requests in one write, bytes in dribs and drabs, half-closed, cut off in the
 * middle, reset while the answer comes, junk behind a good request. What can be answered is judged; the rest
 * must merely end.
 */
import fc from 'fast-check'
import { Broken, isBelowHttp, type Judge } from './judge.ts'
import type { FuzzRequest } from './requests.ts'
import { headOf, toBytes } from './send.ts'
import { openWire } from './wire.ts'
import type { World } from './world.ts'

export interface Choreography {
  /** One after another on one connection. */
  readonly requests: readonly FuzzRequest[]
  /** Where the bytes are cut into writes, as shares of the whole. */
  readonly cuts: readonly number[]
  readonly pauseMs: number
  readonly ending:
    | 'wait'
    | 'half-close'
    | 'reset-after'
    | 'cut-off'
    | 'cut-off-half-close'
    | 'reset-during'
  /** Sent behind the last request. */
  readonly junk: string
}

const noJunk = ''
/** A client library's hello, half a head, smuggled framing: none of it is a request. */
const junk = [
  '\r\n\r\n',
  '\u0000',
  'GET',
  '\u0016\u0003\u0001\u0002\u0000',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'GET /v1/categories HTTP/1.1\r\n\r\n',
  'GET /v1/categories HTTP/3.7\r\nHost: a\r\n\r\n',
  'GET  /v1 HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'GET /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'GET /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nx',
] as const

export const anyChoreography = (sound: fc.Arbitrary<FuzzRequest>): fc.Arbitrary<Choreography> =>
  fc.record<Choreography>({
    requests: fc.array(sound, { minLength: 1, maxLength: 8 }),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }),
    pauseMs: fc.nat({ max: 8 }),
    ending: fc.constantFrom(
      ...([
        'wait',
        'half-close',
        'reset-after',
        'cut-off',
        'cut-off-half-close',
        'reset-during',
      ] as const),
    ),
    junk: fc.oneof(
      { weight: 2, arbitrary: fc.constant(noJunk) },
      { weight: 1, arbitrary: fc.constantFrom(...junk) },
    ),
  })

/** Plays it; throws what the judge throws, and when an answer is missing that was due. */
export async function playChoreography(
  world: World,
  judge: Judge,
  play: Choreography,
  timeoutMs: number,
): Promise<void> {
  const whole = Buffer.concat([
    ...play.requests.map((request) => toBytes(world, request)),
    Buffer.from(play.junk, 'latin1'),
  ])
  const isCut = play.ending.startsWith('cut-off')
  const bytes = isCut ? whole.subarray(0, Math.floor(whole.length * (play.cuts[0] ?? 0.5))) : whole
  const wire = openWire(world.port)
  try {
    await writeInParts(bytes, play, (part) => wire.write(part))
    if (play.ending === 'reset-after') return wire.reset()
    if (play.ending === 'cut-off') return
    if (play.ending === 'half-close' || play.ending === 'cut-off-half-close') wire.halfClose()
    const methods = play.requests.map((request) => request.method)
    const due = play.ending === 'reset-during' ? methods.slice(0, 1) : methods
    const exchange = await wire.read(due, timeoutMs)
    if (play.ending === 'reset-during') return wire.reset()
    if (exchange.end === 'timeout') throw new Broken('the connection hangs')
    // Whoever closes his side is taken to have left (node:http does not wait for answers to the half-closed).
    if (isCut || play.ending === 'half-close') return
    // Junk ends the connection at once, also before an answer that is still being made.
    const isSound = play.junk === noJunk && play.requests.every((one) => headOf(world, one).isSound)
    const isSpoiled = !isSound && exchange.answers.some(isBelowHttp)
    if (exchange.answers.length < due.length && !isSpoiled) {
      throw new Broken(`${exchange.answers.length} answers to ${due.length} requests`)
    }
    for (const [index, request] of play.requests.entries()) {
      const answer = exchange.answers[index]
      if (answer === undefined || (isSpoiled && isBelowHttp(answer))) break
      judge(
        request,
        { answers: [answer], end: 'complete' },
        // Calls are not counted here.
        { faults: false, spent: ['snaptrade', 'simplefin', 'enablebanking'] },
      )
    }
  } finally {
    wire.destroy()
  }
}

async function writeInParts(
  bytes: Buffer,
  play: Choreography,
  write: (part: Buffer) => void,
): Promise<void> {
  const cuts = play.cuts.map((share) => Math.floor(bytes.length * share)).sort((a, b) => a - b)
  let from = 0
  for (const to of [...cuts, bytes.length]) {
    if (to > from) write(bytes.subarray(from, to))
    from = Math.max(from, to)
    if (play.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, play.pauseMs))
  }
}

export interface SilentSockets {
  /** How many of them the service has closed. */
  closed(): number
  readonly count: number
  destroy(): void
}

/** Connections that say nothing, or half of a head, and then wait. */
export function openSilentSockets(port: number, count: number): SilentSockets {
  const openings = ['', 'GET', 'GET /v1/categories HTTP/1.1\r\nHost: a\r\nX-Slow: ']
  const wires = Array.from({ length: count }, (_, index) => {
    const wire = openWire(port)
    const opening = openings[index % openings.length] ?? ''
    if (opening !== '') wire.write(Buffer.from(opening))
    return wire
  })
  return {
    count,
    closed: () => wires.filter((wire) => wire.isEnded()).length,
    destroy: () => {
      for (const wire of wires) wire.destroy()
    },
  }
}
