/** HTML with automatic escaping: every value put into `html` is escaped, except results of `html` itself. */

/** Finished HTML; only `html` creates it. */
export class Html {
  readonly #text: string
  constructor(text: string, permit: symbol) {
    if (permit !== made) throw new Error('Html is made by the html template tag')
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

const made = Symbol('made by html')

export type HtmlValue = string | number | Html | null | false | undefined | readonly HtmlValue[]

/** The template tag. Null, undefined and false render nothing; a list renders its items in order. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? ''
  for (const [index, value] of values.entries()) text += render(value) + (strings[index + 1] ?? '')
  return new Html(text, made)
}

/** HTML that was made from a document of this repository; never from text of outside. */
export function ownHtml(text: string): Html {
  return new Html(text, made)
}

function render(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (typeof value === 'object') return value.map(render).join('')
  return escapeHtml(String(value))
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => escapes[character] ?? '')
}

/** A joiner between letters or emoji as its first group; or else a character that shows nothing. */
const joinersAndInvisibles = new RegExp(
  [
    String.raw`((?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])(?:\u200c|\u200d)(?=[\p{L}\p{Extended_Pictographic}]))`,
    String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]`,
  ].join('|'),
  'gu',
)

/**
 * Text from outside, e.g. an agent's own name: one line, bounded, control and bidirectional characters made
 * visible, so that a name cannot change the sentence around it. Joiners stay where they join letters or
 * emoji: Persian and Indic names and emoji of families need them (Unicode, UAX #31 2.3).
 */
export function foreignText(text: string, maxLength = 80): string {
  const visible = text.replace(
    joinersAndInvisibles,
    (character: string, joiner: string | undefined) =>
      joiner ?? `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  )
  const characters = [...visible]
  return characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : visible
}
