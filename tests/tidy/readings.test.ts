/** Every reading of the specification is named by at least one test, so that its breaking has a name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeFiles, isTest, readText } from './tree.ts'

const numbered = Array.from({ length: 35 }, (_, index) => `R${index + 1}`)
const readings = [...numbered, 'R16a', 'R16b', 'R20a', 'R20b', 'R20c', 'R24a', 'R24b', 'R34a']

/** Readings whose part of the product is not built yet; each goes when its tests come. */
const open = ['R31', 'R32', 'R33', 'R34', 'R34a', 'R35']

/** Titles, and the entries of tables that become titles, begin with the readings that they keep. */
function namedIn(text: string): string[] {
  const titles = text.matchAll(
    /(['"`])((?:(?!\1)[^\\\n]|\\.)*\bR\d{1,2}[a-c]?\b(?:(?!\1)[^\\\n]|\\.)*)\1/g,
  )
  return [...titles].flatMap(([, , title = '']) => title.match(/\bR\d{1,2}[a-c]?\b/g) ?? [])
}

test('every reading that is not open is named in the title of a test', () => {
  const named = new Set(
    codeFiles
      .filter((path) => isTest(path) && !path.startsWith('tests/tidy/'))
      .flatMap((path) => namedIn(readText(path))),
  )
  const missing = readings.filter((reading) => !named.has(reading) && !open.includes(reading))
  assert.deepEqual(missing, [])
})

test('tests name only readings that exist', () => {
  const unknown = codeFiles
    .filter((path) => isTest(path) && !path.startsWith('tests/tidy/'))
    .flatMap((path) =>
      namedIn(readText(path))
        .filter((name) => !readings.includes(name))
        .map((name) => `${path}: ${name}`),
    )
  assert.deepEqual(unknown, [])
})
