/**
 * A client that aborts a request to an emulator, which runs in the service's process, ends only its own
 * connection.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSandbox } from '#sandbox/start.ts'
import { dial } from '#tests/request/listener/raw.ts'
import { makeStillClock } from '#tests/support/service.ts'

const head = 'HTTP/1.1\r\nHost: a\r\n'
const openings = [
  `CONNECT a:1 ${head}\r\n`,
  `CONNECT a:1 ${head}Content-Length: 9\r\n\r\na`,
  `GET / ${head}Connection: Upgrade\r\nUpgrade: x\r\n\r\n`,
  `GET / ${head}\r\nCONNECT a:1 ${head}\r\n`,
  `POST / ${head}Content-Length: 99\r\n\r\n{`,
  `POST / ${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
]

test('an emulator outlives requests that are broken off at any moment', async (t) => {
  const sandbox = await startSandbox({ clock: makeStillClock() })
  t.after(() => sandbox.close())
  const { fiskil, akahu, snaptrade } = sandbox.access
  for (const access of [fiskil, akahu, snaptrade]) {
    assert(access !== null)
    const { origin } = new URL(access.baseUrl)
    for (const ms of [0, 2, 8]) {
      for (const opening of openings) {
        const socket = await dial(origin)
        socket.on('error', () => {})
        await new Promise((resolve) => socket.write(opening, resolve))
        await sleep(ms)
        if (socket.destroyed) continue
        socket.resetAndDestroy()
      }
    }
    await sleep(20)
    const answer = await fetch(origin)
    assert(answer.status > 0, 'it still speaks')
    await answer.text()
  }
})
