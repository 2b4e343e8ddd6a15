/**
 * The default branch of every exhaustive switch: the compiler reports a missing case, and at run time an
 * impossible value throws.
 */

/** Throws for a value that the types rule out. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
