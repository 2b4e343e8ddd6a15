/** A clone with the starter alone, and a stand-in for npm, in a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { readText, root } from './files.ts'

interface Package {
  readonly version: string
  readonly integrity: string
  readonly dev?: true
  readonly optional?: true
}

/** The package of the runtime for this machine. */
export const runtime = `node_modules/${runtimePackage()}`
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

export interface Tree {
  readonly folder: string
  lock(version?: string): void
  /**
   * As npm leaves it behind, with or without development packages; `place` is `node_modules` unless given.
   */
  install(omit: boolean, place?: string): void
  /** What npm does from now on, besides writing down its arguments: the text of a CommonJS module. */
  setNpm(text: string): void
  /** In a process group of its own, as a terminal starts it. */
  begin(script: string): ChildProcess
  run(script: string): { code: number | null; out: string; err: string }
  /** The arguments of every call of npm so far. */
  calls(): string
  /** A process that runs from the tree. */
  live(): Promise<ChildProcess>
}

export function makeTree(t: TestContext): Tree {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-starter-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const place of ['scripts', 'src', 'cli', 'tests', 'bin']) mkdirSync(join(folder, place))
  for (const file of readdirSync(join(root, 'scripts'))) {
    if (/\.js(?:on)?$/.test(file))
      cpSync(join(root, 'scripts', file), join(folder, 'scripts', file))
  }
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  for (const file of ['src/main.ts', 'cli/main.ts', 'tests/all.ts', 'src/wait.ts']) {
    const waits = file.endsWith('wait.ts') ? 'setInterval(() => {}, 1000)\n' : ''
    writeFileSync(join(folder, file), `console.log('ran ${file}')\n${waits}`)
  }
  writeFileSync(join(folder, 'bin/package.json'), '{"type":"commonjs"}')
  const environment = { PATH: join(folder, 'bin') }
  const tree: Tree = {
    folder,
    lock: (version) =>
      writeFileSync(
        join(folder, 'package-lock.json'),
        JSON.stringify({ packages: { '': { name: 'x' }, ...packages(version) } }),
      ),
    install(omit, place = 'node_modules') {
      const held = Object.entries(packages()).filter(
        ([name, { dev }]) => !name.endsWith('elsewhere') && !(omit && dev === true),
      )
      for (const [name] of held) {
        const made = join(folder, name.replace('node_modules', place))
        mkdirSync(join(made, 'bin'), { recursive: true })
        writeFileSync(join(made, 'package.json'), '{}')
        const program = join(made, 'bin/node')
        if (name === runtime && !existsSync(program)) symlinkSync(process.execPath, program)
      }
      writeFileSync(
        join(folder, place, '.package-lock.json'),
        JSON.stringify({ packages: Object.fromEntries(held) }),
      )
    },
    setNpm(text) {
      const calls = JSON.stringify(join(folder, 'calls'))
      const note = `fs.appendFileSync(${calls}, process.argv.slice(2).join(' ') + '\\n')`
      const program = `#!${process.execPath}\nconst fs = require('node:fs')\n${note}\n${text}\n`
      writeFileSync(join(folder, 'bin/npm'), program, { mode: 0o755 })
    },
    begin(script) {
      const child = spawn(process.execPath, [join(folder, 'scripts/pinned.js'), script], {
        ...{ cwd: folder, env: environment, detached: true },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      t.after(() => child.kill('SIGKILL'))
      return child
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
  tree.setNpm('')
  return tree
}
