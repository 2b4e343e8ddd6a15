/**
 * Where a person probably has their bank: the region of the browser's language, else the country of their own
 * time zone. A guess: it only orders what is offered. Pure.
 */

/** Countries that a zone alone tells; a zone of another country tells nothing here. */
const countriesByZone: readonly (readonly [RegExp, string])[] = [
  [/^Australia\//, 'AU'],
  [/^(?:Pacific\/(?:Auckland|Chatham)|NZ)/, 'NZ'],
  [/^(?:Canada\/|America\/(?:Toronto|Vancouver|Edmonton|Winnipeg|Halifax|St_Johns|Regina)$)/, 'CA'],
  [/^(?:US\/|America\/(?:New_York|Chicago|Denver|Los_Angeles|Phoenix|Detroit|Anchorage)$)/, 'US'],
]

/** @returns ISO 3166-1 alpha-2; null: nothing tells. */
export function guessCountry(
  acceptLanguage: string | undefined,
  timezone: string | null,
): string | null {
  const [first = ''] = (acceptLanguage ?? '').split(',', 1)
  const region = /^[a-z]{2,3}(?:-[a-z]{4})?-([a-z]{2})(?:;|$)/i.exec(first.trim())?.[1]
  // English of the United States is the language of many browsers elsewhere: a zone knows better.
  const zoned = countriesByZone.find(([zone]) => zone.test(timezone ?? ''))?.[1] ?? null
  if (region === undefined || region.toUpperCase() === 'US')
    return zoned ?? region?.toUpperCase() ?? null
  return region.toUpperCase()
}
