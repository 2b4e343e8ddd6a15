/**
 * The steps of the Dockerfile, done in a folder of its own where there is no engine to do them: what it
 * copies, the install without development packages, the start on a read-only root, its own health check, the
 * stop.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { listCopies, readDockerfile, root } from '#tests/deploy/files.ts'

const image = mkdtempSync(join(tmpdir(), 'tributary-image-'))
const data = mkdtempSync(join(tmpdir(), 'tributary-image-data-'))
const running = new Set<ChildProcess>()

before(async () => {
  // The lock file and what npm reads come first, as in the image: nothing of ours may be needed to install.
  const [first, ...later] = listCopies()
  copy(first?.from ?? [])
  const [install] = ofWord('RUN').filter((rest) => rest.startsWith('npm ci'))
  const args = (install ?? '').split(' ').slice(1)
  const npm = spawn('npm', [...args, '--prefer-offline', '--loglevel=error'], {
    cwd: image,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const output: string[] = []
  npm.stderr.setEncoding('utf8').on('data', (text: string) => output.push(text))
  const [code] = await once(npm, 'close')
  assert.equal(code, 0, output.join(''))
  for (const { from } of later) copy(from)
})
after(() => {
  for (const child of running) child.kill('SIGKILL')
  for (const folder of [image, data]) rmSync(folder, { recursive: true, force: true })
})

function copy(sources: readonly string[]): void {
  for (const source of sources) {
    cpSync(join(root, source), join(image, source), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    })
  }
}

function ofWord(word: string): string[] {
  return readDockerfile().flatMap((one) => (one.word === word ? [one.rest] : []))
}

/** A command of the image, whose /app is our folder. */
function runInImage(command: string, environment: Readonly<Record<string, string>>): ChildProcess {
  const [program = '', ...args] = (JSON.parse(command) as string[]).map((part) =>
    part.replace(/^\/app\//, `${image}/`),
  )
  const child = spawn(program, args, {
    cwd: image,
    env: { PATH: process.env.PATH ?? '', NODE_ENV: 'production', DATA_DIR: data, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

async function waitFor(child: ChildProcess, words: RegExp): Promise<string> {
  let said = ''
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`it ended with ${code}: ${said}`)
  })
  const ready = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (words.test(said)) resolve(said)
      })
    }
  })
  return Promise.race([ready, ended])
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, 'exit')
  return code
}

test('the image holds no tests and no development packages, and nothing of it is missing', () => {
  for (const place of ['tests', 'bench', 'node_modules/typescript', 'node_modules/.bin/biome']) {
    assert.ok(!existsSync(join(image, place)), place)
  }
  for (const place of ['LICENSE', 'src/main.ts', 'cli/main.ts', 'node_modules/.bin/node']) {
    assert.ok(existsSync(join(image, place)), place)
  }
})

test('it starts, says that it is ready, writes nothing into its own folder, and ends on SIGTERM', async () => {
  const [entry = ''] = ofWord('ENTRYPOINT')
  const [health = ''] = ofWord('HEALTHCHECK')
  const before = listTree()
  const port = String(await findFreePort())
  const environment = { SANDBOX: 'true', PORT: '0', ADMIN_PORT: port, LOG_LEVEL: 'warn' }
  const check = () => exitOf(runInImage(health.slice(health.indexOf('[')), { ADMIN_PORT: port }))
  assert.equal(await check(), 1)
  const server = runInImage(entry, environment)
  const said = await waitFor(server, /Tributary is ready[\s\S]*Try it:/)
  assert.match(said, /Admin API/)
  assert.equal(await check(), 0)
  const doctor = runInImage(
    JSON.stringify(['/app/node_modules/.bin/node', `${image}/cli/main.ts`, 'doctor']),
    { ADMIN_PORT: port },
  )
  assert.match(await waitFor(doctor, /\n\n.*\.\n$/), /✓ store: SQLite/)
  server.kill('SIGTERM')
  assert.equal(await exitOf(server), 0)
  assert.deepEqual(listTree(), before)
})

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/** The root file system is read-only in compose.yaml: whatever is written must be written to /data. */
function listTree(): string[] {
  return readdirSync(image, { recursive: true, encoding: 'utf8' }).sort()
}
