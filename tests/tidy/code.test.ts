/** How code is written here: sizes, opening comments, names, and the words that have no place in it. */
import assert from 'node:assert/strict'
import { basename } from 'node:path/posix'
import { test } from 'node:test'
import { codeFiles, files, findLines, isTest, readText, textFiles } from './tree.ts'

const product = codeFiles.filter((path) => !isTest(path))
/** Spelled apart, or the rules would find themselves. */
const word = (...parts: string[]) => parts.join('')

test('no file is longer than 400 lines', () => {
  const long = [...codeFiles, ...files.filter((path) => path.endsWith('.sql'))]
    .map((path) => [path, readText(path).trimEnd().split('\n').length] as const)
    .filter(([, lines]) => lines > 400)
  assert.deepEqual(long, [])
})

test('no function of the product has more than 65 lines, and no comment exempts one', () => {
  const { linter, overrides } = JSON.parse(readText('biome.json'))
  const rule = 'noExcessiveLinesPerFunction'
  const measured = { level: 'error', options: { maxLines: 65 } }
  assert.deepEqual(linter.rules.complexity[rule], measured)
  const exempt = [
    {
      includes: ['tests/**', '**/*.test.ts'],
      linter: { rules: { complexity: { [rule]: 'off' } } },
    },
  ]
  assert.deepEqual(overrides, exempt)
  // A comment may also name all rules, or the group.
  const exemption = new RegExp(`biome-${'ignore'}\\S* lint(?:/complexity)?(?:/${rule})?(?![/\\w])`)
  assert.deepEqual(findLines(codeFiles, exemption), [])
})

test('every file begins with a comment that says what it owns', () => {
  const mute = files
    // A test says what it proves in its titles.
    .filter((path) => /\.(?:ts|js|sql|css)$/.test(path) || path === '.ci/run')
    .filter((path) => !/\.(?:test|d)\.ts$/.test(path))
    .filter((path) => !/^(?:#!.*\n)?(?:\/\*|\/\/|--|#)/.test(readText(path)))
  assert.deepEqual(mute, [])
})

test('no line of a comment has more than 110 columns', () => {
  const isComment = (line: string) => /^\s*(?:\/\/|\/?\*)/.test(line)
  const wide = codeFiles
    // In sdk/ comments are types.
    .filter((path) => !/^(?:docs|sdk)\//.test(path))
    .flatMap((path) =>
      readText(path)
        .split('\n')
        // A suppression is one line.
        .filter((line) => line.length > 110 && isComment(line) && !line.includes('biome-ignore'))
        .map((line) => `${path}: ${line.trim()}`),
    )
  assert.deepEqual(wide, [])
})

test('no comment of src begins in the middle of a sentence: with "Of" or "Among"', () => {
  const opening = /(?:\/\*\*\s+(?:\* )?|\/\/ )(?:Of|Among) .*/g
  const fragments = codeFiles
    .filter((path) => path.startsWith('src/'))
    .flatMap((path) =>
      [...readText(path).matchAll(opening)]
        // A line that goes on with the sentence of the line before it.
        .filter(({ index }) => !/\/\/[^\n]*\n\s*$/.test(readText(path).slice(0, index)))
        .map(([comment]) => `${path}: ${comment}`),
    )
  assert.deepEqual(fragments, [])
})

test('files are named in kebab-case for the one thing they hold', () => {
  const vague = new RegExp(
    `(?:^|-)(?:${['utils?', 'helpers?', 'common', 'misc', 'manager', 'processor'].join('|')})(?:-|\\.|$)`,
  )
  const bad = codeFiles.filter((path) => {
    const name = basename(path)
    return vague.test(name) || !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)*\.(?:ts|js)$/.test(name)
  })
  assert.deepEqual(bad, [])
})

test('only the configuration reads the environment', () => {
  const free = product.filter(
    (path) => !/^(?:scripts|bench|examples)\/|(?:^src|^cli)\/config\.ts$/.test(path),
  )
  const asked = new RegExp(String.raw`process\s*\.\s*${'env'}\b|process\[`)
  assert.deepEqual(findLines(free, asked), [])
})

test('no float parser and no hole in the types', () => {
  const outside = product.filter((path) => !path.startsWith('src/kernel/'))
  const holes = new RegExp(
    `parse${'Float'}\\(|\\bas a${'ny'}\\b|:\\s*a${'ny'}\\b(?! [a-z])|<a${'ny'}>|@ts${'-'}(?:ignore|expect|nocheck)`,
  )
  assert.deepEqual(findLines(outside, holes), [])
  const inKernel = new RegExp(`parse${'Float'}\\(|\\bas a${'ny'}\\b|@ts${'-'}ignore`)
  assert.deepEqual(findLines(codeFiles, inKernel), [])
})

test('nothing is left for later', () => {
  const later = [word('TO', 'DO'), word('FIX', 'ME'), word('HA', 'CK')].join('|')
  assert.deepEqual(findLines(textFiles, new RegExp(`\\b(?:${later})\\b`)), [])
})

test('no test is skipped, focused or only announced', () => {
  // What a platform lacks may be left out there; the checks run where nothing is.
  const idle =
    /\b(?:test|it|describe|suite)\.(?:skip|only|todo)\b|\{\s*(?:skip(?!: posix \?)|only|todo):/
  assert.deepEqual(findLines(codeFiles.filter(isTest), idle), [])
})

test('every test file has a test', () => {
  const empty = codeFiles.filter(
    (path) =>
      path.endsWith('.test.ts') &&
      !/\b(?:test|it|describe|\w*(?:Contract|Tests?)|promise[A-Z]\w*)\(/.test(readText(path)),
  )
  assert.deepEqual(empty, [])
})

test('no file has two tests of one title', () => {
  const twins = codeFiles.filter(isTest).flatMap((path) => {
    const titles = [...readText(path).matchAll(/^test\(\s*'([^'\n]+)'/gm)].map(([, title]) => title)
    const doubled = titles.filter((title, index) => titles.indexOf(title) !== index)
    return doubled.map((title) => `${path}: ${title}`)
  })
  assert.deepEqual(twins, [])
})

test('each area of pages has its routes in routes.ts and renders in files named <noun>-page.ts', () => {
  const paths = files.filter((path) => /^src\/doors\/pages\/[\w-]+\/[\w-]+\.ts$/.test(path))
  const areas = [...Map.groupBy(paths, (path) => path.split('/')[3]).values()]
  assert(areas.length > 10)
  const bad = areas.filter((area) => {
    const names = area.map((path) => basename(path))
    return !names.includes('routes.ts') || !names.some((name) => /^[\w-]+-page\.ts$/.test(name))
  })
  assert.deepEqual(bad, [])
  assert.deepEqual(
    paths.filter((path) => /pages\.ts$/.test(path)),
    [],
  )
})
