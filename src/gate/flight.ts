/**
 * Identical requests in flight share one computation (reading R22). A caller that disconnects stops waiting;
 * when the last one has left, the computation and its provider call are aborted. A computation that exceeds
 * the time limit of one request ends with a TimeoutError (reading R20c).
 */

interface Flight<T> {
  readonly result: Promise<T>
  readonly abandon: AbortController
  waiting: number
}

export interface Flights<T> {
  /**
   * Joins the computation under this key, or starts it. Rejects with the signal's reason when the caller
   * leaves.
   */
  join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T>
}

export function makeFlights<T>(timeoutMs: number): Flights<T> {
  const flights = new Map<string, Flight<T>>()

  function launch(key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const abandon = new AbortController()
    const timer = setTimeout(
      () => abandon.abort(new DOMException('the request took too long', 'TimeoutError')),
      timeoutMs,
    )
    const ended = new Promise<never>((_resolve, reject) => {
      abandon.signal.addEventListener('abort', () => reject(abandon.signal.reason), { once: true })
    })
    const flight: Flight<T> = {
      result: Promise.race([start(abandon.signal), ended]).finally(() => {
        clearTimeout(timer)
        if (flights.get(key) === flight) flights.delete(key)
      }),
      abandon,
      waiting: 0,
    }
    // All waiters may have left: without this handler a failure would be an unhandled rejection.
    flight.result.catch(() => undefined)
    flights.set(key, flight)
    return flight
  }

  async function join(
    key: string,
    signal: AbortSignal,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted()
    const flight = flights.get(key) ?? launch(key, start)
    flight.waiting += 1
    let leave: () => void = () => undefined
    const left = new Promise<never>((_resolve, reject) => {
      leave = () => reject(signal.reason)
      signal.addEventListener('abort', leave, { once: true })
    })
    try {
      return await Promise.race([flight.result, left])
    } finally {
      signal.removeEventListener('abort', leave)
      flight.waiting -= 1
      if (flight.waiting === 0 && signal.aborted) {
        // A new request must not join a computation that is being aborted.
        if (flights.get(key) === flight) flights.delete(key)
        // The callers' own time may have been short: their leaving says nothing of the provider.
        flight.abandon.abort(new DOMException('no caller waits any more', 'AbortError'))
      }
    }
  }

  return { join }
}
