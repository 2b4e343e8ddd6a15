/**
 * A `.env` in the folder of the start: the service reads it and says so, and the command finds the service by
 * it.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startProcess } from '#tests/support/process.ts'

const run = promisify(execFile)
const command = join(import.meta.dirname, '../../../cli/main.ts')

async function inFolder(body: (folder: string, file: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tributary-dotenv-'))
  try {
    await body(folder, join(folder, '.env'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

test('the start reads .env, says so, warns when others can read it; the printed command works in that folder', () =>
  inFolder(async (folder, file) => {
    const port = await findFreePort()
    const lines = [
      'PORT=0',
      `ADMIN_PORT=${port}`,
      'ADMIN_TOKEN=trib_admin_token_of_this_file',
      'DATA_DIR=./kept',
      'SANDBOX=false',
      'LOG_LEVEL=warn',
    ]
    await writeFile(file, lines.join('\n'))
    await chmod(file, 0o644)
    const running = startProcess({ LOG_LEVEL: 'info' }, folder)
    try {
      const said = await running.ready()
      assert.match(
        said,
        new RegExp(
          `^ {2}Settings {5}${file} was read; environment variables take precedence$`,
          'm',
        ),
      )
      assert.match(said, /\.env holds ADMIN_TOKEN and can be read by others \(mode 0644\)/)
      assert.doesNotMatch(said, /trib_admin_token_of_this_file/)
      assert.match(said, new RegExp(`live mode, data in ${folder}/kept`))
      // Nothing has to stand before it: the command reads the same file.
      const [, next = ''] = /^Next: (.+)$/m.exec(said) ?? []
      assert.doesNotMatch(next, /ADMIN_|DATA_DIR/)
      const args = next.slice(next.indexOf('users invite')).split(' ')
      const { stdout } = await run(process.execPath, [command, ...args], {
        cwd: folder,
        env: { PATH: process.env.PATH },
      })
      assert.match(stdout, /you@example\.com/)
    } finally {
      running.child.kill('SIGTERM')
      await running.ended
    }
  }))

test('a .env with a line that is no variable stops service and command with one line', () =>
  inFolder(async (folder, file) => {
    await writeFile(file, 'PORT=0\nFISKIL_CLIENT_SECRET sekrit\n', { mode: 0o600 })
    const { code, stdout, stderr } = await startProcess({}, folder).ended
    const line = `tributary: ${file}, line 2: is neither NAME=value nor a comment (#)\n`
    assert.deepEqual([code, stdout, stderr], [1, '', line])
    const refused = await run(process.execPath, [command, 'users', 'list'], {
      cwd: folder,
      env: { PATH: process.env.PATH },
    }).then(
      () => assert.fail('it was not refused'),
      (error: { code: number; stderr: string }) => error,
    )
    assert.deepEqual([refused.code, refused.stderr], [1, line])
  }))
