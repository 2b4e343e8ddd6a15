/** Names from a provider as they are stored and shown. */

/**
 * Without control characters, which PostgreSQL does not take in part (U+0000), and without lone surrogates.
 */
export function toShownText(text: string): string {
  return text.toWellFormed().replace(/\p{Cc}+/gu, ' ')
}
