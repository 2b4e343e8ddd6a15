/** Makes text from outside safe for a terminal, which control characters could otherwise control. */

/** Removes control characters and characters that change the direction of writing. */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '?')
}
