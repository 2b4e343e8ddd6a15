import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'

const root = fileURLToPath(new URL('../../..', import.meta.url))

test('npm start is ready with one command, and a signal to npm leaves no server behind', async () => {
  await startAndSignal(process.env.PATH ?? '')
})

test('where the Node of the machine can replace itself, npm start leaves no server behind either', async (t) => {
  const bin = await mkdtemp(join(tmpdir(), 'tributary-bin-'))
  t.after(() => rm(bin, { recursive: true, force: true }))
  await symlink(process.execPath, join(bin, 'node'))
  await startAndSignal(`${bin}:${process.env.PATH ?? ''}`)
})

test('a starter that stays as the parent and is killed leaves no server behind', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-starter-'))
  // As a Node that cannot replace itself.
  const cannot = 'data:text/javascript,delete process.execve'
  const starter = spawn(
    process.execPath,
    ['--import', cannot, join(root, 'scripts/pinned.js'), 'src/main.ts'],
    {
      cwd: root,
      env: { NODE_ENV: 'test', PORT: '0', ADMIN_PORT: '0', DATA_DIR: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 60_000,
    },
  )
  t.after(async () => {
    starter.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  })
  let text = ''
  const origin = await new Promise<string>((resolve, reject) => {
    starter.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const url = /^ +REST API +(\S+)\/v1$/m.exec(text)?.[1]
      if (url !== undefined && text.includes('Try it:')) resolve(url)
    })
    starter.once('exit', () => reject(new Error(`it ended: ${text}`)))
  })
  starter.kill('SIGKILL')
  assert.equal(await isGone(origin), true)
})

async function startAndSignal(path: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-npm-'))
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: {
      PATH: path,
      HOME: process.env.HOME ?? '',
      NODE_ENV: 'test',
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: folder,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 60_000,
  })
  let text = ''
  const found = new Promise<string>((resolve, reject) => {
    npm.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const url = /^ +REST API +(\S+)\/v1$/m.exec(text)?.[1]
      if (url !== undefined && text.includes('Try it:')) resolve(url)
    })
    npm.once('exit', () => reject(new Error(`npm ended: ${text}`)))
  })
  const origin = await found
  assert.equal((await request(`${origin}/openapi.json`)).statusCode, 200)
  npm.kill('SIGTERM')
  await new Promise((resolve) => npm.once('exit', resolve))
  assert.equal(await isGone(origin), true)
  // The last files are closed a moment after the port.
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

async function isGone(origin: string): Promise<boolean> {
  for (let waited = 0; waited < 50; waited += 1) {
    try {
      const { body } = await request(`${origin}/openapi.json`)
      await body.dump()
    } catch {
      // Refused: nothing listens there any more.
      return true
    }
    await sleep(100)
  }
  return false
}
