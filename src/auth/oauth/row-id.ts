/**
 * Names of rows at rest: a hash of what the other side holds, so that a copy of the database redeems nothing. The
 * values are random with 128 bits and more, so a plain hash is enough.
 */
import { createHash } from 'node:crypto'

/** SHA-256 of the model's name and the value: a code can never be found as a token. */
export function toRowId(model: string, value: string): Uint8Array {
  return new Uint8Array(createHash('sha256').update(`${model}:${value}`).digest())
}
