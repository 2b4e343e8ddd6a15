/**
 * Two agents' doors over equal parts: one answers plain calls itself, the other lets the protocol library
 * answer everything. What they are asked, and the answers of the provider behind them, depend on the
 * arguments alone.
 */
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Caller } from '#auth/caller.ts'
import { allScopes, type Scope } from '#auth/scopes.ts'
import { apiError } from '#contract/errors.ts'
import { makeMcpLane } from '#doors/mcp/lane.ts'
import { makeReadPlainCall, type ReadPlainCall } from '#doors/mcp/plain-call.ts'
import { openMemoryKv } from '#fast/memory.ts'
import { makeAdmission, makeGoodTokens } from '#gate/admit.ts'
import { makeGate } from '#gate/gate.ts'
import { makeThrottle } from '#gate/throttle.ts'
import type { UserId } from '#kernel/ids.ts'
import type { Clock } from '#kernel/time.ts'
import type { Read } from '#resources/read.ts'
import type { PlanRow } from '#store/ports/users.ts'
import type { ReadRecord } from '#telemetry/request-record.ts'

export interface Sent {
  readonly method: string
  readonly headers: readonly string[]
  readonly body: Buffer
}

export interface Got {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Door {
  ask(sent: Sent): Promise<Got>
  /** The records since the last look, without what depends on the machine. */
  takeRecords(): unknown[]
  /** How many calls the library did not judge. */
  plainCalls(): number
  close(): Promise<void>
}

const plans: Readonly<Record<string, Partial<PlanRow>>> = {
  developer: { plan: 'developer' },
  planless: { plan: 'none' },
  trialing: { status: 'trialing' },
}

/** Who has this token; tokens name what they stand for. */
export function callerOf(token: string): Caller {
  const scopes: readonly Scope[] = token === 'scoped' ? ['mcp:read'] : allScopes
  return {
    userId: `user-of-${token}` as UserId,
    bucketId: token,
    timezone: 'Australia/Sydney',
    plan: {
      plan: 'professional',
      status: 'active',
      legacyUntil: null,
      grandfathered: false,
      ...plans[token],
    },
    scopes,
    epoch: 1,
  }
}

const goodTokens = ['good', 'known', 'scoped', ...Object.keys(plans)]

/** Texts that are hard to write: quotes, several scripts, characters that hide or reorder others. */
const texts = [
  'plain',
  '"quoted" \\ back',
  'é 漢 👋',
  'a\u202eb\u200b\u0000',
  '</script>',
  '\ud800',
]

const read: Read = async (name, query) => {
  const asked = query.toString()
  if (asked.includes('missing')) throw apiError('connection_not_found')
  if (asked.includes('down')) throw apiError('provider_unavailable', { retryAfterSeconds: 30 })
  if (asked.includes('boom')) throw new Error('a fault')
  const offset = Number(query.get('offset') ?? 0)
  const limit = Number(query.get('limit') ?? 3)
  const rows = name === 'list_holdings' && asked.includes('many') ? 400 : Math.min(limit, 40)
  const data = Array.from({ length: rows }, (_, at) => ({
    id: `${asked.length}-${at}`,
    description: texts[(at + asked.length) % texts.length],
    currentBalance: at % 3 === 0 ? null : '1.50',
  }))
  const pagination = { total: offset + 99, limit, offset, hasMore: limit % 2 === 0 }
  const isPaged = ['list_accounts', 'list_transactions', 'list_trades'].includes(name)
  const truncated = asked.includes('long')
  return { body: isPaged ? { data, pagination } : { data }, truncated, cacheable: limit !== 7 }
}

const limits = {
  buckets: { cheap: 40, mid: 20, heavy: 40 },
  concurrency: 4,
  requestTimeoutMs: 5000,
}

/** `byLibrary`: no call is plain. */
export async function openDoor(clock: Clock, byLibrary: boolean): Promise<Door> {
  const kv = openMemoryKv({ clock, cacheMaxBytes: 8_000_000, cacheMaxEntryBytes: 1_000_000 })
  const settings = { defaultPlan: 'professional', brokerageDuringTrial: false } as const
  const renew = async (caller: Caller) => caller
  const gate = makeGate({
    kv,
    read,
    renew,
    clock,
    plans: settings,
    limits,
    checkReplies: false,
    events: { begin: () => Promise.reject(new Error('no events')) },
  })
  const throttle = makeThrottle(kv.windows, { preauth: 60, preauthIp: 6000 })
  const callers = new Map(goodTokens.map((token) => [token, callerOf(token)]))
  const tokenOf = ({ bearer }: Parameters<typeof identify.find>[0]) =>
    bearer.kind === 'token' ? bearer.token : ''
  const identify: Parameters<typeof makeAdmission>[0]['identify'] = {
    recall: (credential) =>
      tokenOf(credential) === 'good' ? null : (callers.get(tokenOf(credential)) ?? null),
    find(credential) {
      if (credential.bearer.kind === 'missing') throw apiError('missing_authorization')
      const caller = callers.get(tokenOf(credential))
      if (caller === undefined) throw apiError('invalid_token')
      return caller
    },
  }
  const records: ReadRecord[] = []
  let plain = 0
  const readPlain = makeReadPlainCall()
  const counting: ReadPlainCall = (headers, message) => {
    const call = readPlain(headers, message)
    if (call !== null) plain += 1
    return call
  }
  const lane = makeMcpLane({
    gate,
    throttle,
    clock,
    admit: makeAdmission({ throttle, good: makeGoodTokens(), identify }),
    isTrustedProxy: () => false,
    origins: () => origins,
    isLoopback: true,
    requestTimeoutMs: limits.requestTimeoutMs,
    maxAnswerBytes: 12_000,
    hasExtraTools: false,
    version: '1.2.3',
    readPlainCall: byLibrary ? () => null : counting,
    observe: (record) => records.push(record),
  })
  const server = createServer((incoming, outgoing) => void lane.serve(incoming, outgoing))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    ask: (sent) => ask(port, sent),
    takeRecords: () => records.splice(0).map(toComparable),
    plainCalls: () => plain,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await lane.close()
      kv.close()
    },
  }
}

const origin = 'http://127.0.0.1'
const origins = { base: origin, mcp: origin, auth: origin }

function toComparable({ durationMs, error, ...record }: ReadRecord): unknown {
  if (!(durationMs >= 0)) throw new Error('a record without its time')
  const what = error instanceof Error ? `${error.name}: ${error.message}` : error
  return { ...record, error: what }
}

function ask(port: number, { method, headers, body }: Sent): Promise<Got> {
  return new Promise((resolve, reject) => {
    // `Host` stands among the headers, since those are a list.
    const options = { port, host: '127.0.0.1', path: '/mcp', method, setHost: false }
    const own = ['Host', '127.0.0.1', 'Content-Length', String(body.length), ...headers]
    const asked = request({ ...options, headers: own }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const { date: _date, ...rest } = answer.headers
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: answer.statusCode, headers: rest, body: text })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}
