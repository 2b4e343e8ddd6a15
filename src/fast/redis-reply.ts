/**
 * Validates the replies of our own Lua scripts. A reply of another shape comes from a foreign script or key:
 * these functions throw, and the link falls back to memory.
 */

/** Reads two numbers. @throws Error for another reply. */
export function readPair(reply: unknown): [number, number] {
  const [first, second] = readNumbers(reply)
  if (first === undefined || second === undefined)
    throw new Error('the reply of a script is too short')
  return [first, second]
}

/** Reads three numbers. @throws Error for another reply. */
export function readTriple(reply: unknown): [number, number, number] {
  const [first, second, third] = readNumbers(reply)
  if (first === undefined || second === undefined || third === undefined) {
    throw new Error('the reply of a script is too short')
  }
  return [first, second, third]
}

/** The first number of a reply of a script that looks into the cache. */
export const replies = {
  refused: 0,
  full: 1,
  counted: 2,
  miss: 3,
  same: 4,
  found: 5,
  unsure: 6,
} as const

/** The names that one script uses. */
const mostKeys = 4

/** The reply of a script that looks into the cache (redis-cache.ts). */
export interface LookReply {
  /** One of `replies`. */
  readonly kind: number
  readonly count: number
  readonly leftMs: number
  /** How many foreign values the script deleted. */
  readonly foreign: number
  readonly items: readonly unknown[]
}

/** Reads such a reply. @throws Error for another one. */
export function readReply(reply: unknown): LookReply {
  if (!Array.isArray(reply)) throw new Error('the reply of a script is not a list')
  const items: readonly unknown[] = reply
  const [kind, count, leftMs, foreign] = readNumbers(items.slice(0, 4))
  if (kind === undefined || count === undefined || leftMs === undefined || foreign === undefined) {
    throw new Error('the reply of a script is too short')
  }
  // Each is reported, so their number decides how long that takes.
  if (foreign < 0 || foreign > mostKeys) throw new Error('a script cannot have deleted so much')
  return { kind, count, leftMs, foreign, items }
}

function readNumbers(reply: unknown): number[] {
  if (!Array.isArray(reply)) throw new Error('the reply of a script is not a list')
  return reply.map((item: unknown) => {
    if (typeof item !== 'number') throw new Error('the reply of a script is not a number')
    return item
  })
}
