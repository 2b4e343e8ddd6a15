/**
 * Whoever has only the repository can look up what code, tests and documents cite: a citation is `contract,
 * Heading`, `docs/….md, Heading` or `ARCHITECTURE.md, Heading`, and the heading stands on that page. Headings
 * are read from there. A file that a comment names is there, too.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exists, files, readText } from './tree.ts'

const written = files.filter(
  (path) =>
    /(?:\.(?:ts|js|md|sql|css|yaml|yml)|\.ci\/run|\.env\.example)$/.test(path) &&
    !path.startsWith('tests/tidy/') &&
    !path.includes('/openapi/') &&
    // Its entries say what a version had.
    path !== 'CHANGELOG.md',
)

/**
 * The text with the line ends of comments and paragraphs taken out, so that a citation may stand on two
 * lines.
 */
const unwrap = (text: string): string =>
  text.replace(/\r?\n[ \t]*(?:\*(?!\/)|\/\/|--|#(?=\s[a-z]))?[ \t]*/g, ' ')

function headingsOf(path: string): string[] {
  return [...readText(path).matchAll(/^#{1,6}\s+(.+)$/gm)].map(([, heading = '']) =>
    heading.replaceAll('`', '').trim(),
  )
}

/**
 * A page, a comma and a capital letter: what follows is a heading, or it is no citation and needs other
 * words.
 */
const citation =
  /(?<![\w/])(contract|Contract|ARCHITECTURE\.md|docs\/[\w/-]+\.md), (?=(\p{Lu}[^\n]{0,120}))/gu

function toPage(name: string): string {
  return /^contract$/i.test(name) ? 'docs/contract.md' : name
}

/** After a heading the sentence or the citation ends: `Transaction event` does not cite `Transaction`. */
const ends = /^(?:\s*$|\s*\*\/|[^\s\w])/

/** Those of a text that lead nowhere. */
function findLost(text: string): string[] {
  return [...unwrap(text).matchAll(citation)].flatMap(([, name = '', rest = '']) => {
    const page = toPage(name)
    const isThere =
      exists(page) &&
      headingsOf(page).some(
        (heading) => rest.startsWith(heading) && ends.test(rest.slice(heading.length)),
      )
    return isThere ? [] : [`${name}, ${rest.slice(0, 40)}`]
  })
}

test('every heading that code, tests and documents cite stands on the page that they name', () => {
  const lost = written.flatMap((path) =>
    findLost(readText(path)).map((found) => `${path}: ${found}`),
  )
  assert.deepEqual(lost, [])
})

test('the search for citations finds those that are there, also across lines, and misses none that is lost', () => {
  const cited = written.flatMap((path) => [...unwrap(readText(path)).matchAll(citation)])
  assert.ok(cited.length > 60, `${cited.length} citations`)
  const text = '/**\n * So it is (contract,\n * Limits; contract, Nowhere).\n */'
  assert.deepEqual(findLost(text), ['contract, Nowhere). */'])
  assert.deepEqual(findLost('see contract, Transaction event object.').length, 1)
  assert.deepEqual(findLost('see docs/nowhere.md, Limits'), ['docs/nowhere.md, Limits'])
})

test('every page below docs that code cites exists', () => {
  const lost = written
    .filter((path) => /\.(?:ts|js|sql)$/.test(path))
    .flatMap((path) =>
      [...readText(path).matchAll(/(?<![\w/.-])docs\/[\w/-]+\.md/g)]
        .filter(([page]) => !exists(page))
        .map(([page]) => `${path}: ${page}`),
    )
  assert.deepEqual(lost, [])
})

test('nothing cites what is not in the repository', () => {
  const old =
    /\b(?:[Ss]pecification(?:,| \(| §)|[Ii]nterfaces(?:,| §)|[Aa]rchitecture, [a-z]|(?:[Pp]rovider|SnapTrade|Fiskil|Akahu|the) page,? §|page §)/g
  const found = written.flatMap((path) =>
    [...unwrap(readText(path)).matchAll(old)].map(([words]) => `${path}: ${words}`),
  )
  assert.deepEqual(found, [])
})

test('every file that a comment names without its folder exists', () => {
  const names = new Set(files.map((path) => path.split('/').at(-1)))
  const cited = written
    .filter((path) => /\.(?:ts|js|sql|css)$/.test(path))
    .flatMap((path) =>
      readText(path)
        .split('\n')
        .filter((line) => /^\s*(?:\/?\*|\/\/|--)/.test(line))
        .flatMap((line) => [
          ...line.matchAll(/(?<![\w/.*@-])[a-z\d][\w.-]*\.(?:ts|js|md|sql|css)\b/g),
        ])
        .map(([name]) => ({ path, name })),
    )
  assert.ok(cited.length > 100, `${cited.length} names`)
  assert.deepEqual(
    cited.filter(({ name }) => !names.has(name)),
    [],
  )
})
