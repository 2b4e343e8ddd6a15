/**
 * Validates the replies of our own Lua scripts. A reply of another shape comes from a foreign script or key: these
 * functions throw, and the link falls back to memory.
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

function readNumbers(reply: unknown): number[] {
  if (!Array.isArray(reply)) throw new Error('the reply of a script is not a list')
  return reply.map((item: unknown) => {
    if (typeof item !== 'number') throw new Error('the reply of a script is not a number')
    return item
  })
}
