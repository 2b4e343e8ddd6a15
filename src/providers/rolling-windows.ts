/**
 * Windows that begin with every call: in no time of their length are more calls than the limit, wherever it
 * begins. Each call takes one of as many places as the limit has, for the length of the window. The window
 * that begins with the first call is counted as well: it is never stricter, and the processes share it out
 * while fast state is unavailable.
 */
import type { WindowKey, WindowState, WindowStore } from '#fast/port.ts'

export type CallWindows = Pick<WindowStore, 'take' | 'peek'>

const toPlaces = (key: WindowKey, limit: number): readonly WindowKey[] =>
  Array.from({ length: limit }, (_place, index): WindowKey => `${key}:${index}`)

/** Windows on top of those of the store, in which each call ends alone. */
export function makeRollingWindows(windows: WindowStore): CallWindows {
  async function peek(key: WindowKey, limit: number, windowMs: number): Promise<WindowState> {
    const whole = await windows.peek(key, limit, windowMs)
    const places = await Promise.all(
      toPlaces(key, limit).map((place) => windows.peek(place, 1, windowMs)),
    )
    const taken = places.filter(({ allowed }) => !allowed)
    const remaining = Math.min(limit - taken.length, whole.remaining)
    const resetMs =
      taken.length === 0 ? whole.resetMs : Math.min(...taken.map((place) => place.resetMs))
    return { allowed: remaining > 0, limit: whole.limit, remaining, resetMs }
  }

  return {
    peek,
    async take(key, limit, windowMs) {
      for (const place of toPlaces(key, limit)) {
        const { allowed } = await windows.take(place, 1, windowMs)
        if (!allowed) continue
        const whole = await windows.take(key, limit, windowMs)
        if (!whole.allowed) await windows.giveBack(place, 1, windowMs)
        return whole
      }
      return { ...(await peek(key, limit, windowMs)), allowed: false, remaining: 0 }
    },
  }
}
