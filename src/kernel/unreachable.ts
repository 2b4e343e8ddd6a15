/**
 * The end of every exhaustive switch: the compiler names the case that was forgotten, and at run time a value that
 * should not exist fails loudly instead of falling through.
 */

/** Throws for a value that the types say cannot be there. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
