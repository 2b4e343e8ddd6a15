/**
 * The unit of systemd and the command beside it: what the unit starts, that it waits until it is ready, and
 * that the command reads the settings of the unit. Paths of the install are replaced by those of this clone.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseEnv } from 'node:util'
import { readConfig } from '#src/config.ts'
import { exists, readGuide, readText, root, serviceEnvironment, serviceFlags } from './files.ts'

const unit = readText('deploy/tributary.service')
const guide = readGuide()
const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)

interface Machine {
  readonly settings: string
  /** A command line of the unit or of a person, as it would run on the machine. */
  readonly here: (text: string) => string
}

function makeMachine(t: TestContext, settings: Record<string, string>): Machine {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-unit-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'tributary.env')
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(file, lines.join(''), { mode: 0o600 })
  const here = (text: string) =>
    text
      .replaceAll('/etc/tributary.env', file)
      .replaceAll('/var/lib/tributary', join(folder, 'state'))
      .replaceAll('/opt/tributary/node_modules/.bin/node', process.execPath)
      .replaceAll('/opt/tributary', root)
  return { settings: file, here }
}

async function findFreePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return String(port)
}

test('the unit runs the pinned runtime with the flags and the environment of npm start, without rights, with time to drain, and is started when it is ready', () => {
  assert.deepEqual(valuesOf('ExecStart'), [
    `/opt/tributary/node_modules/.bin/node --disable-warning=ExperimentalWarning ${serviceFlags.join(' ')} src/main.ts`,
  ])
  assert.deepEqual(valuesOf('ExecStartPost'), [
    '/opt/tributary/node_modules/.bin/node scripts/ready.js',
  ])
  assert.deepEqual(valuesOf('Environment')[1], serviceEnvironment.join(' '))
  assert.deepEqual(valuesOf('DynamicUser'), ['yes'])
  assert.ok(Number(valuesOf('TimeoutStopSec')[0]) > 25)
  // The runtime compiles while it runs: memory that is both written and run cannot be denied to it.
  assert.doesNotMatch(unit, /MemoryDenyWriteExecute/)
  assert.ok(exists('scripts/ready.js'))
  assert.match(guide, /deploy\/tributary\.sh \/usr\/local\/bin\/tributary/)
})

test('the worker’s unit keeps its own directory, and its settings come after the shared ones', () => {
  const worker = readText('deploy/tributary-worker.conf')
  assert.match(worker, /^StateDirectory=\nStateDirectory=tributary-worker$/m)
  assert.match(worker, /^Environment=DATA_DIR=\/var\/lib\/tributary-worker$/m)
  // Later files take precedence; an empty line would drop the shared one.
  assert.deepEqual(worker.match(/^EnvironmentFile=.*$/gm), [
    'EnvironmentFile=/etc/tributary-worker.env',
  ])
  const [, own = ''] = /printf '([^']*)' \| install .*tributary-worker\.env/.exec(guide) ?? []
  const shared = {
    ROLE: 'api',
    BASE_URL: 'https://money.example.com',
    FISKIL_CLIENT_ID: 'client',
    FISKIL_CLIENT_SECRET: 'secret',
    DATABASE_URL: 'postgresql://tributary@db.internal/tributary',
    REDIS_URL: 'redis://cache.internal',
    ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
  }
  const api = readConfig(shared)
  const config = readConfig({ ...shared, ...parseEnv(own.replaceAll('\\n', '\n')) })
  assert.deepEqual([api.role, config.role], ['api', 'worker'])
  assert.notEqual(config.adminListener.port, api.adminListener.port)
  assert.deepEqual(config.warnings, [])
})

for (const settings of [
  { name: 'with a token of its own making', given: {} },
  { name: 'with a token in its settings', given: { ADMIN_TOKEN: 'trib_admin_of_the_unit' } },
]) {
  test(`the first doctor after the start of the unit finds it, ${settings.name}`, async (t) => {
    const port = await findFreePort()
    const { here, settings: file } = makeMachine(t, {
      PORT: '0',
      ADMIN_PORT: port,
      SANDBOX: 'true',
      LOG_LEVEL: 'warn',
      ...settings.given,
    })
    const environment = {
      ...parseEnv(here(valuesOf('Environment')[0] ?? '').replaceAll(' ', '\n')),
      ...parseEnv(readFileSync(file, 'utf8')),
      NODE_ENV: 'test',
      PATH: process.env.PATH ?? '',
    } as Record<string, string>
    const run = (line: string) => line.split(' ')
    const [program = '', ...args] = run(here(valuesOf('ExecStart')[0] ?? ''))
    const service = spawn(program, args, { cwd: root, env: environment, stdio: 'ignore' })
    t.after(async () => {
      const ended = new Promise((resolve) => service.once('exit', resolve))
      service.kill('SIGTERM')
      await ended
    })
    const [post = '', ...rest] = run(here(valuesOf('ExecStartPost')[0] ?? ''))
    const [code] = await once(spawn(post, rest, { cwd: root, env: environment }), 'exit')
    assert.equal(code, 0)

    const wrapper = join(dirname(file), 'tributary')
    writeFileSync(wrapper, here(readText('deploy/tributary.sh')))
    chmodSync(wrapper, 0o755)
    // As a shell of root has it: nothing of the settings, another folder.
    const doctor = spawnSync(wrapper, ['doctor'], {
      cwd: tmpdir(),
      env: { PATH: process.env.PATH, NODE_ENV: 'test' },
      encoding: 'utf8',
    })
    assert.equal(doctor.stderr, '')
    assert.match(doctor.stdout, /^✓ configuration: .*ADMIN_PORT=/)
  })
}

