/**
 * Names for requests: they find a line in the log, they guard nothing. One name costs a hundredth of a random UUID,
 * which was three per cent of a cached answer.
 */
import { randomUUID } from 'node:crypto'

const bytes = Array.from({ length: 256 }, (_, value) => value.toString(16).padStart(2, '0'))
/** Odd, so that every count has a place of its own among the 32 bits; scattered, so that no id tells the traffic. */
const scatter = 0x9e3779b1
const lastCount = 2 ** 32 - 1

/** Makes ids in the form of a UUID: 90 random bits, drawn anew after 2³² ids, behind a number. */
export function makeRequestIds(): () => string {
  let stem = ''
  let count = lastCount
  return () => {
    if (count === lastCount) {
      stem = randomUUID().slice(8)
      count = 0
    }
    count += 1
    const bits = Math.imul(count, scatter)
    const upper = `${bytes[bits >>> 24]}${bytes[(bits >>> 16) & 255]}`
    return `${upper}${bytes[(bits >>> 8) & 255]}${bytes[bits & 255]}${stem}`
  }
}
