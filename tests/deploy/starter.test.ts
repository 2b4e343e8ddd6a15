/**
 * The starter in folders of its own, with a stand-in for npm that writes down how it was called: what it installs, what
 * it leaves alone, and what it refuses. The installs themselves are made for real in `tests/cluster/image.test.ts`.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readText, root, serviceEnvironment } from './files.ts'

interface Package {
  readonly version: string
  readonly integrity: string
  readonly dev?: true
  readonly optional?: true
}

const runtime = `node_modules/${runtimePackage()}`
const packages = (version = '1.0.0'): Record<string, Package> => ({
  'node_modules/served': { version, integrity: `sha512-${version}` },
  'node_modules/tested': { version, integrity: `sha512-${version}`, dev: true },
  [runtime]: { version: '26.0.0', integrity: 'sha512-runtime', optional: true },
  'node_modules/node-elsewhere': { version: '26.0.0', integrity: 'sha512-e', optional: true },
})

/** As the table of the starter has it for this machine. */
function runtimePackage(): string {
  const pattern = new RegExp(`'${process.platform}-${process.arch}': '([\\w-]+)/`)
  return pattern.exec(readText('scripts/pinned.js'))?.[1] ?? ''
}

interface Tree {
  readonly folder: string
  lock(version?: string): void
  /** As npm leaves it behind, with or without development packages. */
  install(omit: boolean): void
  run(script: string): { code: number | null; out: string; err: string }
  /** The arguments of every call of npm so far. */
  calls(): string
  /** A process that runs from the tree. */
  live(): Promise<ChildProcess>
}

function makeTree(t: TestContext): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-starter-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const place of ['scripts', 'src', 'cli', 'tests', 'bin']) mkdirSync(join(folder, place))
  for (const file of [
    'pinned.js',
    'installed.js',
    'service-flags.json',
    'service-environment.json',
  ]) {
    cpSync(join(root, 'scripts', file), join(folder, 'scripts', file))
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const file of ['src/main.ts', 'cli/main.ts', 'tests/all.ts', 'src/wait.ts']) {
    const waits = file.endsWith('wait.ts') ? 'setInterval(() => {}, 1000)\n' : ''
    writeFileSync(join(folder, file), `console.log('ran ${file}')\n${waits}`)
  }
  writeFileSync(
    join(folder, 'bin/npm'),
    `#!${process.execPath}\nrequire('node:fs').appendFileSync(${JSON.stringify(join(folder, 'calls'))}, process.argv.slice(2).join(' ') + '\\n')\n`,
  )
  writeFileSync(join(folder, 'bin/package.json'), '{"type":"commonjs"}')
  chmodSync(join(folder, 'bin/npm'), 0o755)
  const environment = { PATH: join(folder, 'bin') }
  const tree: Tree = {
    folder,
    lock: (version) =>
      writeFileSync(
        join(folder, 'package-lock.json'),
        JSON.stringify({ packages: { '': { name: 'x' }, ...packages(version) } }),
      ),
    install(omit) {
      const program = join(folder, runtime, 'bin/node')
      mkdirSync(dirname(program), { recursive: true })
      if (!existsSync(program)) symlinkSync(process.execPath, program)
      const held = Object.entries(packages()).filter(
        ([name, { dev }]) => !name.endsWith('elsewhere') && !(omit && dev === true),
      )
      writeFileSync(
        join(folder, 'node_modules/.package-lock.json'),
        JSON.stringify({ packages: Object.fromEntries(held) }),
      )
    },
    run(script) {
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(folder, 'scripts/pinned.js'), script],
        { cwd: folder, env: environment, encoding: 'utf8', timeout: 30_000 },
      )
      return { code: status, out: stdout, err: stderr }
    },
    calls: () =>
      existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8') : '',
    async live() {
      const child = spawn(join(folder, runtime, 'bin/node'), [join(folder, 'src/wait.ts')], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      t.after(() => child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      return child
    },
  }
  tree.lock()
  return tree
}

test('an install without development packages serves and commands as it is: nothing is added', (t) => {
  const tree = makeTree(t)
  tree.install(true)
  for (const script of ['src/main.ts', 'cli/main.ts']) {
    assert.deepEqual(tree.run(script), { code: 0, out: `ran ${script}\n`, err: '' })
  }
  assert.equal(tree.calls(), '')
})

test('the service alone gets what its memory allocator reads from the environment', (t) => {
  const tree = makeTree(t)
  tree.install(true)
  const outOf = (script: string) => {
    writeFileSync(
      join(tree.folder, script),
      "const is = ([name]) => name.startsWith('MALLOC_')\nconsole.log(Object.entries(process.env).filter(is).sort().map((pair) => pair.join('=')).join(' '))\n",
    )
    return tree.run(script).out
  }
  assert.equal(outOf('src/main.ts'), `${serviceEnvironment.join(' ')}\n`)
  assert.equal(outOf('cli/main.ts'), '\n')
})

test('what needs development packages is refused where they were left out, with one line that says so', (t) => {
  const tree = makeTree(t)
  tree.install(true)
  const { code, out, err } = tree.run('tests/all.ts')
  assert.deepEqual([code, out, tree.calls()], [1, '', ''])
  assert.match(
    err,
    /^tributary: this install has no development packages, .*npm ci --include=dev.*\n$/,
  )
  tree.install(false)
  assert.equal(tree.run('tests/all.ts').code, 0)
  assert.equal(tree.calls(), '')
})

test('stale packages are installed as they were installed: without development packages where they were left out', (t) => {
  for (const [omit, args] of [
    [true, 'ci --no-audit --no-fund --loglevel=error --omit=dev\n'],
    [false, 'ci --no-audit --no-fund --loglevel=error\n'],
  ] as const) {
    const tree = makeTree(t)
    tree.install(omit)
    tree.lock('2.0.0')
    tree.run('src/main.ts')
    assert.equal(tree.calls(), args)
  }
})

test('where nothing is installed, everything is', (t) => {
  const tree = makeTree(t)
  tree.run('src/main.ts')
  assert.equal(tree.calls(), 'ci --no-audit --no-fund --loglevel=error\n')
})

test('nothing is installed under a process that runs from the folder: a start is refused, a command uses what is there', async (t) => {
  const tree = makeTree(t)
  tree.install(false)
  tree.lock('2.0.0')
  const child = await tree.live()
  const pid = String(child.pid)
  for (const script of ['src/main.ts', 'tests/all.ts']) {
    const { code, out, err } = tree.run(script)
    assert.deepEqual([code, out], [1, ''])
    assert.match(
      err,
      new RegExp(`^tributary: .*process ${pid} runs .*nothing is installed under it.*\n$`),
    )
  }
  const command = tree.run('cli/main.ts')
  assert.deepEqual([command.code, command.out], [0, 'ran cli/main.ts\n'])
  assert.match(command.err, new RegExp(`^tributary: .*process ${pid} runs .*used as they are\n$`))
  assert.equal(tree.calls(), '')
  child.kill('SIGKILL')
  await once(child, 'exit')
  tree.run('cli/main.ts')
  assert.notEqual(tree.calls(), '')
})
