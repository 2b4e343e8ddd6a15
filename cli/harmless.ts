/** Texts from elsewhere made fit for a terminal: they must not command it. */

/** Without control characters and without those that turn the direction of writing. */
export function harmless(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '?')
}
