/** The default branch of every exhaustive switch: a missing case does not compile, another value throws. */

/** Throws for a value that the types rule out. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
