/**
 * examples/follow-events.ts, as docs/events.md shows it: a kill between an answer and its cursor loses
 * nothing.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startService } from '#tests/support/service.ts'
import { emit } from './emitted.ts'

const example = fileURLToPath(new URL('../../../examples/follow-events.ts', import.meta.url))

test('R42: the example follows events, and after a kill it goes on from the cursor that it stored', async (t) => {
  const service = await startService()
  const directory = await mkdtemp(join(tmpdir(), 'tributary-follow-'))
  t.after(async () => {
    await service.close()
    await rm(directory, { recursive: true })
  })
  const user = await service.createUser()
  await service.get('/v1/events?consumer=example', user)
  const cursorFile = join(directory, 'cursor')
  const start = (rounds: string[]) => {
    const child = spawn(process.execPath, [example, ...rounds], {
      env: {
        PATH: process.env.PATH,
        TRIBUTARY_BASE_URL: service.baseUrl,
        TRIBUTARY_API_KEY: user.key,
        CURSOR_FILE: cursorFile,
        WAIT_SECONDS: '1',
      },
      timeout: 60_000,
    })
    const lines: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
    let problems = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      problems += text
    })
    return { child, lines, ended: once(child, 'close'), problems: () => problems }
  }
  const bodies: string[] = []
  for (let run = 0; run < 3; run += 1) bodies.push(...(await emit(service.app.store, user.id)))
  const first = start([])
  while (first.lines.length < 3) {
    assert.equal(first.child.exitCode, null, first.problems())
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  first.child.kill('SIGKILL')
  await first.ended
  for (let run = 0; run < 2; run += 1) bodies.push(...(await emit(service.app.store, user.id)))
  const second = start(['2'])
  const [code] = await second.ended
  assert.equal(code, 0, second.problems())
  const seen = [...first.lines, ...second.lines].map((line) => line.split(' ')[0])
  assert.deepEqual(
    [...new Set(seen)],
    bodies.map((body) => JSON.parse(body).id),
  )
})
