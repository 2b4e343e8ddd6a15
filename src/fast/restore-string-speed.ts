/**
 * Undoes a slowdown by classes derived from String (ioredis 6 has one): V8 then switches `String.prototype`
 * to its slow mode until something is looked up through an object whose prototype it is, which does not
 * happen for plain strings. Until then every `charCodeAt` or `slice` in the process takes four times as long.
 */

/** V8 reacts only to repeated look-ups; a few dozen are enough. */
const lookUps = 1000

/** Switches `String.prototype` back to V8's fast mode; takes microseconds and changes nothing else. */
export function restoreStringSpeed(): void {
  const heir: { readonly charCodeAt?: unknown } = Object.create(String.prototype)
  for (let count = 0; count < lookUps; count += 1) void heir.charCodeAt
}
