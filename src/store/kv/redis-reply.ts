/**
 * Reads what our own Lua scripts answer. A reply of another shape is somebody else's script or key: it throws, and the
 * link lets memory stand in.
 */

/** Two numbers of a script's reply. */
export function readPair(reply: unknown): [number, number] {
  const [first, second] = readNumbers(reply)
  if (first === undefined || second === undefined) throw new Error('a script answered too little')
  return [first, second]
}

/** Three numbers of a script's reply. */
export function readTriple(reply: unknown): [number, number, number] {
  const [first, second, third] = readNumbers(reply)
  if (first === undefined || second === undefined || third === undefined) {
    throw new Error('a script answered too little')
  }
  return [first, second, third]
}

function readNumbers(reply: unknown): number[] {
  if (!Array.isArray(reply)) throw new Error('a script answered no list')
  return reply.map((item: unknown) => {
    if (typeof item !== 'number') throw new Error('a script answered no number')
    return item
  })
}
