/**
 * A bounded memory of what was computed for a text that clients repeat. Looking up costs one map access,
 * where a list in the order of use would also be rewritten each time; in return, what it forgets is only
 * roughly what was unused longest.
 */

export interface Recent<Value> {
  get(key: string): Value | undefined
  set(key: string, value: Value): void
  /** Never above the bound. */
  readonly size: number
}

/** Remembers at most `max` values (at least 2); always the last `max / 2` that were set or used. */
export function makeRecent<Value>(max: number): Recent<Value> {
  const half = Math.floor(max / 2)
  let young = new Map<string, Value>()
  let old = new Map<string, Value>()

  function set(key: string, value: Value): void {
    if (young.size >= half && !young.has(key)) {
      old = young
      young = new Map()
    }
    young.set(key, value)
    old.delete(key)
  }

  return {
    get(key) {
      const value = young.get(key)
      if (value !== undefined) return value
      const earlier = old.get(key)
      if (earlier !== undefined) set(key, earlier)
      return earlier
    },
    set,
    get size() {
      return young.size + old.size
    },
  }
}
