/**
 * Ids of stored rows: a hash of the value that the other side holds, so that a copy of the database cannot be
 * used to redeem anything. The values have at least 128 random bits, so a plain hash is enough.
 */
import { createHash } from 'node:crypto'

/** SHA-256 of the model's name and the value: a code can never be found as a token. */
export function toRowId(model: string, value: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(`${model}:${value}`).digest())
}
