/**
 * Request ids: they identify a line in the log and have no security purpose. One id costs a hundredth of a
 * random UUID, which took three per cent of a cached answer's time.
 */
import { randomUUID } from 'node:crypto'

const bytes = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))
/** Odd: 65,536 counts give as many values. Large: consecutive ids do not show the request rate. */
const scatter = 0x9e37
const perStem = 2 ** 16

/** Makes ids in UUID format: a 16-bit counter and 106 random bits, which are renewed after 65,536 ids. */
export function makeRequestIds(): () => string {
  let stem = ''
  let count = perStem
  return () => {
    if (count === perStem) {
      stem = randomUUID().slice(4)
      count = 0
    }
    count += 1
    // The results of `*` would outgrow the integers of the engine.
    const bits = Math.imul(count, scatter) & 0xffff
    return (bytes[bits >>> 8] ?? '') + (bytes[bits & 255] ?? '') + stem
  }
}
