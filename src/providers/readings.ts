/**
 * What was read of a provider that allows only a daily number of calls (reading R36): one reading serves
 * every read of its data until it is too old. Of all processes one reads at a time, and the others wait for
 * what it brings. A reading that is on its way goes on when its caller has left, for the next one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LeaseStore } from '#fast/port.ts'
import type { Millis } from '#kernel/time.ts'
import { type KeptOptions, type KeptReading, openKeptReadings } from './kept-readings.ts'
import type { CallContext, Login } from './login.ts'

/** Which reading: `name` says what of the login it has, and `maxAgeMs` how old it may be. */
export interface ReadingName {
  readonly name: string
  readonly login: Pick<Login, 'id' | 'version'>
  readonly maxAgeMs: number
}

export interface ReadingRequest extends ReadingName {
  /** With a person, what is kept is not new enough: their press reads again. */
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
  /** Ends what is on its way, and resolves once it has ended. */
  close(): Promise<void>
}

export interface ReadingsOptions extends KeptOptions {
  readonly leases: LeaseStore
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
  const { clock, leases, onLateFailure } = options
  const kept = openKeptReadings(options)
  const flights = new Map<string, Flight>()
  const closing = new AbortController()

  async function fly(
    key: string,
    oldest: Millis,
    { call, maxAgeMs, read }: ReadingRequest,
  ): Promise<KeptReading | null> {
    const { lease } = await leases.acquire(key, 1)
    if (lease === null) return null
    try {
      // Another process may have read since this one looked.
      const found = call.person === undefined ? await kept.find(key, oldest) : null
      if (found !== null) return found
      const readAt = clock.now()
      const reading = { body: await read({ ...call, signal: closing.signal }), readAt }
      await kept.keep(key, reading, maxAgeMs)
      return reading
    } finally {
      await lease.release()
    }
  }

  function begin(key: string, oldest: Millis, asked: ReadingRequest): Flight {
    const flight: Flight = { reading: fly(key, oldest, asked), waiting: 0 }
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
    const key = toKey(asked)
    const isPress = call.person !== undefined
    const oldest = clock.now() - (isPress ? 0 : maxAgeMs)
    for (let waits = 0; ; waits += 1) {
      call.signal.throwIfAborted()
      // What another process read while a press waited for it is as new as the press.
      const found = isPress && waits === 0 ? null : await kept.find(key, oldest)
      if (found !== null) return found
      call.signal.throwIfAborted()
      const flight = flights.get(key) ?? begin(key, oldest, asked)
      const brought = await join(flight, call.signal)
      if (brought !== null) return brought
      await sleep(lookEveryMs, undefined, { signal: call.signal }).catch(() => {
        throw call.signal.reason
      })
    }
  }

  return {
    get,
    peek: (name) => kept.find(toKey(name), clock.now() - name.maxAgeMs),
    async close() {
      closing.abort(new DOMException('the process is stopping', 'AbortError'))
      await Promise.allSettled([...flights.values()].map(({ reading }) => reading))
      kept.clear()
    },
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

/** Readings of earlier credentials are never found again. */
const toKey = ({ login, name }: ReadingName) => `reading:{${login.id}}:${login.version}:${name}`
