/**
 * What must not be in the repository: build output, secrets, paths of somebody's machine, addresses of
 * registries.
 */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { files, findLines, readText, textFiles } from './tree.ts'

test('no build or run output is tracked', () => {
  const output = /(?:^|\/)(?:node_modules|data|dist|coverage)\/|\.(?:sqlite|sqlite-wal|db|log|pem)$/
  assert.deepEqual(
    files.filter((path) => output.test(path)),
    [],
  )
})

test('no file contains a path of a machine', () => {
  // Spelled apart, or the rule would find itself.
  const folders = ['wo rk', 'ro ot', 'fa rm', 'ho me/[a-z]', 'Us ers'].map((name) =>
    name.replace(' ', ''),
  )
  const path = new RegExp(`(?<![\\w.:}/-])/(?:${folders.join('|')})/|/tmp/ba${'sh'}_`)
  assert.deepEqual(findLines(textFiles, path), [])
})

test('no file contains the address of a package registry, the lock file included', () => {
  const hosts = ['registry\\.', 'npmjs\\.', 'artifact' + 'ory', 'verdacc' + 'io', 'jfrog\\.'].join(
    '|',
  )
  assert.deepEqual(
    findLines([...textFiles, 'package-lock.json', '.npmrc'], new RegExp(`//[\\w.-]*(?:${hosts})`)),
    [],
  )
  assert.deepEqual(findLines(['package-lock.json'], /"resolved"/), [])
})

test('no file contains a private key or a credential that looks real', () => {
  const credential = new RegExp(
    `-----BEGIN [A-Z ]*PRIVATE ${'KEY'}-----|\\bAKIA[0-9A-Z]{16}\\b|\\bgh[pousr]_\\w{36}`,
  )
  assert.deepEqual(findLines(textFiles, credential), [])
})

test('lines end as everywhere, and no file carries a conflict', () => {
  assert.deepEqual(
    textFiles.filter((path) => readText(path).includes('\r\n')),
    [],
  )
  assert.deepEqual(findLines(textFiles, /^(?:<{7}|>{7}) /), [])
})

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

test('every path in a script of the repository leads to a file', () => {
  const scripts = textFiles.filter((path) => /^scripts\/.*\.ts$/.test(path))
  const paths = scripts.flatMap((script) =>
    [...readText(script).matchAll(/'((?:src|tests|cli|sandbox)\/[^'\s]+\.ts)'/g)].map(
      ([, path = '']) => path,
    ),
  )
  assert.ok(paths.length > 10, 'they name files')
  assert.deepEqual(
    paths.filter((path) => globSync(path).length === 0),
    [],
  )
})

test('every dependency is pinned to one version and explained', () => {
  const manifest = JSON.parse(readText('package.json')) as Manifest
  const all = { ...manifest.dependencies, ...manifest.devDependencies }
  const loose = Object.entries(all).filter(
    ([, version]) => !/^\d+\.\d+\.\d+(?:-alpha\.\d+)?$/.test(version),
  )
  assert.deepEqual(loose, [])
  const explained = readText('docs/dependencies.md')
  const mute = Object.keys(all).filter((name) => !explained.includes(`\`${name}\``))
  assert.deepEqual(mute, [])
})

test('pages load nothing from anybody else', () => {
  const pages = textFiles.filter((path) => path.startsWith('src/doors/'))
  const hosts = new RegExp(`unpkg\\.|jsde${'livr'}|googleapis|gstatic|//cdn\\.`)
  assert.deepEqual(findLines(pages, hosts), [])
})
