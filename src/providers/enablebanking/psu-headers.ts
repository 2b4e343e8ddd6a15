/**
 * What is told to a bank of the person who pressed a button on our pages just now; a bank calls them the PSU
 * (docs/providers/enable-banking.md, Limits). It is a statement that somebody is present: only their own
 * browser's headers are sent, and nothing is made up. Pure.
 */
import type { CallContext } from '../port.ts'

/** By the browser's own names. */
const names: Readonly<Record<string, string>> = {
  'user-agent': 'psu-user-agent',
  referer: 'psu-referer',
  accept: 'psu-accept',
  'accept-charset': 'psu-accept-charset',
  'accept-encoding': 'psu-accept-encoding',
  'accept-language': 'psu-accept-language',
}

export type PsuHeaders = Readonly<Record<string, string>>

/**
 * @param required by the bank, in lower case: all of them are sent, or none.
 * @returns null: nobody is present, or their browser did not send all that the bank requires.
 */
export function toPsuHeaders(
  { person }: Pick<CallContext, 'person'>,
  required: readonly string[],
): PsuHeaders | null {
  if (person === undefined) return null
  const told = Object.entries(names).flatMap(([own, theirs]): [string, string][] => {
    const value = person.headers[own]
    return value === undefined || !/^[\x20-\x7e]+$/.test(value) ? [] : [[theirs, value]]
  })
  const headers: PsuHeaders = { 'psu-ip-address': person.address, ...Object.fromEntries(told) }
  return required.every((name) => Object.hasOwn(headers, name)) ? headers : null
}
