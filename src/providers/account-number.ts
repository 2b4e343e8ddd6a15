/**
 * Masks account numbers in the names of accounts and institutions, because some people, banks and brokers use
 * the number as the name (contract, Account: "always masked"). The adapter knows which numbers its provider
 * gave; the kernel knows the shapes of numbers.
 */
import { hideAccountNumber, hideNumberShapes } from '#kernel/account-numbers.ts'

/** A number given by the provider, and its replacement; null: replaced completely. */
export interface GivenNumber {
  readonly number: string | null | undefined
  readonly mask: string | null
}

/** The name without these numbers in any spelling, and without anything shaped like an account number. */
export function hideNumbers(name: string, given: readonly GivenNumber[]): string {
  const own = given.reduce(
    (shown, { number, mask }) => (number ? hideAccountNumber(shown, number, mask) : shown),
    name,
  )
  return hideNumberShapes(own)
}
