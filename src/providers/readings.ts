/**
 * What was read of a provider that allows only a daily number of calls (reading R36): one reading serves
 * every read of its data until it is too old. Of all processes one reads at a time, and the others wait for
 * what it brings. A reading that is on its way goes on when its caller has left, for the next one.
 */

import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LeaseStore } from '#fast/port.ts'
import { ProcessStopping } from '#kernel/process-stopping.ts'
import type { Millis } from '#kernel/time.ts'
import {
  type KeptName,
  type KeptOptions,
  type KeptReading,
  openKeptReadings,
} from './kept-readings.ts'
import type { CallContext, Login } from './login.ts'

export type ReadingLogin = Pick<Login, 'id' | 'version' | 'userId' | 'secret'>

/** Which reading: `name` says what of the login it has, and `maxAgeMs` how old it may be. */
export interface ReadingName {
  readonly name: string
  readonly login: ReadingLogin
  readonly maxAgeMs: number
}

export interface ReadingRequest extends ReadingName {
  /** With a person, or where it says so, what is kept is not new enough: it is read again. */
  readonly call: CallContext
  /**
   * Reads from the provider. Its call is not aborted when callers leave, only when the process stops: the
   * adapter bounds its time.
   */
  readonly read: (call: CallContext) => Promise<Uint8Array>
}

export interface Readings {
  /** @throws what `read` throws, or the reason of the call's signal. */
  get(request: ReadingRequest): Promise<KeptReading>
  /** What is kept, without reading; null: nothing that is new enough. */
  peek(name: ReadingName): Promise<KeptReading | null>
  /** Keeps what is known already, in place of what was kept. */
  keep(name: ReadingName, body: Uint8Array): Promise<void>
  /**
   * The login is gone, or its secret was replaced: what was read with it is deleted, here and in Redis, and
   * what is on its way is not kept. `secret` null: everything of this user.
   */
  forget(login: Pick<Login, 'userId' | 'secret'>): Promise<void>
  /** Ends what is on its way, and resolves once it has ended. */
  close(): Promise<void>
}

export interface ReadingsOptions extends KeptOptions {
  readonly leases: LeaseStore
  /** Whether the login was deleted while it was read: what it brought is not kept. Absent: none is. */
  readonly isGone?: (login: ReadingLogin) => Promise<boolean>
  /** A reading failed after all its callers had left. */
  readonly onLateFailure: (error: unknown) => void
}

/** How often a process looks for the reading of another one. */
const lookEveryMs = 200

/** A reading that is on its way; null: another process reads. */
interface Flight {
  readonly reading: Promise<KeptReading | null>
  waiting: number
}

export function makeReadings(options: ReadingsOptions): Readings {
  const { clock, onLateFailure } = options
  const kept = openKeptReadings(options)
  const flights = new Map<string, Flight>()
  const closing = new AbortController()
  const parts = { ...options, kept, stop: closing.signal }

  function begin(name: KeptName, oldest: Millis, asked: ReadingRequest): Flight {
    const { key } = name
    const flight: Flight = { reading: fly(parts, name, oldest, asked), waiting: 0 }
    flights.set(key, flight)
    const end = () => {
      if (flights.get(key) === flight) flights.delete(key)
    }
    flight.reading.then(end, (error: unknown) => {
      end()
      if (flight.waiting === 0 && !closing.signal.aborted) onLateFailure(error)
    })
    return flight
  }

  async function get(asked: ReadingRequest): Promise<KeptReading> {
    const { call, maxAgeMs } = asked
    const name = toKept(asked)
    const { key } = name
    const isPress = isReadAnew(call)
    const oldest = clock.now() - (isPress ? 0 : maxAgeMs)
    for (let waits = 0; ; waits += 1) {
      call.signal.throwIfAborted()
      // What another process read while a press waited for it is as new as the press.
      const found = isPress && waits === 0 ? null : await kept.find(key, oldest)
      if (found !== null) return found
      call.signal.throwIfAborted()
      const met = flights.get(key)
      const flight = met ?? begin(name, oldest, asked)
      // What a press meets on its way may have begun before it, and its failure is not that of the press.
      const brought = await join(flight, call.signal).catch((error: unknown) => {
        if (met === undefined || !isPress || closing.signal.aborted) throw error
        return null
      })
      if (brought !== null) {
        if (met === undefined || brought.readAt >= oldest) return brought
        continue
      }
      await sleep(lookEveryMs, undefined, { signal: call.signal }).catch(() => {
        throw call.signal.reason
      })
    }
  }

  return {
    get,
    keep: (name, body) => kept.keep(toKept(name), { body, readAt: clock.now() }, name.maxAgeMs),
    peek: (name) => kept.find(toKept(name).key, clock.now() - name.maxAgeMs),
    forget({ userId, secret }) {
      const part = secret === null ? null : hashSecret(secret)
      const owner = userId ?? part
      return owner === null ? Promise.resolve() : kept.forget(owner, part)
    },
    async close() {
      closing.abort(new ProcessStopping())
      await Promise.allSettled([...flights.values()].map(({ reading }) => reading))
      kept.clear()
    },
  }
}

interface Parts extends ReadingsOptions {
  readonly kept: ReturnType<typeof openKeptReadings>
  readonly stop: AbortSignal
}

/** Null: another process reads. */
async function fly(
  { clock, leases, isGone, kept, stop }: Parts,
  { key, ...of }: KeptName,
  oldest: Millis,
  { call, login, maxAgeMs, read }: ReadingRequest,
): Promise<KeptReading | null> {
  const { lease } = await leases.acquire(key, 1)
  if (lease === null) return null
  try {
    // Another process may have read since this one looked.
    const found = isReadAnew(call) ? null : await kept.find(key, oldest)
    if (found !== null) return found
    const readAt = clock.now()
    const reading = { body: await read({ ...call, signal: stop }), readAt }
    await kept.keep({ key, ...of }, reading, maxAgeMs)
    // Asked after it was kept: a deletion forgets what was kept before it, and this what was kept after.
    if (await isGone?.(login)) await kept.forget(of.owner, of.part)
    return reading
  } finally {
    await lease.release()
  }
}

/** Waits for a reading as long as the caller does. */
async function join(flight: Flight, signal: AbortSignal): Promise<KeptReading | null> {
  flight.waiting += 1
  const { promise: left, reject } = Promise.withResolvers<never>()
  const leave = () => {
    flight.waiting -= 1
    reject(signal.reason)
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([flight.reading, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

const hashSecret = (secret: string): string => hash('sha256', secret, 'base64url')

const isReadAnew = ({ person, isAnew }: CallContext): boolean =>
  person !== undefined || isAnew === true

/**
 * By the secret: the reading of a link is that of the login as it is stored then, and readings of earlier
 * credentials are never found again. Names of one owner belong together.
 */
function toKept({ login, name }: ReadingName): KeptName {
  const part = hashSecret(login.secret ?? '')
  const owner = login.userId ?? part
  return { key: `reading:{${owner}}:${part}:${name}`, owner, part }
}
