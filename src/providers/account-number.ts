/**
 * Account numbers inside the names of accounts: some people, banks and brokers call an account by its number. There too
 * only the mask is shown (specification, Account: "always masked"). What a number looks like is each provider's own.
 */

const separators = '[\\s.-]*'
/** Longer than any account number there is: beyond it the pattern would only cost. */
const maxCharacters = 64

/** The name with every spelling of `number` in it, with blanks, dots and dashes or without, replaced by `mask`. */
export function hideNumber(name: string, number: string, mask: string | null): string {
  const characters = number.replace(/[^0-9A-Za-z]/g, '')
  if (characters.length <= 4 || characters.length > maxCharacters) return name
  return name.replace(new RegExp([...characters].join(separators), 'gi'), mask ?? 'xxxx')
}
