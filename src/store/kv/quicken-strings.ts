/**
 * Mends what a class derived from String leaves behind (ioredis 6 has one): deriving turns `String.prototype` into V8's
 * slow form, and so it stays until somebody looks something up through an object, which strings themselves are not.
 * Until then every `charCodeAt` or `slice` of the whole process costs four times as much.
 */

/** V8 notices only a look-up that comes again and again; some dozens are enough. */
const lookUps = 1000

/** Turns `String.prototype` back into its quick form; it takes microseconds and changes nothing else. */
export function quickenStrings(): void {
  const heir: { readonly charCodeAt?: unknown } = Object.create(String.prototype)
  for (let count = 0; count < lookUps; count += 1) void heir.charCodeAt
}
