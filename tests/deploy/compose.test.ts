/**
 * `compose.yaml`: what it starts, which ports it publishes, and that Tributary would start with these
 * settings.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { BlockList } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { settings } from '#settings/settings.ts'
import { readConfig } from '#src/config.ts'
import {
  exists,
  interpolate,
  isList,
  networksOf,
  readCompose,
  readText,
  root,
  variablesIn,
} from './files.ts'

/** What an operator writes into `.env`; the provider's credentials stand for any. */
const environmentFile = {
  ADMIN_TOKEN: 'a'.repeat(43),
  BASE_URL: 'https://money.example.com',
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  POSTGRES_PASSWORD: 'p0stgres',
  VALKEY_PASSWORD: 'v4lkey',
  FISKIL_CLIENT_ID: 'client',
  FISKIL_CLIENT_SECRET: 'secret',
}

const compose = readCompose()
const services = Object.entries(compose.services)
const ours = services.filter(([, { image }]) => image === 'tributary:local')

test('two API processes and a worker over PostgreSQL and two Valkeys, behind a proxy', () => {
  const names = Object.keys(compose.services).sort()
  assert.deepEqual(names, [
    'api-1',
    'api-2',
    'postgres',
    'proxy',
    'valkey',
    'valkey-cache',
    'worker',
  ])
  const roles = ours.map(([name, { environment }]) => `${name} ${environment.ROLE}`)
  assert.deepEqual(roles, ['api-1 api', 'api-2 api', 'worker worker'])
})

test('only the proxy is published, and the store and the fast state cannot reach the internet', () => {
  const published = services.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)
  assert.deepEqual(published, ['proxy'])
  assert.equal(compose.networks.inside?.internal, true)
  for (const name of ['postgres', 'valkey']) {
    assert.deepEqual(compose.services[name]?.networks, ['inside'])
  }
  assert.deepEqual(compose.services.proxy?.networks, ['outside'])
})

test('each admin listener is on an address of its own, in a network that the proxy is not in and that leads nowhere', () => {
  const { admin } = compose.networks
  const { subnet = '', ip_range: range = '' } = admin?.ipam?.config[0] ?? {}
  assert.equal(admin?.internal, true)
  const own = new BlockList()
  own.addSubnet(...toSubnet(subnet))
  const lent = new BlockList()
  lent.addSubnet(...toSubnet(range))
  const addresses = ours.map(([name, { environment, networks }]) => {
    const address = environment.ADMIN_HOST ?? ''
    assert.ok(own.check(address) && !lent.check(address), `${name}: ${address}`)
    assert.ok(!isList(networks) && networks.admin?.ipv4_address === address, name)
    return address
  })
  assert.equal(new Set(addresses).size, ours.length)
  const inside = services.filter(([, one]) => networksOf(one).includes('admin'))
  assert.deepEqual(inside, ours)
})

function toSubnet(text: string): [string, number] {
  const [address = '', bits = ''] = text.split('/')
  return [address, Number(bits)]
}

test('every service has a health check: its own, or that of the image', () => {
  assert.match(readText('Dockerfile'), /^HEALTHCHECK /m)
  const mute = services.filter(
    ([, { healthcheck, build }]) => healthcheck === undefined && build !== '.',
  )
  assert.deepEqual(mute, [])
})

test('our processes may write nowhere but to memory, hold no rights, and have time to drain', () => {
  for (const [name, service] of ours) {
    assert.equal(service.read_only, true, name)
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    const seconds = Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1])
    assert.ok(seconds > 25, `${name} has ${seconds} s, and draining takes up to 25`)
  }
})

test('every variable that our processes are given is one of the settings', () => {
  const known = new Set<string>(settings.map(([name]) => name))
  const strange = ours.flatMap(([, { environment }]) =>
    Object.keys(environment).filter((name) => !known.has(name)),
  )
  assert.deepEqual(strange, [])
})

test('Tributary accepts its configuration, and warns of nothing but the admin listener', () => {
  for (const [name, { environment }] of ours) {
    const given = Object.fromEntries(
      Object.entries(environment).map(([key, text]) => [key, interpolate(text, environmentFile)]),
    )
    const config = readConfig({ ...environmentFile, ...given }, '/app')
    assert.deepEqual(
      config.warnings,
      ['ADMIN_HOST is not a loopback address: keep the admin API off public networks.'],
      name,
    )
    assert.equal(config.mode, 'live')
    assert.equal(new URL(config.databaseUrl?.reveal() ?? '').hostname, 'postgres')
    assert.equal(new URL(config.redisUrl?.reveal() ?? '').hostname, 'valkey')
    assert.equal(new URL(config.redisCacheUrl?.reveal() ?? '').hostname, 'valkey-cache')
  }
})

test('the trusted proxies are those of the proxy’s own network', () => {
  const subnet = compose.networks.outside?.ipam?.config[0]?.subnet
  for (const [, { environment }] of ours) assert.equal(environment.TRUST_PROXY, subnet)
})

test('every value that it asks of .env is demanded, and explained in docs/operations/scale.md', () => {
  const text = readText('compose.yaml')
  const names = variablesIn(text)
  assert.ok(names.length > 0)
  const guide = readText('docs/operations/scale.md')
  for (const name of names) {
    assert.ok(!text.includes(`\${${name}}`), `${name} is demanded`)
    assert.match(guide, new RegExp(`\\b${name}=`), `${name} is explained`)
    assert.ok(name in environmentFile, `${name} is part of the test`)
  }
})

test('files that it mounts are there, images are named with a tag, no value is a secret', () => {
  for (const [name, { image = '', volumes = [] }] of services) {
    assert.match(image, /^[a-z0-9./-]+:[a-z0-9.-]+$/, name)
    assert.doesNotMatch(image, /:latest$/)
    for (const volume of volumes) {
      const place = volume.split(':')[0] ?? ''
      assert.ok(!place.startsWith('.') || exists(place), `${place} is there`)
    }
  }
  assert.match(readText('.gitignore'), /^\.env$/m)
})

test('the proxy passes on to both API processes, and closes its connections before they do', () => {
  const proxy = readText('deploy/Caddyfile')
  assert.match(proxy, /^\{\$BASE_URL\} \{$/m)
  assert.match(proxy, /reverse_proxy api-1:3000 api-2:3000/)
  assert.match(proxy, /keepalive 60s/)
})

test('where docker has compose, it accepts the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-compose-'))
  try {
    cpSync(join(root, 'compose.yaml'), join(folder, 'compose.yaml'))
    const lines = Object.entries(environmentFile).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(join(folder, '.env'), lines.join(''))
    const ask = (...args: string[]) =>
      spawnSync('docker', ['compose', ...args], { cwd: folder, encoding: 'utf8', timeout: 20_000 })
    // Without the client the file has been judged by the tests above alone.
    if (ask('version').status !== 0) return assert.equal(services.length, 7)
    const { status, stderr } = ask('config', '--quiet')
    assert.equal(status, 0, stderr)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
