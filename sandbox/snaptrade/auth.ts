/**
 * Request checks of the SnapTrade emulator: signature, timestamp, rate and user, as strict as the real
 * one is known to be. The signature has its own code, not the adapter's, so that a mistake
 * cannot hide on both sides.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { listUsers } from './people.ts'
import type { SnapTradePerson } from './shapes.ts'
import type { SnapTradeState } from './state.ts'

export interface AppCredentials {
  readonly clientId: string
  readonly consumerKey: string
}

/**
 * SnapTrade does not document how far a clock may differ; the sandbox is strict enough to notice
 * milliseconds.
 */
const toleranceSeconds = 300

/** An error in the shape most endpoints use. */
export function refuse(status: number, code: string, detail: string): EmulatorReply {
  return { status, body: { detail, status_code: status, code } }
}

/** Refuses a request whose client, timestamp or signature is wrong; null when all are right. */
export function refuseApp(
  request: EmulatorRequest,
  credentials: AppCredentials,
  nowMs: number,
): EmulatorReply | null {
  const { query } = request
  const clientIds = query.getAll('clientId')
  const timestamps = query.getAll('timestamp')
  if (clientIds.length !== 1 || clientIds[0] !== credentials.clientId) {
    return refuse(401, '1083', 'Invalid clientId provided')
  }
  const timestamp = timestamps[0] ?? ''
  const off = Math.abs(Number(timestamp) - Math.floor(nowMs / 1000))
  if (timestamps.length !== 1 || !/^\d{1,12}$/.test(timestamp) || off > toleranceSeconds) {
    return refuse(401, '1076', 'Invalid timestamp')
  }
  const sent = Buffer.from(String(request.headers.signature ?? ''))
  const wanted = Buffer.from(expectedSignature(request, credentials.consumerKey) ?? ' ')
  if (sent.length === wanted.length && timingSafeEqual(sent, wanted)) return null
  return { status: 401, body: { default_detail: unsigned, default_code: 1076 } }
}

const unsigned = 'Unable to verify signature sent'

/** Null when the body is no JSON and so cannot have been signed. */
function expectedSignature(request: EmulatorRequest, consumerKey: string): string | null {
  try {
    const body: unknown = request.body === '' ? null : JSON.parse(request.body)
    const empty = typeof body === 'object' && body !== null && Object.keys(body).length === 0
    const { path, rawQuery: sentQuery } = request
    const message = canonical({ content: empty ? null : body, path, query: sentQuery })
    return createHmac('sha256', encodeURI(consumerKey)).update(message).digest('base64')
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}

const userParameters = ['userId', 'userSecret']
const commercialCalls = [
  'POST /snapTrade/registerUser',
  'DELETE /snapTrade/deleteUser',
  'GET /snapTrade/listUsers',
  'POST /snapTrade/resetUserSecret',
]

/**
 * What a personal key may not do. That it refuses user parameters is stricter than what is documented, which
 * says only that there are none.
 */
export function refusePersonal(path: string, request: EmulatorRequest): EmulatorReply | null {
  if (commercialCalls.includes(`${request.method} ${path}`)) {
    return refuse(403, '1141', 'This endpoint is not available for personal keys.')
  }
  if (!userParameters.some((name) => request.query.has(name))) return null
  return refuse(401, '1083', 'A personal key has no userId and no userSecret')
}

/** The person whose key it is, or whose id and secret stand in the query, or the refusal. */
export function findPerson(
  request: EmulatorRequest,
  state: SnapTradeState,
  owner: SnapTradePerson | null,
): SnapTradePerson | EmulatorReply {
  if (owner !== null) return owner
  const userId = request.query.get('userId')
  const userSecret = request.query.get('userSecret')
  if (!userId || !userSecret) {
    return refuse(401, '1083', 'Please provide clientId, userId and userSecret in query params')
  }
  const person = listUsers(state.people).find((known) => known.userId === userId)
  if (person !== undefined && person.userSecret === userSecret) return person
  return refuse(401, '1083', 'Invalid userID or userSecret provided')
}

export interface RateWindow {
  /** Counts one request: the headers of its answer, and the refusal when it is one too many. */
  count(nowMs: number): { headers: Record<string, string>; refused: EmulatorReply | null }
}

/**
 * A rolling minute of a key, all its users together, or of an account; `name` is the start of its headers.
 * `perMinute` null: switched off, no headers.
 */
export function makeRateWindow(perMinute: number | null, name: string): RateWindow {
  const times: number[] = []
  return {
    count(nowMs) {
      if (perMinute === null) return { headers: {}, refused: null }
      while (times[0] !== undefined && times[0] <= nowMs - 60_000) times.shift()
      const allowed = times.length < perMinute
      if (allowed) times.push(nowMs)
      const reset = Math.max(1, Math.ceil(((times[0] ?? nowMs) + 60_000 - nowMs) / 1000))
      const headers = {
        [`${name}-Limit`]: String(perMinute),
        [`${name}-Remaining`]: String(perMinute - times.length),
        [`${name}-Reset`]: String(reset),
      }
      const detail = `Request was throttled. Expected available in ${reset} seconds.`
      return { headers, refused: allowed ? null : refuse(429, '0000', detail) }
    },
  }
}

/** A window for each name, made when it is first used. */
export function makeRateWindows(perMinute: number | null, name: string) {
  const windows = new Map<string, RateWindow>()
  return (of: string): RateWindow => {
    const window = windows.get(of) ?? makeRateWindow(perMinute, name)
    windows.set(of, window)
    return window
  }
}
