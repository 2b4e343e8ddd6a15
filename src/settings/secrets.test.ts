/** Proves that secrets are generated once, readable by their owner alone, and never overwritten. */
import assert from 'node:assert/strict'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '#src/config.ts'
import type { Environment } from './environment-file.ts'
import { loadSecrets, SecretsError } from './secrets.ts'

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-secrets-'))
  try {
    await body(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const load = (folder: string, environment: Environment = {}) =>
  loadSecrets(readConfig({ DATA_DIR: join(folder, 'data'), ...environment }))
const modeOf = async (path: string) => (await stat(path)).mode & 0o777

test('missing secrets are generated: 0600 files, the keys in a 0700 folder, the same on the next start', () =>
  inFolder(async (folder) => {
    const first = await load(folder)
    const keyFile = join(folder, 'data/secrets/encryption-key')
    const tokenFile = join(folder, 'data/admin-token')
    assert.deepEqual(first.warnings, [])
    assert.equal(first.adminTokenFile, tokenFile)
    assert.equal(await modeOf(keyFile), 0o600)
    assert.equal(await modeOf(tokenFile), 0o600)
    assert.equal(await modeOf(join(folder, 'data/secrets')), 0o700)
    assert.equal((await readFile(tokenFile, 'utf8')).trim(), first.adminToken.reveal())
    assert.ok(first.adminToken.reveal().length >= 43)
    assert.deepEqual(
      first.encryptionKeys.reveal().map((key) => key.length),
      [32],
    )
    const second = await load(folder)
    assert.equal(second.adminToken.reveal(), first.adminToken.reveal())
    assert.deepEqual(second.encryptionKeys.reveal(), first.encryptionKeys.reveal())
    assert.deepEqual((await readdir(join(folder, 'data'))).sort(), ['admin-token', 'secrets'])
    assert.deepEqual(await readdir(join(folder, 'data/secrets')), ['encryption-key'])
  }))

test('the admin token is the same in sandbox and live mode: the command line finds it in DATA_DIR', () =>
  inFolder(async (folder) => {
    const sandbox = await load(folder, { SANDBOX: 'true' })
    const live = await load(folder, { SANDBOX: 'false' })
    assert.equal(live.adminToken.reveal(), sandbox.adminToken.reveal())
  }))

test('ten processes that start at once agree on one key and one token', () =>
  inFolder(async (folder) => {
    const all = await Promise.all(Array.from({ length: 10 }, () => load(folder)))
    assert.equal(new Set(all.map((one) => one.adminToken.reveal())).size, 1)
    const keys = all.map((one) => Buffer.from(one.encryptionKeys.reveal()[0] ?? '').toString('hex'))
    assert.equal(new Set(keys).size, 1)
    assert.match(keys[0] ?? '', /^[0-9a-f]{64}$/)
  }))

test('what is configured is used, and nothing is written', () =>
  inFolder(async (folder) => {
    const key = Buffer.alloc(32, 5).toString('base64')
    const secrets = await load(folder, { ENCRYPTION_KEY: key, ADMIN_TOKEN: 'configured-token-1' })
    assert.equal(secrets.adminToken.reveal(), 'configured-token-1')
    assert.equal(secrets.adminTokenFile, null)
    assert.deepEqual([...(secrets.encryptionKeys.reveal()[0] ?? [])], Array(32).fill(5))
    assert.deepEqual(await readdir(folder), [])
  }))

test('files that others can read are tightened, with a warning that names them', () =>
  inFolder(async (folder) => {
    const before = await load(folder)
    await chmod(join(folder, 'data/admin-token'), 0o644)
    await chmod(join(folder, 'data/secrets'), 0o755)
    await chmod(join(folder, 'data/secrets/encryption-key'), 0o640)
    const after = await load(folder)
    assert.equal(after.warnings.length, 3)
    assert.match(after.warnings.join('\n'), /admin-token could be read by others \(mode 0644\)/)
    assert.equal(await modeOf(join(folder, 'data/admin-token')), 0o600)
    assert.equal(await modeOf(join(folder, 'data/secrets')), 0o700)
    assert.equal(await modeOf(join(folder, 'data/secrets/encryption-key')), 0o600)
    assert.equal(after.adminToken.reveal(), before.adminToken.reveal())
    assert.doesNotMatch(after.warnings.join(), new RegExp(before.adminToken.reveal()))
  }))

test('a link in the place of a file, or of their folder, is refused, and what it leads to stays as it is', () =>
  inFolder(async (folder) => {
    await load(folder)
    for (const place of ['admin-token', 'secrets/encryption-key', 'secrets']) {
      const path = join(folder, 'data', place)
      const elsewhere = join(folder, 'elsewhere')
      await rename(path, elsewhere)
      await chmod(elsewhere, 0o755)
      await symlink(elsewhere, path)
      await assert.rejects(load(folder), (error: unknown) => {
        assert.ok(error instanceof SecretsError)
        assert.ok(error.message.includes(`${path} is a link, which is not followed: put`))
        return true
      })
      assert.equal(await modeOf(elsewhere), 0o755)
      await rm(path)
      await rename(elsewhere, path)
    }
    await symlink(join(folder, 'nowhere'), join(folder, 'data/secrets/new'))
    await rename(join(folder, 'data/secrets/new'), join(folder, 'data/secrets/encryption-key'))
    await assert.rejects(load(folder), /is a link/)
    assert.deepEqual(await readdir(folder), ['data'])
  }))

test('a Secret of Kubernetes that is mounted as a folder, and so made of links, is told the ways that remain', async () => {
  for (const [place, variable] of [
    ['secrets/encryption-key', 'ENCRYPTION_KEY'],
    ['admin-token', 'ADMIN_TOKEN'],
  ] as const) {
    await inFolder(async (folder) => {
      await load(folder)
      const path = join(folder, 'data', place)
      const content = (await readFile(path, 'utf8')).trim()
      await mkdir(join(dirname(path), '..data'))
      await rename(path, join(dirname(path), '..data', basename(path)))
      await symlink(join('..data', basename(path)), path)
      const message = `${path} is a link, which is not followed: put what it leads to in its place, or set ${variable} instead, or mount the file by itself (in Kubernetes by subPath)`
      await assert.rejects(load(folder), { name: 'SecretsError', message })
      // The way that the message names works.
      await load(folder, { [variable]: content })
    })
  }
})

test('a data directory may itself be a link', () =>
  inFolder(async (folder) => {
    const first = await load(folder)
    await rename(join(folder, 'data'), join(folder, 'elsewhere'))
    await symlink('elsewhere', join(folder, 'data'))
    const second = await load(folder)
    assert.deepEqual(second.warnings, [])
    assert.equal(second.adminToken.reveal(), first.adminToken.reveal())
    assert.deepEqual(second.encryptionKeys.reveal(), first.encryptionKeys.reveal())
  }))

for (const content of ['', 'half a key', Buffer.alloc(16).toString('base64')]) {
  test(`a damaged key file (${JSON.stringify(content)}) is refused and left as it is`, () =>
    inFolder(async (folder) => {
      const file = join(folder, 'data/secrets/encryption-key')
      await mkdir(join(folder, 'data/secrets'), { recursive: true, mode: 0o700 })
      await writeFile(file, content, { mode: 0o600 })
      await assert.rejects(load(folder), (error: unknown) => {
        assert.ok(error instanceof SecretsError)
        assert.ok(error.message.includes(file))
        return true
      })
      assert.equal(await readFile(file, 'utf8'), content)
    }))
}

for (const [mode, store] of [
  ['live', 'tributary.db'],
  ['sandbox', 'sandbox/tributary.db'],
] as const) {
  test(`a lost key is never replaced beside a store of ${mode} mode: the message names the file and what to put back`, () =>
    inFolder(async (folder) => {
      const environment = { SANDBOX: String(mode === 'sandbox') }
      await load(folder, environment)
      const keyFile = join(folder, 'data/secrets/encryption-key')
      const held = await readFile(keyFile, 'utf8')
      await mkdir(join(folder, 'data/sandbox'))
      await writeFile(join(folder, 'data', store), 'rows')
      await rm(join(folder, 'data/secrets'), { recursive: true })
      // Both modes: the stores of live and sandbox are sealed with the same key.
      for (const SANDBOX of ['true', 'false']) {
        await assert.rejects(load(folder, { SANDBOX }), (error: unknown) => {
          assert.ok(error instanceof SecretsError)
          assert.ok(error.message.startsWith(`${keyFile} is missing`), error.message)
          assert.ok(error.message.includes(join(folder, 'data', store)), error.message)
          assert.match(error.message, /put the file back from your copy, or set ENCRYPTION_KEY/)
          assert.equal(error.message.includes('made-up data'), mode === 'sandbox')
          return true
        })
        assert.deepEqual(await readdir(join(folder, 'data/secrets')), [])
      }
      // Both solutions that the message offers work.
      const given = await load(folder, { ...environment, ENCRYPTION_KEY: held.trim() })
      assert.equal(given.encryptionKeysIn, 'ENCRYPTION_KEY')
      await writeFile(keyFile, held, { mode: 0o600 })
      assert.equal((await load(folder, environment)).encryptionKeysIn, keyFile)
    }))
}

test('a data directory that others may read is reported and not changed in sandbox mode too, whose store is a folder below it', () =>
  inFolder(async (folder) => {
    const data = join(folder, 'data')
    await mkdir(data)
    await chmod(data, 0o777)
    const words = `other users may read ${data}: chmod 700 it`
    assert.deepEqual((await load(folder, { SANDBOX: 'true' })).warnings, [words])
    assert.equal((await stat(data)).mode & 0o777, 0o777)
    await chmod(data, 0o700)
    assert.deepEqual((await load(folder, { SANDBOX: 'true' })).warnings, [])
  }))

test('an empty store file does not prevent a first start', () =>
  inFolder(async (folder) => {
    await mkdir(join(folder, 'data'), { mode: 0o700 })
    await writeFile(join(folder, 'data/tributary.db'), '')
    assert.equal((await load(folder)).encryptionKeys.reveal().length, 1)
  }))

test('a data directory that cannot be made is one clear error', () =>
  inFolder(async (folder) => {
    await writeFile(join(folder, 'data'), 'a file stands here')
    await assert.rejects(load(folder), { name: 'SecretsError', message: /see that DATA_DIR is/ })
  }))

test('a key file with several keys rotates: all are given, the first one first', () =>
  inFolder(async (folder) => {
    const texts = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
    await mkdir(join(folder, 'data/secrets'), { recursive: true, mode: 0o700 })
    await writeFile(join(folder, 'data/secrets/encryption-key'), `${texts.join(',')}\n`, {
      mode: 0o600,
    })
    const keys = (await load(folder)).encryptionKeys.reveal()
    assert.deepEqual(
      keys.map((key) => key[0]),
      [1, 2],
    )
  }))
