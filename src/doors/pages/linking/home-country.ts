/**
 * Where a person probably has their bank: the region of the browser's language, else the country of their own
 * time zone. A guess: it only orders what is offered. Pure.
 */
import { factsOf, providerNames } from '#providers/all-facts.ts'

/** The countries that providers are for, by their zones (CLDR, as the runtime has it). */
const countriesByZone: ReadonlyMap<string, string> = new Map(
  providerNames.flatMap((provider) =>
    (factsOf(provider).countries ?? []).flatMap((country) =>
      listZones(country).map((zone) => [zone, country] as const),
    ),
  ),
)

function listZones(region: string): readonly string[] {
  return new Intl.Locale('und', { region }).getTimeZones?.() ?? []
}

/** Aliases of zones count too; null: no zone, or one of a country without providers. */
function countryOfZone(timezone: string | null): string | null {
  if (timezone === null) return null
  const known = countriesByZone.get(timezone)
  if (known !== undefined) return known
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions()
    return countriesByZone.get(timeZone) ?? null
  } catch {
    // Ignore zones this runtime does not know.
    return null
  }
}

/** @returns ISO 3166-1 alpha-2; null if the country cannot be guessed. */
export function guessCountry(
  acceptLanguage: string | undefined,
  timezone: string | null,
): string | null {
  const [first = ''] = (acceptLanguage ?? '').split(',', 1)
  const region = /^[a-z]{2,3}(?:-[a-z]{4})?-([a-z]{2})(?:;|$)/i.exec(first.trim())?.[1]
  // Many browsers outside the United States have en-US too, so the time zone takes precedence.
  const zoned = countryOfZone(timezone)
  if (region === undefined || region.toUpperCase() === 'US')
    return zoned ?? region?.toUpperCase() ?? null
  return region.toUpperCase()
}
