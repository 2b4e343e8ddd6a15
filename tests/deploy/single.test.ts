/** The installation for one person: `deploy/compose.single.yaml` and the lines of docs/self-hosting.md. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { parse } from 'yaml'
import { settings } from '#settings/settings.ts'
import { readConfig } from '#src/config.ts'
import { type Compose, exists, readText, root } from './files.ts'

const file = 'deploy/compose.single.yaml'
const compose = parse(readText(file)) as Compose & { readonly volumes: object }
const service = compose.services.tributary
const page = readText('docs/self-hosting.md')
const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, text = '']) =>
  text.trim().split('\n'),
)

test('one service with one volume, published to this machine alone, without rights and with time to drain', () => {
  assert.deepEqual(Object.keys(compose.services), ['tributary'])
  assert.deepEqual([service?.volumes, Object.keys(compose.volumes)], [['data:/data'], ['data']])
  assert.deepEqual(service?.ports, ['127.0.0.1:3000:3000'])
  assert.equal(service?.read_only, true)
  assert.deepEqual(service?.cap_drop, ['ALL'])
  assert.ok(Number(service?.stop_grace_period?.replace('s', '')) > 25)
  for (const path of [service?.build ?? '', join(service?.build ?? '', 'Dockerfile')]) {
    assert.ok(exists(join('deploy', path)), path)
  }
  assert.equal(join('deploy', service?.env_file ?? ''), '.env')
})

test('its settings are settings, and Tributary starts live with them and BASE_URL', () => {
  const known = new Set<string>(settings.map(([name]) => name))
  const environment = service?.environment ?? {}
  assert.deepEqual(
    Object.keys(environment).filter((name) => !known.has(name)),
    [],
  )
  const plain = readConfig({ ...environment, BASE_URL: 'http://127.0.0.1:3000' }, '/app')
  assert.equal(plain.mode, 'live')
  assert.equal(plain.adminListener.isLoopback, true)
  assert.equal(plain.warnings.length, 1)
  assert.match(plain.warnings[0] ?? '', /cookies are not Secure/)
  const https = readConfig({ ...environment, BASE_URL: 'https://money.example.com' }, '/app')
  assert.deepEqual(https.warnings, [])
})

test('the lines of the page name the same image, ports, volume and file, and set what compose sets', () => {
  const run = commands.find((line) => line.startsWith('docker run ')) ?? ''
  for (const part of [
    '--name tributary ',
    '--read-only --tmpfs /tmp ',
    '-v tributary-data:/data ',
    '-p 127.0.0.1:3000:3000 ',
    '-e SANDBOX=false ',
    '-e BASE_URL=http://127.0.0.1:3000 ',
  ]) {
    assert.ok(run.includes(part), part)
  }
  assert.match(run, / tributary:local$/)
  assert.ok(commands.includes('docker build -t tributary:local .'))
  const composed = [...page.matchAll(/docker compose -f (\S+)/g)].map(([, path]) => path)
  assert.ok(composed.length >= 3)
  assert.deepEqual([...new Set(composed)], [file])
})

/** An empty folder with the node of the clone, and what the shell did there. */
function inClone(work: (folder: string, run: (line: string) => number | null) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-backup-'))
  try {
    mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
    symlinkSync(process.execPath, join(folder, 'node_modules/.bin/node'))
    work(folder, (line) => spawnSync('sh', ['-c', line], { cwd: folder, stdio: 'ignore' }).status)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const backupLine = commands.find((one) => /^umask .* node_modules\/\.bin\/node -e/.test(one)) ?? ''

test('the backup line makes a copy that opens, while another process has the store open', () => {
  inClone((folder, run) => {
    mkdirSync(join(folder, 'data'))
    const store = new DatabaseSync(join(folder, 'data', 'tributary.db'))
    store.exec('pragma journal_mode = wal; create table users (id); insert into users values (7)')
    // The second copy replaces the first.
    for (let round = 0; round < 2; round += 1) assert.equal(run(backupLine), 0)
    assert.equal(statSync(join(folder, 'tributary-backup.db')).mode & 0o777, 0o600)
    const copy = new DatabaseSync(join(folder, 'tributary-backup.db'), { readOnly: true })
    assert.equal(copy.prepare('select id from users').get()?.id, 7)
    copy.close()
    store.close()
  })
})

test('where the store is elsewhere, the backup lines fail and make no file', () => {
  const inContainer = commands.find((one) => one.startsWith('docker exec tributary ')) ?? ''
  const [, inner = ''] =
    /^docker exec tributary \/app\/(node_modules.*?\)") && /.exec(inContainer) ?? []
  for (const line of [backupLine, inner]) {
    assert.match(line, /vacuum into/)
    inClone((folder, run) => {
      mkdirSync(join(folder, 'data'))
      const here = line.replaceAll("'/data/", "'data/")
      assert.equal(run(here), 1)
      assert.deepEqual(readdirSync(folder).toSorted(), ['data', 'node_modules'])
      assert.deepEqual(readdirSync(join(folder, 'data')), [])
    })
  }
})

test('the update lines name what the clone has', () => {
  for (const place of ['deploy/compose.single.yaml', 'deploy/tributary.service', 'Dockerfile']) {
    assert.ok(existsSync(join(root, place)), place)
  }
  const starts = commands.filter((line) => line.includes('npm start'))
  assert.deepEqual(starts, ['npm start', 'git pull --ff-only && npm start'])
})
