/**
 * Names: a word that means one thing is not exported for another (docs/glossary.md), and one file alone
 * exports a name.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeFiles, isTest, readText } from './tree.ts'

interface Rule {
  readonly word: string
  readonly instead: string
  /** Rooms by their name, files and folders by their path; a name may contain the word there. */
  readonly places: readonly string[]
}

interface ExportedName {
  readonly path: string
  readonly name: string
}

const glossary = readText('docs/glossary.md')
const [meanings = '', names = ''] = glossary.split('\n## ')

/** The rows of a Markdown table, without its head. */
function readTable(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

const terms = readTable(meanings).map(([term = '']) => term)
const rules: readonly Rule[] = readTable(names).map(([word = '', instead = '', places = '']) => ({
  word,
  instead,
  places: [...places.matchAll(/`([^`]+)`/g)].map(([, place = '']) => place),
}))

const declaration =
  /^export (?:default )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let) (\w+)/gm
const list = /^export (?:type )?\{([^}]*)\}/gm
const destructured = /^export (?:const|let) [{[]([^}\]]*)[}\]]/gm
const space = /^export \* as (\w+)/gm

/** What a file declares and exports. */
function listDeclarations(text: string): string[] {
  return [...text.matchAll(declaration)].map(([, name = '']) => name)
}

/** What a file exports under a name, its re-exports included. */
function listExports(text: string): string[] {
  const declared = listDeclarations(text)
  const listed = [...text.matchAll(list), ...text.matchAll(destructured)].flatMap(
    ([, inner = '']) =>
      inner
        .split(',')
        .map((one) => /(\w+)\s*$/.exec(one)?.[1] ?? '')
        .filter((name) => name !== ''),
  )
  const spaces = [...text.matchAll(space)].map(([, name = '']) => name)
  return [...declared, ...listed, ...spaces]
}

/** `makeRedisLinks` → make, redis, links; `HTTPServer` → http, server. */
function toWords(name: string): string[] {
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  return words.map((word) => word.toLowerCase())
}

/** Whether a path is in a room, or below a place that is itself a path. */
function isAt(path: string, place: string): boolean {
  if (place.includes('/')) return path.startsWith(place)
  return path.startsWith(`src/${place}/`) || path.startsWith(`${place}/`)
}

function findStrays(exported: readonly ExportedName[], table: readonly Rule[]): string[] {
  return exported.flatMap(({ path, name }) => {
    const words = new Set(toWords(name))
    return table
      .filter(({ word }) => words.has(word) || words.has(`${word}s`))
      .filter(({ places }) => !places.some((place) => isAt(path, place)))
      .map(({ word, instead }) => `${path}: ${name} (not ${word}: ${instead})`)
  })
}

const exported = codeFiles
  .filter((path) => /^(?:src|sandbox|cli)\//.test(path) && !isTest(path))
  .flatMap((path) => listExports(readText(path)).map((name) => ({ path, name })))

test('every exported name uses the words of the glossary for what they mean', () => {
  assert.ok(exported.length > 500)
  assert.ok(rules.length > 10)
  assert.deepEqual(findStrays(exported, rules), [])
})

test('a stray word is found in each form of an export, and nothing else is', () => {
  const text = [
    'export type { LinksReport, Other as RedisLink } from "./a.ts"',
    'export async function linkUp() {}',
    'export const { a: linkName, b } = c',
    'export * as links from "./d.ts"',
    'export const blinking = 1',
    'const link = 2',
  ].join('\n')
  const at = (path: string) => listExports(text).map((name) => ({ path, name }))
  const table = [{ word: 'link', instead: 'connection', places: ['kv', 'src/a/link.ts'] }]
  assert.deepEqual(findStrays(at('src/a/b.ts'), table), [
    'src/a/b.ts: linkUp (not link: connection)',
    'src/a/b.ts: LinksReport (not link: connection)',
    'src/a/b.ts: RedisLink (not link: connection)',
    'src/a/b.ts: linkName (not link: connection)',
    'src/a/b.ts: links (not link: connection)',
  ])
  assert.deepEqual(findStrays(at('src/a/link.ts'), table), [])
  assert.deepEqual(findStrays(at('src/kv/b.ts'), table), [])
})

test('the glossary has each word once, in order, and explains what it sends to', () => {
  for (const words of [terms, rules.map(({ word }) => word)]) {
    const sorted = [...new Set(words)].sort((a, b) => a.localeCompare(b, 'en'))
    assert.deepEqual(words, sorted)
  }
  const unexplained = rules.filter(({ instead }) => !terms.includes(instead))
  assert.deepEqual(unexplained, [])
})

const providerFolder = /^src\/providers\/[^/]+\//

/** Names that several files declare, with those files. A re-export declares nothing. */
function findTwins(declarations: readonly ExportedName[]): string[] {
  const paths = Map.groupBy(declarations, ({ name }) => name)
  return [...paths].flatMap(([name, all]) => {
    const files = [...new Set(all.map(({ path }) => path))]
    return files.length > 1 ? [`${name}: ${files.join(', ')}`] : []
  })
}

test('an exported name exists once outside the folders of the providers, whose files export the same set', () => {
  const declarations = codeFiles
    .filter((path) => /^(?:src|cli|scripts)\//.test(path))
    .filter((path) => !isTest(path) && !providerFolder.test(path))
    .flatMap((path) => listDeclarations(readText(path)).map((name) => ({ path, name })))
  assert.ok(declarations.length > 1000)
  assert.deepEqual(findTwins(declarations), [])
})

test('the search for names that exist twice finds them, and counts a schema and its type once', () => {
  const found = (texts: Readonly<Record<string, string>>) =>
    findTwins(
      Object.entries(texts).flatMap(([path, text]) =>
        listDeclarations(text).map((name) => ({ path, name })),
      ),
    )
  const twice = { a: 'export const Row = 1', b: 'export interface Row {}' }
  assert.deepEqual(found(twice), ['Row: a, b'])
  assert.deepEqual(found({ a: 'export const Row = 1\nexport type Row = number' }), [])
  assert.deepEqual(found({ a: 'export const Row = 1', b: "export { Row } from 'a'" }), [])
})

const handedInType = /^(?:export )?(?:interface|type) (\w*(?:Deps|Parts))\b/
const handedInName = /(?<![\w.'"`$])(?:deps(?=[,:)} ])|parts: (?!.*\bParts\b)[A-Z{])/

/** Other words for what is handed in. `Parts` alone is what a maker assembled, and stays in its file. */
function findOtherWords(text: string): string[] {
  return text.split('\n').filter((line) => {
    if (/^\s*(?:\*|\/)/.test(line)) return false
    const [, name] = handedInType.exec(line) ?? []
    if (name !== undefined) return name !== 'Parts' || line.startsWith('export')
    return handedInName.test(line)
  })
}

test('what is handed in is called options, in types and in parameters', () => {
  const found = codeFiles
    .filter((path) => /^(?:src|cli|scripts|sandbox)\//.test(path) && !isTest(path))
    .flatMap((path) => findOtherWords(readText(path)).map((line) => `${path}: ${line.trim()}`))
  assert.deepEqual(found, [])
})

test('the search for other words than options finds them, and leaves what a maker assembled', () => {
  const bad = [
    'export interface GateDeps {',
    'interface ShownParts {',
    'export interface Parts {',
    'function run(deps: GateOptions) {',
    'export function render(parts: PageOptions): Html {',
  ]
  const good = [
    'interface Parts extends GateOptions {',
    'function run(parts: Parts) {',
    '// deps: no',
  ]
  assert.deepEqual(findOtherWords([...bad, ...good].join('\n')), bad)
})
