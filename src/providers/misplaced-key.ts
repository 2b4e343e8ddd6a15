/**
 * Tells without a call what cannot be a key of a provider: a key of another one or of ours, which must not be
 * sent there, or a value in quotes. The providers' facts say how their keys begin. No text is ever repeated.
 */
import type { Provider } from '#contract/resources.ts'
import { factsOf, providerNames } from './all-facts.ts'

const quote = /^["'`“”‘’„«»]|["'`“”‘’„«»]$/

/** What the text is; null: it may be a key of this provider. */
export function describeMisplaced(provider: Provider, text: string): string | null {
  if (quote.test(text)) return 'a value in quotes'
  if (text.startsWith('trib_')) return 'a key of Tributary itself, which begins with "trib_"'
  for (const other of providerNames.filter((name) => name !== provider)) {
    const start = listStarts(other).find((one) => text.startsWith(one))
    if (start !== undefined) return `a key of ${factsOf(other).name}, which begins with "${start}"`
  }
  return null
}

const listStarts = (provider: Provider): readonly string[] =>
  Object.values(factsOf(provider).linkFields).flatMap(({ begins }) => begins ?? [])

/** As `describeMisplaced`, for a field of the provider whose keys may have a beginning of their own. */
export function describeWrongKey(provider: Provider, field: string, text: string): string | null {
  const misplaced = describeMisplaced(provider, text)
  if (misplaced !== null) return misplaced
  const { name, linkFields } = factsOf(provider)
  const begins = linkFields[field]?.begins
  if (begins?.some((start) => text.startsWith(start))) return null
  const ofOther = listStarts(provider).find((start) => text.startsWith(start))
  if (begins === undefined)
    return ofOther === undefined ? null : `another key of ${name}, which begins with "${ofOther}"`
  return `a value that does not begin with "${begins[0]}" as this key of ${name} does`
}
