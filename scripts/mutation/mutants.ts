/**
 * The mutants of one file: every small mistake that a developer could make in it, one at a time. Boundaries,
 * operators, constants, conditions, patterns and omitted statements; invalid programs are dropped.
 */
import { stripTypeScriptTypes } from 'node:module'
import { readTokens, type Token } from './tokens.ts'

export interface Mutant {
  readonly line: number
  /** A readable description of the change. */
  readonly change: string
  readonly source: string
}

interface Change {
  readonly at: number
  readonly length: number
  readonly text: string
}

const signs: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '+=': ['-='],
  '-=': ['+='],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '!': [''],
  '?.': ['.'],
}
const names: Readonly<Record<string, string>> = {
  true: 'false',
  false: 'true',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  some: 'every',
  every: 'some',
  toUpperCase: 'toLowerCase',
  padStart: 'padEnd',
  startsWith: 'endsWith',
}

/** All valid mutants of a source text, in its order. */
export function makeMutants(source: string): readonly Mutant[] {
  const tokens = readTokens(source)
  const changes = [
    ...tokens.flatMap((token, index) => changesOf(token, tokens[index - 1])),
    ...conditionChanges(tokens),
    ...leftOut(source, tokens),
  ]
  return changes
    .toSorted((left, right) => left.at - right.at)
    .map((change) => apply(source, change))
    .filter((mutant) => isProgram(mutant.source))
}

function changesOf(token: Token, before: Token | undefined): readonly Change[] {
  const to = (texts: readonly string[]) =>
    texts.map((text) => ({ at: token.at, length: token.text.length, text }))
  switch (token.kind) {
    case 'sign':
      return to(signs[token.text] ?? [])
    case 'name': {
      const other = Object.hasOwn(names, token.text) ? names[token.text] : undefined
      return other === undefined ? [] : to([other])
    }
    case 'number':
      return to([oneMore(token.text)])
    case 'string':
      // A module's name is not a value.
      return before?.text === 'from' ? [] : to([token.text === "''" ? "'mutant'" : "''"])
    case 'template':
      return to(['``'])
    case 'regexp':
      return to(patternMutants(token.text))
  }
}

function oneMore(text: string): string {
  const plain = text.replaceAll('_', '')
  if (plain.endsWith('n')) return `${BigInt(plain.slice(0, -1)) + 1n}n`
  return String(Number(plain) + 1)
}

function patternMutants(text: string): readonly string[] {
  const changed = [
    text.replace(/^\/\^/, '/'),
    text.replace(/\$(\/[a-z]*)$/, '$1'),
    text.replace(/\\d/, '\\D'),
    text.replace(/\?(?!:)/, ''),
    text.replace(/(?<=[\w)\]])\+/, ''),
    text.replace(/(?<=[\w)\]])\*/, '+'),
    text.replace(/i$/, ''),
  ]
  return [...new Set(changed)].filter((one) => one !== text && !one.startsWith('//'))
}

/** The whole condition of an `if` or `while` on one line. */
function conditionChanges(tokens: readonly Token[]): readonly Change[] {
  return tokens.flatMap((token, index) => {
    if (token.text !== 'if' && token.text !== 'while') return []
    let depth = 0
    for (const end of tokens.slice(index + 1)) {
      if (end.text === '(') depth += 1
      if (end.text === ')') depth -= 1
      if (depth > 0) continue
      const from = (tokens[index + 1]?.at ?? 0) + 1
      const texts = token.text === 'if' ? ['true', 'false'] : ['false']
      return texts.map((text) => ({ at: from, length: end.at - from, text }))
    }
    return []
  })
}

const statement =
  /^ +(?:[\w.]+(?:\([^)]*\))?(?:\.\w+)*(?:\(.*\)| [-+*/?&|]*= .+)|(?:break|continue|return))$/

/** Omits one-line statements that have an effect: assignments and calls. */
function leftOut(source: string, tokens: readonly Token[]): readonly Change[] {
  const starts = new Set(tokens.map((token) => token.at))
  const lines = source.split('\n')
  let at = 0
  return lines.flatMap((line, index) => {
    const from = at + line.length - line.trimStart().length
    at += line.length + 1
    const next = lines[index + 1]?.trimStart() ?? ''
    if (!statement.test(line) || !starts.has(from) || /^[.?:&|+*=-]/.test(next)) return []
    const ahead = lines[index - 1]?.trimEnd() ?? ''
    if (!/[{}\])\w'`;/]$/.test(ahead) || /^\s*return$/.test(ahead)) return []
    return [{ at: from, length: line.trimStart().length, text: '' }]
  })
}

function apply(source: string, { at, length, text }: Change): Mutant {
  const from = source.slice(at, at + length)
  return {
    line: source.slice(0, at).split('\n').length,
    change: `${from.replace(/\s+/g, ' ')} → ${text === '' ? '(nothing)' : text}`,
    source: source.slice(0, at) + text + source.slice(at + length),
  }
}

function isProgram(source: string): boolean {
  try {
    stripTypeScriptTypes(source)
    return true
  } catch {
    return false
  }
}
