/** Texts from a provider as they are stored and shown. */

/**
 * Without control characters, which PostgreSQL does not take in part (U+0000), and without lone surrogates.
 */
export function toShownText(text: string): string {
  return text.toWellFormed().replace(/\p{Cc}+/gu, ' ')
}

/** Names of accounts and institutions are stored and shown up to this length, in UTF-16 code units. */
export const longestName = 200
/** The text of a row likewise; what identifies the row (reading R37) is cut in the same way. */
export const longestRowText = 2048

/** The beginning of a text, in whole characters and without lone surrogates. */
export function cutText(text: string, longest: number): string {
  if (text.length <= longest) return text.toWellFormed()
  // A pair of surrogates that the cut would part is left out.
  const isWithin = (text.codePointAt(longest - 1) ?? 0) <= 0xffff
  return text.slice(0, isWithin ? longest : longest - 1).toWellFormed()
}
