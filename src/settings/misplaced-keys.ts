/** Finds variables with the key of another provider, or a key in quotes: neither is ever sent anywhere. */
import { factsOf, providerNames } from '#providers/all-facts.ts'
import { describeWrongKey } from '#providers/misplaced-key.ts'

/** One line per variable. @param read the text of a variable; empty: it is not set. */
export function findMisplacedKeys(read: (name: string) => string): string[] {
  return providerNames.flatMap((provider) => {
    const { name, settings } = factsOf(provider)
    return Object.entries({ ...settings.required, ...settings.optional }).flatMap(
      ([field, variable]) => {
        const text = read(variable)
        const what = text === '' ? null : describeWrongKey(provider, field, text)
        return what === null ? [] : [`${variable}: got ${what}, should be that of ${name}, alone`]
      },
    )
  })
}
