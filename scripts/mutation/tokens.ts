/**
 * Splits one of our TypeScript files into tokens with their positions, types left out. Enough for mutation
 * testing of plain modules; it is not a parser, and relies on the formatter's style.
 */
import { stripTypeScriptTypes } from 'node:module'

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'template' | 'regexp' | 'sign'
  readonly text: string
  /** Its offset in the source. */
  readonly at: number
}

const patterns: readonly (readonly [Token['kind'] | 'space', RegExp])[] = [
  ['space', /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y],
  ['name', /[A-Za-z_$][\w$]*/y],
  ['number', /\d[\d_]*(?:\.\d+)?n?/y],
  ['string', /'(?:[^'\\\n]|\\.)*'/y],
  ['template', /`(?:[^`\\]|\\.)*`/y],
  ['regexp', /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y],
  ['sign', /=>|===|!==|<=|>=|&&|\|\||\?\?=?|\?\.|\*\*|\.\.\.|[-+*/%]=|[^\s\w]/y],
]
/** After these a slash begins a pattern; after anything else it divides. */
const beforePattern = /^(?:[(,=:[!&|?{};]|=>|&&|\|\||\?\?|return)$/

/** The tokens of a file in order; throws at a character that it does not know. */
export function readTokens(source: string): readonly Token[] {
  const code = stripTypeScriptTypes(source)
  if (code.length !== source.length) throw new Error('types were not replaced by blanks')
  const tokens: Token[] = []
  for (let at = 0; at < code.length; ) {
    const before = tokens.at(-1)?.text ?? ';'
    const found = patterns
      .filter(([kind]) => kind !== 'regexp' || beforePattern.test(before))
      .map(([kind, pattern]) => ({ kind, text: match(pattern, code, at) }))
      .find(({ text }) => text !== null)
    if (found === undefined || found.text === null) throw new Error(`unreadable at ${at}`)
    if (found.kind !== 'space') tokens.push({ kind: found.kind, text: found.text, at })
    at += found.text.length
  }
  return tokens
}

function match(pattern: RegExp, code: string, at: number): string | null {
  pattern.lastIndex = at
  return pattern.exec(code)?.[0] ?? null
}
