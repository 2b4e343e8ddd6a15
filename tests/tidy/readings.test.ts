/**
 * Every reading of docs/readings.md is named by at least one test, so that its breaking has a name, and every
 * reading that code, tests or documents cite can be looked up there. The list is the page's own headings.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeFiles, files, isTest, readText } from './tree.ts'

const page = 'docs/readings.md'
const isThisSuite = (path: string) => path.startsWith('tests/tidy/')

interface Reading {
  readonly name: string
  readonly text: string
}

const readings: readonly Reading[] = readText(page)
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const [heading = '', ...lines] = section.split('\n')
    return { name: heading.trim(), text: lines.join(' ').replace(/\s+/g, ' ') }
  })
const names = readings.map(({ name }) => name)

/** Titles, and the entries of tables that become titles, begin with the readings that they keep. */
function namedIn(text: string): string[] {
  const titles = text.matchAll(
    /(['"`])((?:(?!\1)[^\\\n]|\\.)*\bR\d{1,2}[a-c]?\b(?:(?!\1)[^\\\n]|\\.)*)\1/g,
  )
  return [...titles].flatMap(([, , title = '']) => title.match(/\bR\d{1,2}[a-c]?\b/g) ?? [])
}

const tests = codeFiles.filter((path) => isTest(path) && !isThisSuite(path))

test('every reading that is built is named in the title of a test', () => {
  const named = new Set(tests.flatMap((path) => namedIn(readText(path))))
  const built = readings.filter(({ text }) => !text.includes('Not built yet.'))
  assert.ok(built.length > 30)
  assert.deepEqual(
    built.map(({ name }) => name).filter((name) => !named.has(name)),
    [],
  )
})

test('the title that a reading quotes is the title of a test', () => {
  const titles = tests.map((path) => readText(path)).join('\n')
  const quoted = readings.flatMap(({ name, text }) => {
    const [, title] = /Held by "([^"]+)"/.exec(text) ?? []
    return text.includes('Not built yet.') ? [] : [{ name, title: title ?? '' }]
  })
  const lost = quoted.filter(({ title }) => title === '' || !titles.includes(title))
  assert.deepEqual(lost, [])
})

test('tests name only readings that exist', () => {
  const unknown = tests.flatMap((path) =>
    namedIn(readText(path))
      .filter((name) => !names.includes(name))
      .map((name) => `${path}: ${name}`),
  )
  assert.deepEqual(unknown, [])
})

test('every reading that code or a document cites stands on the page', () => {
  const citing = files.filter((path) => /\.(?:ts|js|md|sql|ya?ml)$/.test(path) && path !== page)
  const unknown = citing
    .filter((path) => !isThisSuite(path))
    .flatMap((path) =>
      [...readText(path).matchAll(/\breadings?\s+((?:R\d{1,2}[a-c]?(?:,\s*|\s+(?:and|to)\s+)?)+)/g)]
        .flatMap(([, list = '']) => list.match(/R\d{1,2}[a-c]?/g) ?? [])
        .filter((name) => !names.includes(name))
        .map((name) => `${path}: ${name}`),
    )
  assert.deepEqual(unknown, [])
})

test('the page lists each reading once', () => {
  assert.deepEqual([...new Set(names)], names)
  assert.ok(names.every((name) => /^R\d{1,2}[a-c]?$/.test(name)))
})