test('without permission to read the settings the command fails with one line', (t) => {
  const { here } = makeMachine(t, {})
  const text = here(readText('deploy/tributary.sh')).replace(/^settings=.*$/m, 'settings=/nowhere')
  const { status, stderr } = spawnSync('sh', ['-c', text], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [1, 'tributary: /nowhere cannot be read; run this as root\n'])
})

/** Each line of a settings file, and what systemd reads from it. */
const written: readonly (readonly [line: string, name: string, value: string])[] = [
  ['A=va#lue # and more', 'A', 'va#lue # and more'],
  ['B="a#b" ', 'B', 'a#b'],
  ["C='a\\nb c'", 'C', 'a\\nb c'],
  ['D=a\\ b\\\nc', 'D', 'a bc'],
  ['E="q\\"uo\\te\\n \\`x"   ', 'E', 'q"uo\\te\\n `x'],
  [' F = spaced\t', 'F', 'spaced'],
  ['G="one"two\' three\'', 'G', "onetwo' three'"],
  ['H=pass\\\\word\\#x', 'H', 'pass\\word#x'],
  ['I="multi\nline"', 'I', 'multi\nline'],
  ['J=x"y"z', 'J', 'x"y"z'],
  ["K=it's; $(date) `date` $HOME", 'K', "it's; $(date) `date` $HOME"],
  ['L="a" #b', 'L', 'a#b'],
  ['M=é✓', 'M', 'é✓'],
  ['# N=no', 'N', ''],
  ['; O=no', 'O', ''],
  ['export P=no', 'P', ''],
  ['Q', 'Q', ''],
  ['\ufeffR=no', 'R', ''],
  ['S=\u00a0a\u00a0', 'S', '\u00a0a\u00a0'],
  ['T=a  \\\n', 'T', 'a  '],
]

test('the command reads the settings as systemd does: `#` within a value, quotes, escapes; the caller takes precedence', (t) => {
  const { here, settings } = makeMachine(t, {})
  writeFileSync(settings, written.map(([line]) => `${line}\n`).join(''))
  const names = written.map(([, name]) => name)
  const show = `process.stdout.write(JSON.stringify(${JSON.stringify([...names, 'DATA_DIR'])}.map((name) => process.env[name] ?? '')))`
  const text = here(readText('deploy/tributary.sh')).replace(
    / \S+\/cli\/main\.ts "\$@"/,
    () => ' -e "$SHOW"',
  )
  const run = (environment: Record<string, string>) => {
    const { stdout, stderr } = spawnSync('sh', ['-c', text], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, SHOW: show, ...environment },
    })
    assert.equal(stderr, '')
    return JSON.parse(stdout) as string[]
  }
  const values = written.map(([, , value]) => value)
  assert.deepEqual(run({}), [...values, here('/var/lib/tributary')])
  assert.deepEqual(run({ A: 'mine', DATA_DIR: '/mine' }), ['mine', ...values.slice(1), '/mine'])
  writeFileSync(settings, 'DATA_DIR=/theirs\n')
  assert.equal(run({}).at(-1), '/theirs')
})

test('a comment that older versions of systemd take for two lines is named', (t) => {
  const { here, settings } = makeMachine(t, {})
  writeFileSync(settings, '# C:\\\nA=1\n# \\ B\nB=2\n')
  const program = join(root, 'node_modules/.bin/node')
  const args = ['--disable-warning=ExperimentalWarning', join(root, 'scripts/unit-settings.ts')]
  const { stdout, stderr } = spawnSync(program, [...args, here('/etc/tributary.env')], {
    encoding: 'utf8',
    env: {},
  })
  assert.equal(stdout, "export A='1'\nexport B='2'\n")
  assert.match(stderr, /^tributary: a comment in \S+ ends with a backslash: .*\n$/)
})

test('a folder in place of the settings ends the command with one line', (t) => {
  const { here, settings } = makeMachine(t, {})
  rmSync(settings)
  mkdirSync(settings)
  const script = here(readText('deploy/tributary.sh'))
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8', env: {} })
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(stderr, /^tributary: \S+ cannot be read \(EISDIR\)\n$/)
})

test('where systemd is installed, it reads such a file so too', (t) => {
  const generator =
    '/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator'
  // Without it the table above stands for what it reads.
  if (!existsSync(generator)) return assert.ok(written.length > 0)
  const folder = mkdtempSync(join(tmpdir(), 'tributary-environment-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'environment.d'))
  // There, other than in the file of a unit, `$` begins a variable.
  const lines = written.filter(([line]) => !line.includes('$') && !line.startsWith('Q'))
  writeFileSync(
    join(folder, 'environment.d', '10.conf'),
    lines.map(([line]) => `${line}\n`).join(''),
  )
  const { stdout } = spawnSync(generator, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, XDG_CONFIG_HOME: folder },
  })
  for (const [line, name, value] of lines) {
    const [, found = ''] = new RegExp(`^${name}=(.*)$`, 'm').exec(stdout) ?? []
    // Its output is quoted for a shell.
    const read = found.startsWith('"')
      ? found.slice(1, -1).replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c))
      : found
    assert.equal(read, value, line)
  }
})

test('where systemd is installed, it accepts the unit', () => {
  const asked = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' })
  // Without it the unit has been judged by the tests above alone.
  if (asked.status !== 0) return assert.ok(existsSync(join(root, 'deploy/tributary.service')))
  const { stderr } = spawnSync(
    'systemd-analyze',
    ['verify', '--man=no', join(root, 'deploy/tributary.service')],
    { encoding: 'utf8', timeout: 20_000 },
  )
  const complaints = stderr.split('\n').filter((line) => line.includes('tributary.service:'))
  // The packages are not in /opt here.
  assert.deepEqual(
    complaints.filter((line) => !/is not executable|No such file/.test(line)),
    [],
  )
})
